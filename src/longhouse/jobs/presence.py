"""How many jobs wait and run, which runners are there, and whether one may be started.

`status` asks this of every workspace, most of which have no jobs: it imports nothing of the jobs.
"""

from __future__ import annotations

from longhouse.jobs.facts import JobFacts
from longhouse.jobs.room import sql
from longhouse.jobs.types.presence import Counts, Runners
from longhouse.store.tx import Tx

__all__ = ["SHOWN_FOR_MS", "autostart_enabled", "counted", "counts", "may_start"]

SHOWN_FOR_MS = 600_000
"""How long a runner that is gone is still shown."""


def may_start(tx: Tx) -> bool:
    """Whether the caller may have a runner started: where that is switched off, one that leads."""
    return tx.facts.of(JobFacts).autostart or tx.by.leads


def counts(tx: Tx, up_to: int = 1_000) -> Counts:
    """How many jobs wait and run, counted no further than `up_to`."""
    queued, running = (
        int(tx.value(sql.count_up_to, status=status, limit=up_to))
        for status in ("QUEUED", "RUNNING")
    )
    return Counts(queued=queued, running=running)


def counted(tx: Tx) -> Runners:
    """The runners that are there, or were of late."""
    row = tx.one(sql.leases_counted, now=tx.now_ms, since=tx.now_ms - SHOWN_FOR_MS) or {}
    live, idle, offline = (int(row[state]) for state in ("live", "idle", "offline"))
    return Runners(
        status="live" if live else "idle" if idle else "offline",
        live_count=live,
        idle_count=idle,
        offline_count=offline,
    )


def autostart_enabled(tx: Tx) -> bool:
    facts = tx.facts.of(JobFacts)
    return facts.starter is not None and facts.autostart
