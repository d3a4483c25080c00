"""Ideas on their own branches: write a note on one, and merge its notes and graph back."""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput, MergeNotSupported
from longhouse.memory import (
    Branch,
    append_entry,
    base_of,
    bootstrap,
    checkout_branch,
    ensure_branch,
    find_branch,
    make_branch,
    merge_documents,
    standing,
)
from longhouse.memory.graph import merge_graph
from longhouse.memory.types.documents import MergeDocuments
from longhouse.memory.types.graph import MergeGraph
from longhouse.store.tx import Tx
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import (
    Branched,
    CheckoutMove,
    CreateIdea,
    IdeaCreated,
    IdeaMerged,
    MergeCount,
    MergeIdea,
)

__all__ = ["create_idea", "merge_idea"]

TEMPLATES = {
    "initiative": "Goal: {goal}\nWhy now:\nIn scope, out of scope:\nHow we know it worked:",
    "decision": "Question: {goal}\nOptions:\nArguments for each:\nDecision:\nWhen to revisit:",
}


@room.command(
    "think.idea.branch.create",
    also="branch",
    op="idea.branch.create",
    writes=True,
    additive=True,
    example=CreateIdea(name="idea/cache-first", content="What if we ask the cache first?"),
    trim=[Clip("note.content", 400), Drop("note.meta")],
)
def create_idea(tx: Tx, req: CreateIdea) -> IdeaCreated:
    """Create or check out a branch, and write a note on it."""
    content = _content(req)
    previous = standing(tx).checkout
    branch, base, created = _branch(tx, req)
    if branch.name != previous:
        checkout_branch(tx, branch)
    note = append_entry(
        tx,
        branch,
        req.doc or "notes",
        kind="note",
        content=content,
        title=req.title,
        format=req.format,
        meta=req.meta,
    ).entry
    return IdeaCreated(
        workspace=tx.workspace,
        branch=Branched(
            name=branch.name, created=created, base_branch=base, base_seq=branch.base_seq
        ),
        checkout=CheckoutMove(previous=previous, current=branch.name),
        note=note,
        ref=note.ref,
    )


def _branch(tx: Tx, req: CreateIdea) -> tuple[Branch, str | None, bool]:
    """The branch to write on, its base, and whether it is new."""
    if req.name is not None:
        found = find_branch(tx, req.name)
        if found is not None:
            return found, None, False
        made, base = make_branch(tx, req.name, req.from_)
        return made, base.name, True
    if req.from_ is not None:
        return ensure_branch(tx, req.from_, field="from"), None, False
    return ensure_branch(tx, bootstrap(tx)), None, False


def _content(req: CreateIdea) -> str:
    """The given content, else the template filled in with the goal."""
    if req.template is not None and req.template not in TEMPLATES:
        raise InvalidInput(
            f"template: there is no {req.template[:40]!r}; fix: template=decision",
            recovery=f"use one of {', '.join(TEMPLATES)}",
        )
    if req.content is not None:
        return req.content
    if req.template is None and req.goal is None:
        raise InvalidInput(
            'content: expected text, or a template; fix: content="what the idea is"',
            recovery="pass content, or template=decision goal=…",
        )
    return TEMPLATES[req.template or "initiative"].format(goal=req.goal or "")


@room.command(
    "think.idea.branch.merge",
    op="idea.branch.merge",
    writes=True,
    idempotent=True,
    example=MergeIdea(from_="idea/cache-first"),
    trim=[Pop("conflict_ids", leave=1)],
)
def merge_idea(tx: Tx, req: MergeIdea) -> IdeaMerged:
    """Merge the notes and graph of an idea back into the branch it came from."""
    base = base_of(tx, req.from_)
    if req.into not in (None, base):
        raise MergeNotSupported(
            f"into: {req.from_!r} can only merge into its base {base!r}, not {req.into!r}",
            recovery=f"leave into out, or pass into={base}",
        )
    notes = merge_documents(
        tx, MergeDocuments(from_=req.from_, into=base, doc=req.doc, dry_run=req.dry_run)
    )
    graph = merge_graph(
        tx, MergeGraph(from_=req.from_, into=base, doc=req.graph_doc, dry_run=req.dry_run)
    )
    return IdeaMerged(
        from_=req.from_,
        into=base,
        dry_run=req.dry_run,
        notes=MergeCount(
            merged=notes.merged, skipped=notes.skipped, has_more=notes.pagination.has_more
        ),
        graph=MergeCount(
            merged=graph.merged, skipped=graph.skipped, has_more=graph.pagination.has_more
        ),
        conflict_ids=graph.conflict_ids,
    )
