"""Writing anchors: create, rename and merge them, and add a card to one."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict
from longhouse.memory import bootstrap, ensure_branch
from longhouse.store.tx import Tx
from longhouse.thinking.anchor_views import all_anchors, unknown_anchor
from longhouse.thinking.anchors import put_anchor, resolve, store_anchor
from longhouse.thinking.parsing import GivenCard
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room, sql
from longhouse.thinking.types.anchors import (
    Anchor,
    AnchorDraft,
    AnchorNote,
    AnchorNoted,
    AnchorsBooted,
    AnchorsMerged,
    BootAnchors,
    Booted,
    MergeAnchors,
    NotedCard,
    RenameAnchor,
)
from longhouse.thinking.vocabulary import CANON, DRAFT, PINNED, check_type
from longhouse.thinking.writing import write_card

__all__ = ["boot_anchors", "merge_anchors", "note_anchor", "rename_anchor"]


@room.command(
    "think.anchor.bootstrap",
    writes=True,
    additive=True,
    idempotent=True,
    example=BootAnchors(
        anchors=[
            AnchorDraft(id="a:core", title="Core", kind="component"),
            AnchorDraft(id="a:storage", title="Storage", kind="data", depends_on=["a:core"]),
        ]
    ),
)
def boot_anchors(tx: Tx, req: BootAnchors) -> AnchorsBooted:
    """Create several anchors, all or none; existing ones are updated."""
    made = []
    for draft in sorted(req.anchors, key=lambda one: one.id.lower()):
        anchor, created = put_anchor(tx, draft, field=f"anchors.{draft.id}")
        made.append(Booted(id=anchor.id, created=created))
    created_count = sum(one.created for one in made)
    return AnchorsBooted(anchors=made, created=created_count, updated=len(made) - created_count)


@room.command(
    "think.anchor.rename",
    writes=True,
    idempotent=True,
    example=RenameAnchor(from_="a:cache", to="a:page-cache"),
)
def rename_anchor(tx: Tx, req: RenameAnchor) -> AnchorsMerged:
    """Rename an anchor; the old id becomes an alias."""
    old, new = req.from_.lower(), req.to.lower()
    known = resolve(tx, old)
    if known.anchor is None:
        raise unknown_anchor(old)
    if known.anchor.id == new:
        return AnchorsMerged(anchor=known.anchor, merged=[], skipped=[old])
    if known.alias is not None:
        raise Conflict(
            f"from: {old} is an alias of {known.anchor.id}",
            recovery=f"rename {known.anchor.id}",
        )
    if tx.one(sql.anchor_one, anchor_id=new):
        raise Conflict(
            f"to: anchor {new} already exists",
            recovery=f"merge them: think.anchor.merge into={new} from=[{old}]",
        )
    owner = tx.value(sql.alias_of, alias=new)
    if owner not in (None, old):
        raise Conflict(f"to: {new} is an alias of {owner}", recovery="choose another id")
    if owner == old:
        tx.run(sql.alias_drop, alias=new)
    moved = msgspec.structs.replace(known.anchor, id=new, updated_at_ms=tx.now_ms)
    store_anchor(tx, moved, "anchor_renamed")
    _become(tx, old, new)
    return AnchorsMerged(anchor=_now(tx, new), merged=[old], skipped=[])


@room.command(
    "think.anchor.merge",
    writes=True,
    idempotent=True,
    example=MergeAnchors(into="a:core", from_=["a:kernel"]),
)
def merge_anchors(tx: Tx, req: MergeAnchors) -> AnchorsMerged:
    """Merge anchors into one; their ids and aliases become its aliases."""
    into = resolve(tx, req.into)
    if into.anchor is None:
        raise unknown_anchor(req.into)
    merged, skipped = [], []
    for name in sorted({name.lower() for name in req.from_}):
        known = resolve(tx, name)
        if known.anchor is None:
            raise unknown_anchor(name)
        if known.alias is not None or known.anchor.id == into.anchor.id:
            skipped.append(name)
            continue
        _become(tx, known.anchor.id, into.anchor.id)
        merged.append(known.anchor.id)
    if merged:
        kept = _now(tx, into.anchor.id)
        store_anchor(tx, msgspec.structs.replace(kept, updated_at_ms=tx.now_ms), "anchors_merged")
    return AnchorsMerged(anchor=_now(tx, into.anchor.id), merged=merged, skipped=skipped)


def _become(tx: Tx, old: str, new: str) -> None:
    """Point everything that names the old anchor at the new one; the old id becomes an alias."""
    tx.run(sql.aliases_move, anchor_id=old, into=new)
    tx.run(sql.anchor_drop, anchor_id=old)
    tx.run(sql.alias_put, alias=old, anchor_id=new)
    for anchor in all_anchors(tx):
        parent = new if anchor.parent_id == old else anchor.parent_id
        needs = {new if other == old else other for other in anchor.depends_on}
        changed = msgspec.structs.replace(
            anchor,
            parent_id=None if parent == anchor.id else parent,
            depends_on=sorted(needs - {anchor.id}),
        )
        if changed != anchor:
            store_anchor(tx, changed, "anchor_updated")


def _now(tx: Tx, anchor_id: str) -> Anchor:
    found = resolve(tx, anchor_id).anchor
    assert found is not None
    return found


@room.command(
    "think.macro.anchor.note",
    writes=True,
    additive=True,
    example=AnchorNote(
        anchor="a:cache",
        title="Cache",
        kind="component",
        content="Deploys empty it; the first minute is slow.",
        visibility="canon",
    ),
)
def note_anchor(tx: Tx, req: AnchorNote) -> AnchorNoted:
    """Write a card about one part of the system; creates its anchor if needed."""
    kind = check_type(req.card_type, "card_type")
    anchor, created = put_anchor(tx, _draft_of(tx, req))
    place = _place(tx, req)
    tags = {anchor.id}
    if req.visibility is not None:
        tags.add(CANON if req.visibility == "canon" else DRAFT)
    if req.pin:
        tags.add(PINNED)
    card = GivenCard(
        id=None,
        type=kind,
        title=req.title,
        text=req.content,
        status="open",
        tags=sorted(tags),
        refs=None,
        meta=None,
        supports=[],
        blocks=[],
    )
    made = write_card(tx, place, card)
    scope: dict[str, Any] = {"branch": place.branch, "graph_doc": place.graph_doc}
    return AnchorNoted(
        anchor=anchor,
        created=created,
        scope={**scope, "target": place.target} if place.target else scope,
        note=NotedCard(card_id=made.card_id, trace_ref=made.trace_ref, graph_ref=made.graph_ref),
    )


def _draft_of(tx: Tx, req: AnchorNote) -> AnchorDraft:
    """The anchor fields that the note gives; its title names only a new anchor."""
    names = [name for name in AnchorDraft.__struct_fields__ if name != "id"]
    given = {name: getattr(req, name) for name in names}
    if resolve(tx, req.anchor).anchor is not None:
        given["title"] = None
    return AnchorDraft(id=req.anchor, **given)


def _place(tx: Tx, req: AnchorNote) -> Place:
    """The named task's documents, else the documents kept for anchors."""
    if req.target is not None or req.step is not None:
        return place_of(tx, req)
    branch = ensure_branch(tx, bootstrap(tx))
    return Place(branch.name, "notes", "anchors-trace", "anchors-graph")
