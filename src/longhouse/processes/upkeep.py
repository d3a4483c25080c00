"""Periodic upkeep: ends tasks with their job, and gives up tasks of lost hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from longhouse.processes.cancelling import end, give_up
from longhouse.processes.records import SILENT_MS, Process
from longhouse.processes.room import room, sql
from longhouse.processes.state import TaskState
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = [
    "GIVEN_UP_MS",
    "HOSTS_KEPT_MS",
    "LOST_MS",
    "end_with_their_jobs",
    "forget_what_is_over",
    "give_up_lost_hosts",
    "held_logs",
]

LOST_MS: Final = 24 * 3_600_000
"""How long a host must be silent before its tasks are given up."""
GIVEN_UP_MS: Final = SILENT_MS + 15_000
"""The same for one that was cancelled. Another runner may take over from `SILENT_MS` on, and looks
every five seconds whether it can: it knows how the task ended."""
HOSTS_KEPT_MS: Final = 30 * 24 * 3_600_000
"""How long a silent host without tasks is remembered."""
_PAGE = 200
_OVER = ("DONE", "FAILED", "CANCELED")


@room.every(2)
def end_with_their_jobs(tx: Tx) -> None:
    """End tasks with lifetime `job` whose job has ended."""
    for row in tx.all(sql.tasks_of_jobs, limit=_PAGE):
        process = Process.from_row(row)
        if process.state.cancel_reason is None and _job_is_over(tx, row["job_id"]):
            end(tx, process, f"{row['job_id']} has ended")


@room.clamps
def clamp_hosts(tx: Tx) -> None:
    """A host that was heard from in the future would never be silent."""
    tx.run(sql.hosts_clamp, now=tx.now_ms)


@room.every(10)
def give_up_lost_hosts(tx: Tx) -> None:
    """End the tasks of hosts that have been silent for a day, and cancelled ones much sooner."""
    for row in tx.all(sql.tasks_lost, before=tx.now_ms - LOST_MS, limit=_PAGE):
        give_up(tx, Process.from_row(row), "its host was silent for a day")
    for row in tx.all(sql.tasks_lost_cancelled, before=tx.now_ms - GIVEN_UP_MS, limit=_PAGE):
        process = Process.from_row(row)
        if process.state.cancel_reason is not None:
            give_up(tx, process, "it was cancelled, and its host is silent")


@room.every(3_600)
def forget_what_is_over(tx: Tx) -> None:
    """Delete hosts that are long gone."""
    tx.run(sql.hosts_forget, before=tx.now_ms - HOSTS_KEPT_MS)


def _job_is_over(tx: Tx, job: str) -> bool:
    """Whether the newest event of the job has a final status."""
    rows = tx.all(log_sql.log_of_subject_before, subject=job, before=2**62, limit=1)
    return bool(rows) and LogRow.from_row(rows[0]).data.get("status") in _OVER


@room.holds_artifacts
def held_logs(tx: Tx) -> Iterator[str]:
    """The artifacts that hold output of tasks and have not been removed."""
    for row in tx.all(sql.logs_kept):
        yield row["handle"]
    for row in tx.all(sql.states_with_artifacts):
        state = msgspec.json.decode(row["state"], type=TaskState)
        for stream in state.streams.values():
            if stream.seal is not None and stream.seal.artifact:
                yield stream.seal.artifact.removeprefix("artifact:")
