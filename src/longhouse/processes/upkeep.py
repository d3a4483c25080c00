"""Periodic upkeep: ends tasks with their job, and gives up tasks of lost hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from longhouse.processes.cancelling import end
from longhouse.processes.frames import status_payload
from longhouse.processes.records import Process
from longhouse.processes.room import room, sql
from longhouse.processes.state import TaskState
from longhouse.processes.typed import forget
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["LOST_MS", "end_with_their_jobs", "give_up", "give_up_lost_hosts", "held_logs"]

LOST_MS: Final = 24 * 3_600_000
"""How long a host must be silent before its tasks are given up."""
_PAGE = 200
_OVER = ("DONE", "FAILED", "CANCELED")


@room.every(2)
def end_with_their_jobs(tx: Tx) -> None:
    """End tasks with lifetime `job` whose job has ended."""
    for row in tx.all(sql.tasks_of_jobs, limit=_PAGE):
        process = Process.from_row(row)
        if process.state.cancel_reason is None and _job_is_over(tx, row["job_id"]):
            end(tx, process, f"{row['job_id']} has ended")


@room.every(60)
def give_up_lost_hosts(tx: Tx) -> None:
    """End the tasks of hosts that have been silent for a day; how they ended is unknown."""
    for row in tx.all(sql.tasks_lost, before=tx.now_ms - LOST_MS, limit=_PAGE):
        give_up(tx, Process.from_row(row), "its host was silent for a day")


def give_up(tx: Tx, process: Process, why: str) -> None:
    """End a task whose host will never report again."""
    ran = process.state.status == "running" and process.state.mode == "pipes"
    over = status_payload(
        status="exited" if ran else "failed",
        started_at_ms=process.state.started_at_ms,
        ended_at_ms=tx.now_ms,
        cause="host_lost",
        error=None if ran else why,
    )
    process.write(tx, [("tool_task_status", over)])
    tx.run(sql.ops_over, n=process.row["n"])
    forget(tx, process.row["n"])


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
