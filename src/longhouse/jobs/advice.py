"""The jobs part of `status`: job counts, runners online, and what to do first."""

from __future__ import annotations

import msgspec

from longhouse.jobs.presence import autostart_enabled, counts, may_start, runners_present
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.presence import Waiting
from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion
from longhouse.store.tx import Tx

__all__ = ["advise"]

_ASKS = 4
"""The urgency of a job with an unanswered question."""


_LOOK_AT = 50
"""How many open questions are looked through for one that the caller may answer."""
_STARTABLE = ("no_runner", "runner_fails", "starting")


def _why(tx: Tx) -> Waiting | None:
    from longhouse.jobs.waiting import why_work_waits  # most workspaces have no jobs

    return why_work_waits(tx)


def _asks_the_caller(tx: Tx) -> bool:
    """Whether a job asks something that the caller may answer."""
    from longhouse.jobs.leading import may_lead

    urgent = tx.all(sql.radar_active, limit=_LOOK_AT)
    return any(row["urgency"] == _ASKS and may_lead(tx, row) for row in urgent)


@room.advises
def advise(tx: Tx) -> Advice:
    """Summarize jobs and runners for `status`."""
    jobs, there = counts(tx), runners_present(tx)
    urgent = tx.one(sql.radar_active, limit=1)
    suggestions = []
    waiting = _why(tx) if jobs.queued else None
    shown = waiting and waiting.code != "starting" and msgspec.to_builtins(waiting)
    if waiting and waiting.code in _STARTABLE and may_start(tx):
        from longhouse.jobs.types.runners import StartRunner

        suggestions.append(
            Suggestion(
                StartRunner(),
                "jobs are queued and no runner that could run them is online",
                action_id="next::runner.start",
            )
        )
    if urgent:
        from longhouse.jobs.types.radar import ShowRadar

        asks = urgent["urgency"] == _ASKS and _asks_the_caller(tx)
        suggestions.append(
            Suggestion(
                ShowRadar(),
                "a job asks you something" if asks else "check on the jobs",
                priority="high" if asks else "low",
                action_id="next::jobs.radar",
            )
        )
    waits = f";waits={waiting.code}" if waiting else ""
    return Advice(
        fingerprint=f"jobs(q={jobs.queued},r={jobs.running});runner={there.status}{waits}",
        shown={
            "jobs": {
                **msgspec.to_builtins(jobs),
                **({"waiting": shown} if shown else {}),
            },
            "runner": msgspec.to_builtins(there),
            "runner_autostart": {"enabled": autostart_enabled(tx)},
        }
        if jobs.queued or jobs.running or there.status != "offline"
        else {},
        suggestions=suggestions,
    )
