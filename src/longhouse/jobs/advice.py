"""The jobs part of `status`: job counts, runners online, and what to do first."""

from __future__ import annotations

import msgspec

from longhouse.jobs.presence import autostart_enabled, counted, counts, may_start
from longhouse.jobs.room import room, sql
from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion
from longhouse.store.tx import Tx

__all__ = ["advise"]

_ASKS = 4
"""The urgency of a job with an unanswered question."""


@room.advises
def advise(tx: Tx) -> Advice:
    """Summarize jobs and runners for `status`."""
    jobs, there = counts(tx), counted(tx)
    urgent = tx.one(sql.radar_active, limit=1)
    suggestions = []
    if jobs.queued and there.status == "offline" and may_start(tx):
        from longhouse.jobs.types.runners import StartRunner  # `status` rarely needs it

        suggestions.append(
            Suggestion(
                StartRunner(),
                "jobs are queued and no runner is online",
                action_id="next::runner.start",
            )
        )
    if urgent:
        from longhouse.jobs.types.radar import ShowRadar

        asks = urgent["urgency"] == _ASKS
        suggestions.append(
            Suggestion(
                ShowRadar(),
                "a job asks you something" if asks else "check on the jobs",
                priority="high" if asks else "low",
                action_id="next::jobs.radar",
            )
        )
    return Advice(
        fingerprint=f"jobs(q={jobs.queued},r={jobs.running});runner={there.status}",
        shown={
            "jobs": msgspec.to_builtins(jobs),
            "runner": msgspec.to_builtins(there),
            "runner_autostart": {"enabled": autostart_enabled(tx)},
        }
        if jobs.queued or jobs.running or there.status != "offline"
        else {},
        suggestions=suggestions,
    )
