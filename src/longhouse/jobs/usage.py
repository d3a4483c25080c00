"""What jobs have used: summed as reports arrive, shown by day, task or agent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import ShowUsage, UsageShown, Used
from longhouse.jobs.values import JobUsage
from longhouse.kernel.budget import Pop
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["note_use", "show_usage"]

_DAY_MS = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BY = {"day": sql.use_by_day, "task": sql.use_by_task, "agent": sql.use_by_agent}


@room.command(
    "jobs.usage",
    example=ShowUsage(by="agent"),
    trim=[Pop("used", leave=1)],
    also="cost costs spend tokens totals",
)
def show_usage(tx: Tx, req: ShowUsage) -> UsageShown:
    """Show the tokens and dollars that jobs have used, by day, task or agent."""
    since = tx.now_ms // _DAY_MS - req.days + 1
    total = tx.one(sql.use_in_all, since=since)
    rows = tx.all(_BY[req.by], since=since, limit=req.limit)
    return UsageShown(
        by=req.by,
        since=_date(since),
        total=JobUsage.from_row(total) if total else None,
        used=[_used(req.by, row) for row in rows],
        count=len(rows),
    )


def note_use(tx: Tx, n: int, usage: JobUsage | None) -> None:
    """Add the usage to the totals of the current day."""
    if usage is None:
        return
    tx.run(
        sql.use_add,
        day=tx.now_ms // _DAY_MS,
        n=n,
        agent=usage.agent or "unknown",
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_microusd=usage.cost_microusd,
        uncosted=usage.uncosted,
    )


def _used(by: str, row: Row) -> Used:
    usage = JobUsage.from_row(row) or JobUsage()
    what = _date(row["what"]) if by == "day" else row["what"] or "no task"
    return Used(
        what=what,
        jobs=int(row["jobs"]),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        cost_is_partial=usage.cost_is_partial,
    )


def _date(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).date().isoformat()
