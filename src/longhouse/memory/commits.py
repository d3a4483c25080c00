"""Notes as version control: commit, log, reflog and reset.

A commit is a note in a document that is neither a trace nor a graph. A branch points at its newest
commit until a reset points it at another; the next commit moves it again. A reset hides nothing.
"""

from __future__ import annotations

import re

import msgspec

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import InvalidInput, Suggestion, UnknownId
from longhouse.memory.branches import (
    ENDLESS,
    NOW,
    Branch,
    View,
    ensure_branch,
    find_branch,
    view_of,
)
from longhouse.memory.branching import record_move
from longhouse.memory.entries import append_entry, paginate
from longhouse.memory.names import document_kind
from longhouse.memory.room import room, sql
from longhouse.memory.targeting import current_branch
from longhouse.memory.types.documents import Entry
from longhouse.memory.types.vcs import (
    Commit,
    CommitLog,
    Committed,
    LogCommits,
    MakeCommit,
    RefLog,
    RefMove,
    RefPointer,
    ResetRef,
    ShowRefLog,
)
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["commit_at", "head_of", "log_commits", "make_commit", "reset_ref", "show_reflog"]

_COMMIT_REF = re.compile(r"(?:(?P<doc>[^@\s]+)@)?(?P<seq>[0-9]{1,16})\Z")


@room.command(
    "vcs.commit",
    also="save snapshot",
    writes=True,
    additive=True,
    example=MakeCommit(artifact="Cache keys hold the branch.", message="Decide the cache key"),
    trim=[Clip("commit.artifact", 400), Drop("more")],
)
def make_commit(tx: Tx, req: MakeCommit) -> Committed:
    """Append an artifact with a message to the checked-out branch."""
    branch = ensure_branch(tx, current_branch(tx))
    docs = [req.docs] if isinstance(req.docs, str) else list(dict.fromkeys(req.docs))
    for doc in docs:
        if (kind := document_kind(doc)) != "notes":
            raise InvalidInput(
                f"docs: {doc!r} is a {kind} document, which cannot hold commits",
                recovery="use docs=notes, or another notes document",
            )
    first, *more = [
        _commit_of(
            append_entry(
                tx,
                branch,
                doc,
                kind="note",
                content=req.artifact,
                title=req.message,
                meta=req.meta,
            ).entry
        )
        for doc in docs
    ]
    return Committed(commit=first, ref=first.ref, more=more)


@room.command(
    "vcs.log",
    also="history commits",
    example=LogCommits(),
    trim=[
        Clip("commits.artifact", 200),
        Pop("commits", leave=1, cursor="seq"),
        Drop("commits.meta"),
        Clip("commits.artifact", 40),
    ],
)
def log_commits(tx: Tx, req: LogCommits) -> CommitLog:
    """List recent commits of a branch, or those up to a tag or commit, newest first."""
    ref = req.ref or current_branch(tx)
    name, top = _start(tx, ref)
    view = view_of(tx, name, "", req.as_of, field="ref")
    before = min(req.cursor if req.cursor is not None else ENDLESS, top)
    rows = _commits(tx, view, before, req.limit + 1)
    head = head_of(tx, view, NOW if req.as_of is None else req.as_of)
    return CommitLog(
        ref=ref,
        branch=name,
        head=f"{head['doc']}@{head['seq']}" if head else None,
        commits=[_commit_from(row) for row in rows[: req.limit]],
        pagination=paginate([r["seq"] for r in rows], cursor=req.cursor, limit=req.limit),
    )


@room.command("vcs.reflog", example=ShowRefLog(), trim=[Pop("moves", leave=1, cursor="seq")])
def show_reflog(tx: Tx, req: ShowRefLog) -> RefLog:
    """List ref movements: commits, checkouts, resets, tags and branch changes."""
    before = min(
        req.cursor if req.cursor is not None else ENDLESS,
        req.as_of + 1 if req.as_of is not None else ENDLESS,
    )
    limit = req.limit + 1
    if req.ref is None:
        commits = tx.all(sql.commits_of_workspace_before, before=before, limit=limit)
        moves = tx.all(sql.ref_moves_before, before=before, limit=limit)
    elif branch := _found(tx, req.ref):
        commits = [
            {**row, "branch": branch.name}
            for row in tx.all(
                sql.commits_before, branch_id=branch.branch_id, before=before, limit=limit
            )
        ]
        moves = tx.all(
            sql.ref_moves_of_branch_before, branch_id=branch.branch_id, before=before, limit=limit
        )
    else:
        commits, moves = [], []
    rows = sorted(
        [*(_move_of(row) for row in commits), *(_move_from(row) for row in moves)],
        key=lambda move: -move.seq,
    )[:limit]
    return RefLog(
        moves=rows[: req.limit],
        pagination=paginate([m.seq for m in rows], cursor=req.cursor, limit=req.limit),
    )


@room.command("vcs.reset", writes=True, example=ResetRef(ref="notes@1"))
def reset_ref(tx: Tx, req: ResetRef) -> RefPointer:
    """Point a branch at one of its commits; no entry is hidden or removed."""
    branch = ensure_branch(tx, req.branch or current_branch(tx))
    view = view_of(tx, branch.name, "")
    commit = commit_at(tx, req.ref, "ref", view)
    before = head_of(tx, view, NOW)
    previous = f"{before['doc']}@{before['seq']}" if before else None
    current = f"{commit['doc']}@{commit['seq']}"
    seq = tx.append("memory", branch.name, "reset", {"previous": previous, "current": current})
    record_move(
        tx, seq, branch, "reset", previous=previous, current=current, head_seq=commit["seq"]
    )
    return RefPointer(branch=branch.name, previous=previous, current=current)


def head_of(tx: Tx, view: View, cut: int) -> Row | None:
    """The commit a branch points at as of a seq: the target of a later reset, else the newest."""
    newest = _commits(tx, view, cut + 1, 1)
    own = view.sources[0] if view.sources else None
    if own is None:
        return None
    reset = tx.one(sql.ref_reset_last, branch_id=own.branch_id, before=cut + 1)
    if reset and (not newest or reset["seq"] > newest[0]["seq"]):
        return tx.one(sql.entry_by_seq, seq=reset["head_seq"])
    return newest[0] if newest else None


def commit_at(tx: Tx, ref: str | int, field: str, view: View | None = None) -> Row:
    """The commit that `notes@12`, 12, a tag or a branch refers to; `view` must show it if given."""
    row = None
    if match := _COMMIT_REF.match(str(ref)):
        row = tx.one(sql.entry_by_seq, seq=int(match["seq"]))
        if row and match["doc"] not in (None, row["doc"]):
            row = None
    elif tag := tx.one(sql.tag_now, name=ref, endless=ENDLESS):
        row = tx.one(sql.entry_by_seq, seq=tag["entry_seq"])
    elif find_branch(tx, str(ref)):
        row = head_of(tx, view_of(tx, str(ref), ""), NOW)
    cuts = {source.name: source.cut for source in view.sources} if view else {}
    shown = row and (view is None or row["seq"] <= cuts.get(row["branch"], -1))
    if row and shown and row.get("committed", 1):
        return row
    where = f" on {view.branch!r}" if view else ""
    raise UnknownId(
        f"{field}: {str(ref)[:80]!r} is not a commit{where}",
        recovery="copy a ref from vcs.log",
        suggest=[Suggestion(LogCommits(ref=view.branch if view else None), "list the commits")],
    )


def _start(tx: Tx, ref: str) -> tuple[str, int]:
    """The branch to read and the seq to start below: a whole branch, or up to a tag or commit."""
    if find_branch(tx, ref):
        return ref, ENDLESS
    seq = None
    if tag := tx.one(sql.tag_now, name=ref, endless=ENDLESS):
        seq = tag["entry_seq"]
    elif match := _COMMIT_REF.match(ref):
        seq = int(match["seq"])
    row = tx.one(sql.entry_by_seq, seq=seq) if seq is not None else None
    return (row["branch"], row["seq"] + 1) if row else (ref, ENDLESS)


def _found(tx: Tx, name: str) -> Branch | None:
    """The branch, None if it counts as existing but empty, or UnknownId."""
    view_of(tx, name, "", field="ref")
    return find_branch(tx, name)


def _commits(tx: Tx, view: View, before: int, limit: int) -> list[Row]:
    rows: list[Row] = []
    for source in view.sources:
        if len(rows) >= limit:
            break
        found = tx.all(
            sql.commits_before,
            branch_id=source.branch_id,
            before=min(before, source.cut + 1),
            limit=limit - len(rows),
        )
        rows += [{**row, "branch": source.name} for row in found]
    return rows


def _commit_from(row: Row) -> Commit:
    return Commit(
        ref=f"{row['doc']}@{row['seq']}",
        seq=row["seq"],
        ts=rfc3339(row["ts_ms"]),
        ts_ms=row["ts_ms"],
        branch=row["branch"],
        doc=row["doc"],
        message=row["title"],
        artifact=row["content"],
        meta=msgspec.json.decode(row["meta"]) if row["meta"] else None,
    )


def _commit_of(entry: Entry) -> Commit:
    return Commit(
        ref=entry.ref,
        seq=entry.seq,
        ts=entry.ts,
        ts_ms=entry.ts_ms,
        branch=entry.branch,
        doc=entry.doc,
        message=entry.title,
        artifact=entry.content,
        meta=entry.meta,
    )


def _move_of(commit: Row) -> RefMove:
    return RefMove(
        seq=commit["seq"],
        ts=rfc3339(commit["ts_ms"]),
        ref=commit["branch"],
        action="commit",
        current=f"{commit['doc']}@{commit['seq']}",
    )


def _move_from(row: Row) -> RefMove:
    return RefMove(
        seq=row["seq"],
        ts=rfc3339(row["ts_ms"]),
        ref=row["ref"],
        action=row["action"],
        previous=row["previous"],
        current=row["current"],
        actor=row["actor"],
    )
