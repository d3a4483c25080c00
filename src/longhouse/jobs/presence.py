"""Counts of jobs and of runners, and whether a runner may be started.

`status` needs this in every workspace, most of which have no jobs, so it imports no job code.
"""

from __future__ import annotations

from longhouse.jobs.facts import JobFacts
from longhouse.jobs.room import sql
from longhouse.jobs.types.presence import Counts, Runners
from longhouse.store.tx import Tx

__all__ = ["SHOWN_FOR_MS", "autostart_enabled", "counts", "may_start", "runners_present"]

SHOWN_FOR_MS = 600_000
"""How long an offline runner is still shown."""


def may_start(tx: Tx) -> bool:
    """Whether the caller may start a runner; with autostart off, only a manager may."""
    return tx.facts.of(JobFacts).autostart or tx.by.leads


def counts(tx: Tx, up_to: int = 1_000) -> Counts:
    """How many jobs are queued and running, each counted up to `up_to`."""
    queued, running = (
        int(tx.value(sql.count_up_to, status=status, limit=up_to))
        for status in ("QUEUED", "RUNNING")
    )
    return Counts(queued=queued, running=running)


def runners_present(tx: Tx) -> Runners:
    """The runners that are online or were until recently."""
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
