"""`tool.task_cancel`: ends a task; repeated calls have no further effect.

A task that no host has claimed ends at once. For a claimed task, an operation is queued for the
host in order with the others, and the task's frames report the outcome.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.redact import redact_text
from longhouse.processes.frames import status_payload
from longhouse.processes.records import Process, existing, host_of, refuse_stranger, view_of
from longhouse.processes.room import room, sql
from longhouse.processes.typed import Typed, forget, keep
from longhouse.processes.types.tasks import CancelTask, ToolTaskStatus
from longhouse.store.tx import Tx

__all__ = ["add_op", "cancel_process", "end", "end_ops", "give_up", "ops_for"]

OPS = "tool_ops"
"""The stream of the workspace's log for what happens to tasks and is no frame."""


@room.command(
    "tool.task_cancel",
    also=(
        "tool.cancel tool.kill tool.stop tool.task_kill tool.task_stop tool.terminate "
        "tool.end tool.abort"
    ),
    writes=True,
    idempotent=True,
    example=CancelTask(task_id="PROC-001", reason="no longer needed"),
)
def cancel_process(tx: Tx, req: CancelTask) -> ToolTaskStatus:
    """End a task, with a reason; if it has already ended, only report how."""
    process = existing(tx, req.task_id)
    refuse_stranger(tx, process, "ending it")
    if not process.state.ended and process.state.cancel_reason is None:
        process = end(tx, process, req.reason)
    if req.force and not process.state.ended and host_of(tx, process) == "silent":
        process = give_up(tx, process, "it was cancelled by force while its host was silent")
    return ToolTaskStatus(task=view_of(tx, process))


def end(tx: Tx, process: Process, reason: str) -> Process:
    """Request the end of a task that has not been cancelled yet."""
    reason = redact_text(reason)
    requested = ("tool_task_cancel_requested", {"reason": reason, "by": tx.actor})
    if process.row["host_id"] is None:
        wall = tx.now_ms - process.row["created_at_ms"]
        over = status_payload(status="cancelled", ended_at_ms=tx.now_ms, cause="cancelled")
        cancelled = {"reason": reason, "op_id": None, "wall_time_ms": wall}
        return process.write(
            tx, [requested, ("tool_task_cancelled", cancelled), ("tool_task_status", over)]
        )
    op_id = add_op(tx, process, "cancel", {"reason": reason})
    return process.write(tx, [(requested[0], {**requested[1], "op_id": op_id})])


def give_up(tx: Tx, process: Process, why: str) -> Process:
    """End a task whose host cannot be reached; how its program ended is unknown.

    If its runner returns, it is refused, so it asks anew what it holds, and ends the program.
    """
    tx.run(sql.host_fence, host_id=process.row["host_id"])
    ran = process.state.status == "running" and process.state.mode == "pipes"
    over = status_payload(
        status="exited" if ran else "failed",
        started_at_ms=process.state.started_at_ms,
        ended_at_ms=tx.now_ms,
        cause="host_lost",
        error=None if ran else why,
    )
    process = process.write(tx, [("tool_task_status", over)])
    end_ops(tx, process)
    return process


def end_ops(tx: Tx, process: Process) -> None:
    """The task has ended: record what was requested and never done, and forget its input."""
    rows = sorted(tx.all(sql.ops_over, n=process.row["n"]), key=lambda row: int(row["k"]))
    undone = [
        {
            "op_id": f"{process.task_id}.{row['k']}",
            "kind": row["kind"],
            "by": row["actor"],
            **msgspec.json.decode(row["payload"]),
        }
        for row in rows
        if row["pending"] and row["kind"] != "cancel"  # whose outcome is the end
    ]
    if undone:
        tx.append(OPS, process.task_id, "undone", {"ops": undone})
    if rows:
        forget(tx, process.row["n"])


def add_op(
    tx: Tx, process: Process, kind: str, payload: dict[str, Any], typed: Typed | None = None
) -> str:
    """Add an operation for the host, wake its runner, and return the operation's id.

    It has no log row of its own, only the frame of its outcome; typed input is never logged. Its
    turn is later than any before, also than those that were seqs of the log.
    """
    n = process.row["n"]
    k = int(tx.value(sql.ops_count, n=n)) + 1
    tx.run(
        sql.op_add,
        n=n,
        k=k,
        kind=kind,
        payload=msgspec.json.encode(payload).decode(),
        turn=tx.last_seq() + tx.count("tool_ops"),
        actor=tx.actor,
    )
    if typed is not None:
        keep(tx, n, k, typed)
    tx.knock(ops_for(process.row["host_id"]))
    return f"{process.task_id}.{k}"


def ops_for(host_id: str) -> str:
    """What a runner is woken by when there is an operation for its host."""
    return f"ops of {host_id}"
