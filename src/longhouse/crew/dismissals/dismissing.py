"""What somebody has dismissed: a fact of the store, and so the same on all their devices.

It belongs to the person whose name the call carries, else to its token. The record itself is left
as it is, and waits for everybody else.
"""

from __future__ import annotations

from longhouse.crew.room import room
from longhouse.crew.types.dismissing import Dismiss, Dismissals, ListDismissals
from longhouse.kernel.budget import Pop
from longhouse.store.queries import Queries
from longhouse.store.tx import Tx

__all__ = ["dismiss", "list_dismissals"]

sql = Queries("longhouse.crew.dismissals")
FORGET_MS = 30 * 24 * 60 * 60_000
MOST = 1_000


@room.command(
    "agents.dismiss",
    also="agents.put.away hide snooze",
    writes=True,
    additive=True,
    idempotent=True,
    example=Dismiss(needs=["failed JOB-001@3"]),
    trim=[Pop("needs", leave=1)],
)
def dismiss(tx: Tx, req: Dismiss) -> Dismissals:
    """Put away what waits for you, on all your devices; back=true brings it back."""
    who = _who(tx)
    needs = list(dict.fromkeys(req.needs))
    if req.back:
        gone = [need for need in needs if tx.one(sql.dismissal_drop, who=who, need=need)]
    else:
        gone = [
            need for need in needs if tx.one(sql.dismissal_add, who=who, need=need, now=tx.now_ms)
        ]
    if gone:
        kind = "dismissed_back" if req.back else "dismissed"
        tx.append("crew", who, kind, {"agent": who, "needs": gone})
    return _all(tx, who)


@room.command(
    "agents.dismissed",
    also="agents.hidden",
    example=ListDismissals(),
    trim=[Pop("needs", leave=1)],
)
def list_dismissals(tx: Tx, req: ListDismissals) -> Dismissals:
    """List what you have put away, newest first."""
    return _all(tx, _who(tx))


@room.every(3600)
def forget(tx: Tx) -> None:
    """Nobody is asked for what is that old."""
    tx.run(sql.dismissals_forget, before=tx.now_ms - FORGET_MS)


@room.clamps
def clamp_dismissals(tx: Tx) -> None:
    """Nothing was dismissed after now."""
    tx.run(sql.dismissals_clamp, now=tx.now_ms)


def _who(tx: Tx) -> str:
    return tx.by.agent or (tx.actor if tx.by.named and tx.actor else tx.by.token)


def _all(tx: Tx, who: str) -> Dismissals:
    rows = tx.all(sql.dismissals_of, who=who, limit=MOST)
    return Dismissals(who=who, needs=[row["need"] for row in rows], count=len(rows))
