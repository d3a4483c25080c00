"""The commands on branches: create, list, check out, rename, delete.

Everything refers to a branch by its number, so a rename changes one row. A branch that others
derive from cannot be deleted. A branch with content that its base lacks is deleted only with
`force` and kept as `deleted@<seq>/<name>`: rename it to restore it, or delete that to remove it.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.kernel.lines import clip
from longhouse.kernel.refs import seq_ref
from longhouse.memory.branches import (
    ENDLESS,
    MAIN,
    MAX_DEPTH,
    Branch,
    branch_named,
    ensure_branch,
    find_branch,
)
from longhouse.memory.documenting import forget_branch
from longhouse.memory.entries import paginate
from longhouse.memory.merging import base_of
from longhouse.memory.names import CANONICAL, check_branch_name
from longhouse.memory.room import room, sql
from longhouse.memory.targeting import bootstrap, checkout_branch, standing
from longhouse.memory.types.documents import MergeDocuments
from longhouse.memory.types.graph import MergeGraph
from longhouse.memory.types.vcs import (
    BranchCreated,
    BranchDeleted,
    BranchInfo,
    BranchList,
    BranchRenamed,
    CheckedOut,
    Checkout,
    CreateBranch,
    DeleteBranch,
    ListBranches,
    ListedBranch,
    RenameBranch,
)
from longhouse.store.tx import Tx

__all__ = [
    "check_out",
    "create_branch",
    "delete_branch",
    "list_branches",
    "make_branch",
    "record_move",
    "rename_branch",
    "unmerged_branches",
]


DELETED = "deleted@"
"""Prefix of a deleted branch that can be restored; new branches cannot use it."""
_SHOWN = 5
_LOOKED_AT = 20


class Unmerged(NamedTuple):
    """A branch with notes that its base lacks: the newest, and how many (counted up to five)."""

    name: str
    base: str
    ref: str
    notes: int
    newest: str


@room.command(
    "vcs.branch.create",
    also="branch vcs.branch.new fork vcs.branch.add branch.create",
    op="branch.create",
    writes=True,
    additive=True,
    example=CreateBranch(name="idea/cache-first"),
)
def create_branch(tx: Tx, req: CreateBranch) -> BranchCreated:
    """Create a branch from a snapshot of another; nothing is copied."""
    branch, base = make_branch(tx, req.name, req.from_)
    return BranchCreated(
        workspace=tx.workspace,
        branch=BranchInfo(name=branch.name, base_branch=base.name, base_seq=branch.base_seq),
    )


def make_branch(tx: Tx, name: str, from_: str | None = None) -> tuple[Branch, Branch]:
    """Create a branch off `from_`, or off the checkout; returns the branch and its base."""
    check_branch_name(name, "name")
    if find_branch(tx, name):
        raise Conflict(
            f"name: branch {name!r} already exists",
            recovery="choose another name, or check it out",
            suggest=[Suggestion(Checkout(ref=name), "check out the existing branch")],
        )
    base = ensure_branch(tx, from_ if from_ is not None else bootstrap(tx), field="from")
    if name == base.name:
        raise Conflict(f"name: a branch cannot be its own base: {name!r}")
    if base.depth >= MAX_DEPTH:
        raise Conflict(
            f"from: {base.name!r} is {base.depth} branches deep; the limit is {MAX_DEPTH}",
            recovery="branch from one closer to the root, or merge back first",
        )
    seq = tx.seqs(1)
    row = tx.one(
        sql.branch_add,
        name=name,
        base_branch_id=base.branch_id,
        base_seq=seq - 1,
        depth=base.depth + 1,
        seq=seq,
        now=tx.now_ms,
    )
    assert row is not None
    branch = Branch(**row)
    tx.append(
        "memory", name, "branch_created", {"base_branch": base.name, "base_seq": seq - 1}, seq=seq
    )
    record_move(tx, seq, branch, "create", previous=None, current=f"{base.name}@{seq - 1}")
    return branch, base


@room.command(
    "vcs.branch.list",
    also="branches vcs.branch.ls list branch.list branch",
    example=ListBranches(),
    trim=[Pop("branches", leave=1, cursor="created_seq")],
)
def list_branches(tx: Tx, req: ListBranches) -> BranchList:
    """List the branches, including those of plans and tasks, newest first."""
    before = min(
        req.cursor if req.cursor is not None else ENDLESS,
        req.as_of + 1 if req.as_of is not None else ENDLESS,
    )
    rows = tx.all(sql.branches_listed, before=before, deleted=int(req.deleted), limit=req.limit + 1)
    here = standing(tx).checkout
    return BranchList(
        workspace=tx.workspace,
        branches=[
            ListedBranch(
                **row,
                canonical=CANONICAL.match(row["name"]) is not None,
                checkout=row["name"] == here,
            )
            for row in rows[: req.limit]
        ],
        pagination=paginate([r["created_seq"] for r in rows], cursor=req.cursor, limit=req.limit),
    )


@room.command(
    "vcs.checkout",
    also="switch vcs.branch.checkout vcs.branch.switch vcs.branch.use branch.checkout",
    writes=True,
    additive=True,
    idempotent=True,
    example=Checkout(ref="main"),
)
def check_out(tx: Tx, req: Checkout) -> CheckedOut:
    """Choose the branch for commands without a target, unless a focus is set."""
    previous = standing(tx).checkout
    branch = ensure_branch(tx, req.ref, field="ref")
    if branch.name != previous:
        checkout_branch(tx, branch)
    if focus := standing(tx).focus:
        tx.warn(
            "FOCUS_WINS",
            f"{focus} is in focus, so commands without a target still use its branch",
            "pass branch=<name>, or clear the focus",
        )
    return CheckedOut(workspace=tx.workspace, previous=previous, current=branch.name)


@room.command(
    "vcs.branch.rename",
    also="vcs.branch.move vcs.branch.mv",
    writes=True,
    example=RenameBranch(old="idea/a", new="idea/b"),
)
def rename_branch(tx: Tx, req: RenameBranch) -> BranchRenamed:
    """Rename a branch; its content is unaffected."""
    branch = branch_named(tx, req.old, field="old")
    _refuse_canonical(branch, "old")
    check_branch_name(req.new, "new")
    if find_branch(tx, req.new):
        raise Conflict(f"new: branch {req.new!r} already exists", recovery="choose another name")
    tx.run(sql.branch_rename, branch_id=branch.branch_id, new=req.new)
    seq = tx.append("memory", req.new, "branch_renamed", {"previous": req.old})
    record_move(tx, seq, branch, "rename", previous=req.old, current=req.new, name=req.new)
    return BranchRenamed(workspace=tx.workspace, previous=req.old, current=req.new)


@room.command(
    "vcs.branch.delete",
    also="vcs.branch.remove vcs.branch.rm branch.delete",
    writes=True,
    destructive=True,
    example=DeleteBranch(name="idea/a"),
)
def delete_branch(tx: Tx, req: DeleteBranch) -> BranchDeleted:
    """Delete a branch; needs `force` if it has notes or graph changes its base lacks."""
    branch = branch_named(tx, req.name, field="name")
    _refuse_canonical(branch, "name")
    now = standing(tx)
    if branch.name in (now.checkout, now.shared_checkout):
        raise Conflict(
            f"name: {branch.name!r} is checked out",
            recovery="check out another branch first",
            suggest=[Suggestion(Checkout(ref=MAIN), "check out main")],
        )
    if derived := tx.value(sql.branch_derived, branch_id=branch.branch_id):
        raise Conflict(
            f"name: {derived!r} derives from {branch.name!r}",
            recovery=f"delete {derived!r} first, or keep both",
            suggest=[Suggestion(ListBranches(), "see each branch's base", priority="medium")],
        )
    if missing := _missing_in_base(tx, branch):
        if not req.force:
            raise _unmerged(tx, branch, missing)
        if not branch.name.startswith(DELETED):
            return _set_aside(tx, branch)
    forget_branch(tx, branch)
    for query in (
        sql.own_checkout_leave,
        sql.branch_delete_tags,
        sql.branch_delete_conflicts,
        sql.branch_delete_merge_bases,
        sql.branch_delete_node_tags,
        sql.branch_delete_versions,
        sql.branch_delete_entries,
        sql.branch_delete_documents,
        sql.branch_delete,
    ):
        tx.run(query, branch_id=branch.branch_id)
    seq = tx.append("memory", branch.name, "branch_deleted", {})
    record_move(tx, seq, None, "delete", previous=branch.name, current=None, name=branch.name)
    return BranchDeleted(workspace=tx.workspace, name=branch.name, deleted=True)


def _missing_in_base(tx: Tx, branch: Branch) -> list[str]:
    """Refs of some notes and graph changes that the base lacks, for the error message."""
    notes = tx.all(
        sql.branch_unmerged_notes,
        branch_id=branch.branch_id,
        base_id=branch.base_branch_id,
        limit=_SHOWN,
    )
    changes = tx.all(sql.branch_unmerged_versions, branch_id=branch.branch_id, limit=_SHOWN)
    return [seq_ref(row["doc"], row["seq"]) for row in (*notes, *changes)]


def unmerged_branches(tx: Tx, base: str, limit: int) -> list[Unmerged]:
    """The newest branches derived from `base` that have notes it lacks."""
    on = find_branch(tx, base)
    rows = tx.all(sql.branches_on, branch_id=on.branch_id, limit=_LOOKED_AT) if on else []
    found: list[Unmerged] = []
    for row in rows:
        if len(found) == limit:
            break
        notes = tx.all(
            sql.branch_unmerged_notes,
            branch_id=row["branch_id"],
            base_id=row["base_branch_id"],
            limit=_SHOWN,
        )
        if notes:
            newest = seq_ref(notes[0]["doc"], notes[0]["seq"])
            found.append(
                Unmerged(row["name"], base, newest, len(notes), clip(notes[0]["content"], 200))
            )
    return found


def _unmerged(tx: Tx, branch: Branch, missing: list[str]) -> Conflict:
    base = base_of(tx, branch.name)
    return Conflict(
        f"name: {branch.name!r} has content that {base!r} lacks: {', '.join(missing[:_SHOWN])}",
        recovery="merge it first with docs.merge and graph.merge, or pass force=true",
        suggest=[
            Suggestion(MergeDocuments(from_=branch.name), "merge its notes"),
            Suggestion(MergeGraph(from_=branch.name), "merge its graph"),
            Suggestion(
                DeleteBranch(name=branch.name, force=True),
                "delete it for good"
                if branch.name.startswith(DELETED)
                else "delete it anyway; it can be restored",
                priority="low",
            ),
        ],
    )


def _set_aside(tx: Tx, branch: Branch) -> BranchDeleted:
    """Delete a branch that has unmerged content: rename it, so that it is no longer listed."""
    kept = f"{DELETED}{tx.last_seq() + 1}/{branch.name}"
    tx.run(sql.own_checkout_leave, branch_id=branch.branch_id)
    tx.run(sql.branch_rename, branch_id=branch.branch_id, new=kept)
    seq = tx.append("memory", branch.name, "branch_deleted", {"kept_as": kept})
    record_move(tx, seq, branch, "delete", previous=branch.name, current=kept, name=branch.name)
    tx.suggest(RenameBranch(old=kept, new=branch.name), "restore it", priority="low")
    return BranchDeleted(workspace=tx.workspace, name=branch.name, deleted=True, kept_as=kept)


def record_move(
    tx: Tx,
    seq: int,
    branch: Branch | None,
    action: str,
    *,
    previous: str | None,
    current: str | None,
    name: str | None = None,
    head_seq: int | None = None,
) -> None:
    """Add a row to the reflog."""
    tx.run(
        sql.ref_move_add,
        seq=seq,
        ts_ms=tx.now_ms,
        actor=tx.actor,
        action=action,
        branch_id=branch.branch_id if branch else None,
        previous=previous,
        current=current,
        ref=name or (branch.name if branch else ""),
        head_seq=head_seq,
    )


def _refuse_canonical(branch: Branch, field: str) -> None:
    if CANONICAL.match(branch.name):
        raise Conflict(
            f"{field}: {branch.name!r} belongs to a plan or task; it cannot be renamed or deleted",
            recovery="create a branch from it with vcs.branch.create",
        )
