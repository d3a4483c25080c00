"""`tool.task_write_stdin`, `tool.task_resize` and `tool.task_signal`: for tasks in a terminal.

Each gets an id and is answered at once; it is logged with its outcome, success or failure, which is
a frame with that id.
"""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion
from longhouse.kernel.inputs import from_base64
from longhouse.kernel.tool_tasks import SIGNALS, STDIN_BYTES, signal_named
from longhouse.processes.cancelling import add_op
from longhouse.processes.records import Process, existing, refuse_stranger
from longhouse.processes.room import room, sql
from longhouse.processes.typed import Typed
from longhouse.processes.types.control import OpLogged, ResizeTask, SignalTask, WriteStdin
from longhouse.processes.types.tasks import TaskStatus
from longhouse.store.tx import Tx
from longhouse.terminals import bytes_of

__all__ = ["resize", "signal", "write_stdin"]

MOST_WAITING = 256
"""How many operations of a task may wait for its runner."""


@room.command(
    "tool.task_write_stdin",
    also=("tool.stdin tool.type tool.input tool.task_stdin tool.send_keys tool.keys tool.write"),
    writes=True,
    unkept=("chunk_b64", "keys"),
    example=WriteStdin(task_id="PROC-001", chunk_b64="aGkK"),
)
def write_stdin(tx: Tx, req: WriteStdin) -> OpLogged:
    """Type into the terminal of a task, or end its input."""
    process = _in_terminal(tx, req.task_id, "stdin")
    typed = _typed(req)
    payload = {"bytes": len(typed.plain), "eof": req.eof}
    return _asked(tx, process, "stdin", payload, typed)


def _typed(req: WriteStdin) -> Typed:
    """The bytes to type, from either form of input."""
    if req.chunk_b64 is not None and req.keys is not None:
        raise InvalidInput(
            "keys: cannot be combined with chunk_b64; fix: leave chunk_b64 out",
            recovery="send them in two calls: they are written in order",
        )
    if req.chunk_b64 is None and req.keys is None and not req.eof:
        raise InvalidInput(
            "chunk_b64: expected the input as base64, or keys, or eof=true; fix: chunk_b64=aGkK",
            recovery='pass keys=["hi", "Enter"], or chunk_b64=aGkK',
        )
    field, data, other = "keys", bytes_of(req.keys or ()), b""
    if req.chunk_b64 is not None:
        field = "chunk_b64"
        data = from_base64(field, req.chunk_b64)
    else:
        other = bytes_of(req.keys or (), application=True)
    if len(data) > STDIN_BYTES:
        raise InvalidInput(
            f"{field}: {len(data)} bytes, at most {STDIN_BYTES} at once",
            recovery="send it in several calls: they are written in order",
        )
    return Typed(data, other if other != data else b"")


@room.command(
    "tool.task_resize",
    also="tool.resize",
    writes=True,
    example=ResizeTask(task_id="PROC-001", rows=30, cols=100),
)
def resize(tx: Tx, req: ResizeTask) -> OpLogged:
    """Set the size of a task's terminal."""
    process = _in_terminal(tx, req.task_id, "resize")
    return _asked(tx, process, "resize", {"rows": req.rows, "cols": req.cols})


@room.command(
    "tool.task_signal",
    also="tool.signal",
    writes=True,
    example=SignalTask(task_id="PROC-001", signal="INT"),
)
def signal(tx: Tx, req: SignalTask) -> OpLogged:
    """Send a signal to a task in a terminal."""
    process = _in_terminal(tx, req.task_id, "signal")
    name = signal_named(req.signal)
    if name is None:
        raise InvalidInput(
            f"signal: {req.signal!r} cannot be sent; fix: signal=INT",
            recovery=f"use one of {', '.join(SIGNALS)}",
        )
    return _asked(tx, process, "signal", {"signal": name})


def _in_terminal(tx: Tx, task_id: str, what: str) -> Process:
    process = existing(tx, task_id)
    refuse_stranger(tx, process, what)
    if process.state.mode != "pty":
        raise InvalidInput(
            f"task_id: {task_id} has no terminal; {what} needs a task with execution_mode=pty",
            recovery="a pipes task has no input: end it with tool.task_cancel, or start it again "
            "with execution_mode=pty to type into it",
            suggest=[Suggestion(TaskStatus(task_id=task_id), "see its current state")],
        )
    if process.state.status != "running":
        raise Conflict(
            f"task_id: {task_id} is {process.state.status}, not running",
            recovery="start a new one" if process.state.ended else "wait until it runs",
            suggest=[Suggestion(TaskStatus(task_id=task_id), "see its current state")],
        )
    return process


def _asked(
    tx: Tx, process: Process, kind: str, payload: dict[str, Any], typed: Typed | None = None
) -> OpLogged:
    waiting = int(tx.value(sql.ops_waiting, n=process.row["n"]))
    if waiting >= MOST_WAITING:
        raise Conflict(
            f"task_id: {waiting} operations on {process.task_id} are waiting for its runner",
            recovery="make sure a runner is online: longhouse runner; then repeat this",
            suggest=[Suggestion(TaskStatus(task_id=process.task_id), "see its current state")],
        )
    op_id = add_op(tx, process, kind, payload, typed)
    return OpLogged(task_id=process.task_id, op_id=op_id, seq=tx.last_seq())
