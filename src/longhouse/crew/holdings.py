"""Who holds which files now: the current reservations of a work item, of an agent, or all."""

from __future__ import annotations

from typing import Any

from longhouse.crew.facts import alive
from longhouse.crew.liveness import Liveness
from longhouse.crew.room import ENDLESS, sql
from longhouse.crew.scopes import FileScope
from longhouse.crew.types.entities import Reservation
from longhouse.kernel.clock import rfc3339
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["held_by", "held_now", "live_rows", "reservation_from", "reserved_for", "scope_of"]


def reserved_for(tx: Tx, bead_id: str, limit: int) -> list[Reservation]:
    """The current reservations for a work item."""
    rows = live_rows(tx, None, bead_id, before=ENDLESS, limit=limit)
    return [reservation_from(row) for row in rows]


def held_by(tx: Tx, agent: str, limit: int) -> list[Reservation]:
    """The current reservations of an agent."""
    rows = live_rows(tx, agent, None, before=ENDLESS, limit=limit)
    return [reservation_from(row, alive(tx, row)) for row in rows]


def held_now(tx: Tx, limit: int) -> list[Reservation]:
    """All current reservations, newest first."""
    rows = live_rows(tx, None, None, before=ENDLESS, limit=limit)
    return [reservation_from(row, alive(tx, row)) for row in rows]


def live_rows(
    tx: Tx, agent: str | None, bead_id: str | None, *, before: int, limit: int
) -> list[Row]:
    """The rows of current reservations, newest first."""
    page: dict[str, Any] = {"now": tx.now_ms, "before": before, "limit": limit}
    if agent:
        return tx.all(sql.reservations_live_of_agent, agent_id=agent, bead_id=bead_id, **page)
    if bead_id:
        return tx.all(sql.reservations_live_of_bead, bead_id=bead_id, **page)
    return tx.all(sql.reservations_live, **page)


def scope_of(row: Row) -> FileScope:
    return FileScope(path=row["path"], below=bool(row["below"]))


def reservation_from(row: Row, owner: Liveness | None = None) -> Reservation:
    released = row["released_at_ms"]
    return Reservation(
        reservation_id=f"res_{row['seq']}",
        seq=row["seq"],
        ref=f"{row['bead_id']}@{row['seq']}",
        scope=str(scope_of(row)),
        mode=row["mode"],
        agent_id=row["agent_id"],
        bead_id=row["bead_id"],
        state=row["state"],
        created_at=rfc3339(row["created_at_ms"]),
        expires_at=rfc3339(row["expires_at_ms"]),
        released_at=rfc3339(released) if released is not None else None,
        taken_over_by=row["taken_over_by"],
        owner_liveness=owner,
    )
