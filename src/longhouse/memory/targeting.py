"""Targeting: which branch and document a command means.

An explicit target or branch wins; else the caller's own focus; else the workspace's; else the
caller's own checkout; else the workspace's; else `main`. The caller is an agent's identity, or its
connection if it has none; a caller with neither uses the workspace's settings. A focus or checkout
set by an identity is its own; it also becomes the workspace's default if there is none yet.
The room that owns plans and tasks decides whether one exists (`room.resolves_targets`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import InvalidInput, UnknownId
from longhouse.kernel.values import Value
from longhouse.memory.branches import MAIN, Branch, ensure_branch
from longhouse.memory.room import room, sql
from longhouse.memory.types.documents import LastEntry, ReasoningRef, Target, TargetInfo, TargetRef
from longhouse.store.tx import Tx

__all__ = [
    "DocumentScope",
    "Targeting",
    "bootstrap",
    "checkout_branch",
    "current_branch",
    "ensure_target",
    "last_entry",
    "leave_focus",
    "mark_seen",
    "reasoning_ref",
    "scope",
    "seen_seq",
    "set_focus",
    "standing",
    "take_place",
    "target_info",
]

EVERYBODY = "*"
"""Stands for callers without an identity or a connection."""

FORGET_AFTER_MS = 30 * 24 * 3_600_000

DocKind = Literal["notes", "graph", "trace"]


class Targeting(Value, frozen=True, kw_only=True):
    """What a command without a target uses: the focus, else the checkout.

    `shared_…` are the workspace's settings, regardless of the caller's own. `own_focus` is the
    caller's own: '' if it chose none, None if it follows the workspace's.
    """

    checkout: str | None = None
    focus: str | None = None
    own_focus: str | None = None
    shared_checkout: str | None = None
    shared_focus: str | None = None


class DocumentScope(NamedTuple):
    """A branch and a document on it."""

    branch: str
    doc: str


def standing(tx: Tx) -> Targeting:
    """The caller's checkout and focus: its own, else those of the workspace."""
    row = tx.one(sql.targeting_get, who=tx.by.who)
    assert row is not None
    own = row["own_focus"]
    return Targeting(
        checkout=row["own_checkout"] or row["shared_checkout"],
        focus=row["shared_focus"] if own is None else own or None,
        own_focus=own,
        shared_checkout=row["shared_checkout"],
        shared_focus=row["shared_focus"],
    )


def current_branch(tx: Tx) -> str:
    """The checkout, or `main` if nothing is checked out."""
    return standing(tx).checkout or MAIN


def set_focus(tx: Tx, target_id: str | None) -> str | None:
    """Set or clear the caller's focus; returns the previous one.

    It becomes the caller's own even if it is what the workspace's already is, so that it does not
    follow the next person's. Also sets the workspace's focus if the caller has no identity or the
    workspace has no focus.
    """
    now = standing(tx)
    if target_id is not None:
        target_info(tx, target_id)
    made_own = tx.by.who is not None and now.own_focus != (target_id or "")
    if made_own:
        tx.run(sql.own_focus_set, who=tx.by.who, focus=target_id or "", now=tx.now_ms)
    if (not tx.by.named or now.shared_focus is None) and now.shared_focus != target_id:
        tx.run(sql.focus_set, focus=target_id)
    if made_own or now.focus != target_id:
        data = {"previous": now.focus, "current": target_id}
        tx.append("memory", "focus", "focus", data | ({"who": tx.by.who} if tx.by.named else {}))
    return now.focus


def last_entry(tx: Tx) -> LastEntry | None:
    """The newest document entry of the workspace."""
    row = tx.one(sql.entry_last)
    return LastEntry(**row, ts=rfc3339(row["ts_ms"])) if row else None


def take_place(tx: Tx, connection: str, name: str) -> None:
    """Give a new identity the focus and checkout of the connection that registered it."""
    tx.run(sql.place_take, connection=connection, who=name, now=tx.now_ms)


def leave_focus(tx: Tx, target_id: str) -> bool:
    """Clear every focus on something about to be deleted; returns whether the caller had one."""
    now = standing(tx)
    tx.run(sql.own_focus_leave, focus=target_id)
    if now.shared_focus == target_id:
        tx.run(sql.focus_set, focus=None)
    if now.focus != target_id:
        return False
    tx.append("memory", "focus", "focus", {"previous": target_id, "current": None})
    return True


def bootstrap(tx: Tx) -> str:
    """The checkout; if there is none, create `main` and check it out."""
    return standing(tx).checkout or checkout_branch(tx, ensure_branch(tx, MAIN)) or MAIN


def checkout_branch(tx: Tx, branch: Branch) -> str:
    """Check out a branch for the caller, record the movement, and return the branch's name.

    Also sets the workspace's checkout if the caller has no identity or the workspace has none.
    """
    now = standing(tx)
    if tx.by.who:
        tx.run(sql.own_checkout_set, who=tx.by.who, branch_id=branch.branch_id, now=tx.now_ms)
    if not tx.by.named or now.shared_checkout is None:
        tx.run(sql.checkout_set, branch_id=branch.branch_id)
    data = {"previous": now.checkout} | ({"who": tx.by.who} if tx.by.named else {})
    seq = tx.append("memory", branch.name, "checkout", data)
    tx.run(
        sql.ref_move_add,
        seq=seq,
        ts_ms=tx.now_ms,
        actor=tx.actor,
        branch_id=branch.branch_id,
        ref="HEAD",
        action="checkout",
        previous=now.checkout,
        current=branch.name,
        head_seq=None,
    )
    return branch.name


def seen_seq(tx: Tx) -> int | None:
    """The seq up to which the caller has read the event log; None if it never has."""
    seq = tx.value(sql.seen_get, who=tx.by.who or EVERYBODY)
    return None if seq is None else int(seq)


def mark_seen(tx: Tx, seq: int) -> None:
    """Record how far the caller has read; anonymous callers share one mark."""
    tx.run(sql.seen_set, who=tx.by.who or EVERYBODY, seq=seq, now=tx.now_ms)


@room.every(3_600)
def forget_connections(tx: Tx) -> None:
    """Forget the checkout, focus and read position of connections unused for 30 days."""
    tx.run(sql.standings_forget, before=tx.now_ms - FORGET_AFTER_MS)


def reasoning_ref(target_id: str) -> ReasoningRef:
    """The canonical branch and documents of a plan or task."""
    kind = "task" if target_id.startswith("TASK-") else "plan"
    return ReasoningRef(
        branch=f"{kind}/{target_id}",
        notes_doc="notes",
        graph_doc=f"{target_id}-graph",
        trace_doc=f"{target_id}-trace",
    )


def target_info(tx: Tx, target: Target) -> TargetInfo:
    """The plan or task that a target names, or UnknownId."""
    target_id = target.id if isinstance(target, TargetRef) else target
    kind = "task" if target_id.startswith("TASK-") else "plan"
    if isinstance(target, TargetRef) and target.kind not in (None, kind):
        raise InvalidInput(
            f"target.kind: {target_id} is a {kind}, not a {target.kind}",
            recovery="leave kind out, or pass the kind that matches the id",
        )
    for resolve in tx.facts.registry.targets:
        info: TargetInfo | None = resolve(tx, target_id)
        if info is not None:
            return info
    raise UnknownId(f"target: there is no {target_id}", recovery="copy an id from tasks.context")


def ensure_target(tx: Tx, target_id: str) -> ReasoningRef:
    """The reasoning ref of a plan or task; creates its canonical branch if missing."""
    ref = reasoning_ref(target_id)
    ensure_branch(tx, ref.branch)
    return ref


def scope(
    tx: Tx,
    kind: DocKind,
    *,
    target: Target | None = None,
    branch: str | None = None,
    doc: str | None = None,
) -> DocumentScope:
    """The branch and document that a command on this kind of document reads or writes."""
    if target is not None and branch is not None:
        raise InvalidInput(
            "target: pass either target or branch, not both",
            recovery="drop branch to use the target's own, or drop target",
        )
    if branch is not None:
        return DocumentScope(branch, doc or kind)
    now = Targeting() if target is not None else standing(tx)
    implied = target if target is not None else now.focus
    if implied is None:
        return DocumentScope(now.checkout or MAIN, doc or kind)
    ref = reasoning_ref(target_info(tx, implied).id)
    own = {"notes": ref.notes_doc, "graph": ref.graph_doc, "trace": ref.trace_doc}[kind]
    return DocumentScope(ref.branch, doc or own)
