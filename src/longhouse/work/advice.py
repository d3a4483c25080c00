"""What this room reports to the desk: open work, the last event, and how to start."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.advice import Advice
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory import standing
from longhouse.store.tx import Tx
from longhouse.work.lookup import something_new, where_to_start
from longhouse.work.projections import counts
from longhouse.work.room import room, sql
from longhouse.work.types.entities import event_id
from longhouse.work.types.focus import ClearFocus, SetFocus

__all__ = ["advise", "last_event"]


@room.advises
def advise(tx: Tx) -> Advice:
    """Suggest the task in focus; if there is none or it is closed, a ready task; else a new one."""
    by = counts(tx, "tasks")
    last = last_event(tx)
    shown: dict[str, Any] = {"last_task_event": last, "last_event": last} if last else {}
    fingerprint = f"tasks(a={by.get('ACTIVE', 0)},t={by.get('TODO', 0)})" if by else ""
    return Advice(fingerprint, shown, _suggestions(tx, standing(tx).focus))


def _suggestions(tx: Tx, focus: str | None) -> list[Suggestion]:
    if focus is None:
        best = where_to_start(tx)[:1]
        ready = any(isinstance(one.request, SetFocus) for one in best)
        return [*best, *something_new(tx, "low")] if ready else best
    from longhouse.work.next_step import next_call
    from longhouse.work.radar import scene_of  # needed only if something is in focus

    try:
        scene = scene_of(tx, focus)
    except UnknownId:
        return [Suggestion(ClearFocus(), f"{focus} no longer exists")]
    call = next_call(tx, scene)
    if call is None:
        return where_to_start(tx)[:1]
    return [Suggestion(call.request, call.why, priority="medium")]


def last_event(tx: Tx) -> dict[str, Any] | None:
    """The newest task event: `{event_id, ts, ts_ms}`."""
    row = tx.one(sql.event_last)
    if row is None:
        return None
    return {"event_id": event_id(row["seq"]), "ts": rfc3339(row["ts_ms"]), "ts_ms": row["ts_ms"]}
