"""`tool.task_append`, `tool.task_append_many`: a host's runner reports on tasks, frame by frame.

Frames are accepted only at the end of the stream, so nothing is lost or duplicated: a repeated call
is answered with `repeated`, and a call for any other position is refused with the right one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput, LonghouseError, Suggestion
from longhouse.kernel.inputs import from_base64
from longhouse.kernel.redact import mask, redact
from longhouse.kernel.tool_tasks import DELTA_BYTES, stream_of
from longhouse.processes.cancelling import end_ops
from longhouse.processes.claiming import heard
from longhouse.processes.frames import OUTCOMES, log_id, log_path, named_logs, status_payload
from longhouse.processes.records import Process, existing
from longhouse.processes.room import room, sql
from longhouse.processes.state import IllegalFrame
from longhouse.processes.typed import forget
from longhouse.processes.types.running import (
    AppendFrames,
    AppendMany,
    FramesAppended,
    ManyAppended,
    NewFrame,
    TaskAppended,
    TaskFrames,
)
from longhouse.processes.types.tasks import TaskStatus
from longhouse.store.tx import Tx

__all__ = ["append", "append_many", "op_number"]

_TAKES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "delta": (("offset_bytes", "bytes"), ("chunk", "chunk_b64")),
    "tool_task_ports": (("ports",), ()),
    "tool_task_cancelled": (("reason",), ("op_id", "wall_time_ms")),
    "tool_task_stdin_written": (("op_id", "bytes"), ("sha256", "offset_bytes")),
    "tool_task_resized": (("op_id", "rows", "cols"), ("offset_bytes",)),
    "tool_task_signalled": (("op_id", "signal"), ("offset_bytes",)),
    "tool_task_op_failed": (("op_id", "error"), ()),
    "tool_policy_decided": (("decision", "rule", "profile"), ("reason",)),
    "tool_task_status": (
        ("status",),
        (
            "started_at_ms",
            "ended_at_ms",
            "pid",
            "exit_code",
            "signal",
            "cause",
            "error",
            "leftovers",
            "logs",
        ),
    ),
}
"""The required and optional fields of each type of frame."""


@room.command(
    "tool.task_append",
    writes=True,
    idempotent=True,
    example=AppendFrames(
        task_id="PROC-001",
        runner_id="runner-1",
        revision=1,
        base_seq=2,
        frames=[NewFrame(type="tool_task_status", status="running", pid=4711, started_at_ms=1)],
    ),
)
def append(tx: Tx, req: AppendFrames) -> FramesAppended:
    """Append frames to a task's stream, as the runner that speaks for its host."""
    process = existing(tx, req.task_id)
    heard(tx, req.runner_id, process.row["host_id"], req.revision)
    return _added(tx, process, req.base_seq, req.frames)


@room.command(
    "tool.task_append_many",
    writes=True,
    idempotent=True,
    example=AppendMany(
        runner_id="runner-1",
        host_id="host-3f9a1c07",
        revision=1,
        tasks=[
            TaskFrames(
                task_id="PROC-001",
                base_seq=2,
                frames=[NewFrame(type="tool_task_status", status="running", pid=4711)],
            )
        ],
    ),
    profile="audit",
    whole=True,
)
def append_many(tx: Tx, req: AppendMany) -> ManyAppended:
    """Append frames to the streams of several tasks of one host; one refused stops no other."""
    heard(tx, req.runner_id, req.host_id, req.revision)
    told = [_added_or_refused(tx, req.host_id, one) for one in req.tasks]
    return ManyAppended(tasks=told, count=len(told))


def _added_or_refused(tx: Tx, host_id: str, told: TaskFrames) -> TaskAppended:
    """Append to one of several streams. A refusal comes before anything of that task is written."""
    try:
        process = existing(tx, told.task_id)
        if process.row["host_id"] != host_id:
            raise Conflict(f"task_id: {told.task_id} does not belong to {host_id}")
        done = _added(tx, process, told.base_seq, told.frames)
    except LonghouseError as error:
        return TaskAppended(task_id=told.task_id, refused=f"{error.code}: {error.message}")
    return TaskAppended(task_id=told.task_id, next_seq=done.next_seq, repeated=done.repeated)


def _added(tx: Tx, process: Process, base_seq: int, told: list[NewFrame]) -> FramesAppended:
    """Append frames at the end of a task's stream, unless they are there already."""
    frames: list[tuple[str, dict[str, Any]]] = [
        (frame.type, _payload(process, frame, index)) for index, frame in enumerate(told)
    ]
    if base_seq != process.state.next_seq:
        _refuse_another_story(tx, process, base_seq, frames)
        return _appended(process, repeated=True)
    task_id = process.task_id
    if any(frame.op_id for frame in told):
        frames = _with_actors(tx, process, frames)
    try:
        process = process.write(tx, frames)
    except IllegalFrame as error:
        raise Conflict(
            f"frames: {error}",
            recovery=f"continue from its current state: tool.task_status task_id={task_id}",
            suggest=[Suggestion(TaskStatus(task_id=task_id), "see how far its stream is")],
        ) from None
    for frame in told:
        if frame.op_id:
            k = op_number(process, frame.op_id)
            if tx.one(sql.op_done, n=process.row["n"], k=k):
                forget(tx, process.row["n"], k)
                tx.run(sql.ops_before, n=process.row["n"], k=k)
    if process.state.ended:
        end_ops(tx, process)
    return _appended(process, repeated=False)


def _with_actors(
    tx: Tx, process: Process, frames: list[tuple[str, dict[str, Any]]]
) -> list[tuple[str, dict[str, Any]]]:
    """The frames, those of an operation's outcome with who requested it."""
    actors = {
        f"{process.task_id}.{row['k']}": row["actor"]
        for row in tx.all(sql.ops_actors, n=process.row["n"])
    }
    return [
        (kind, {**data, "by": actors.get(data["op_id"])} if kind in OUTCOMES else data)
        for kind, data in frames
    ]


def op_number(process: Process, op_id: str) -> int:
    """`PROC-001.2` is the second operation of its task."""
    task_id, _, k = op_id.rpartition(".")
    if task_id != process.task_id or not (k.isascii() and k.isdigit() and len(k) < 10):
        raise InvalidInput(f"op_id: {op_id[:80]!r} is not an operation of {process.task_id}")
    return int(k)


def _payload(process: Process, frame: NewFrame, index: int) -> dict[str, Any]:
    """The payload of a frame: exactly the fields of its type, with secrets redacted."""
    stream = stream_of(frame.type)
    must, may = _TAKES["delta" if stream else frame.type]
    given = {
        name: value
        for name in frame.__struct_fields__
        if name != "type" and (value := getattr(frame, name)) is not None
    }
    missing = [name for name in must if name not in given]
    strange = [name for name in given if name not in must and name not in may]
    if missing or strange:
        field = (missing or strange)[0]
        said = "is missing" if missing else "is not allowed"
        raise InvalidInput(
            f"frames[{index}].{field}: {said}; {frame.type} takes {', '.join((*must, *may))}"
        )
    if stream:
        return _delta(process, stream, frame, index)
    if frame.op_id is not None:
        op_number(process, frame.op_id)
    if frame.type == "tool_policy_decided":
        return {"why": given.pop("reason", ""), "by": "runner", **given}
    payload: dict[str, Any] = msgspec.to_builtins({name: given.get(name) for name in (*must, *may)})
    if frame.type == "tool_task_status":
        logs = payload.pop("logs")
        payload["artifacts"] = None if logs is None else {"logs": named_logs(process.task_id, logs)}
        payload = status_payload(**payload)
    hidden: dict[str, Any] = redact(payload)
    return hidden


def _delta(process: Process, stream: str, frame: NewFrame, index: int) -> dict[str, Any]:
    """Output as offset, length and text; secrets are masked without changing the length."""
    size = frame.bytes or 0
    raw = None if frame.chunk is None else frame.chunk.encode()
    if frame.chunk_b64 is not None:
        if raw is not None:
            raise InvalidInput(f"frames[{index}].chunk_b64: it replaces chunk; pass one of them")
        raw = from_base64(f"frames[{index}].chunk_b64", frame.chunk_b64)
    if raw is not None and size > DELTA_BYTES:
        raise InvalidInput(f"frames[{index}].bytes: {size}, at most {DELTA_BYTES} per frame")
    chunk: str | None = None
    log: dict[str, Any] | None = None
    if raw is None:
        log = {"id": log_id(process.task_id, stream), "path": log_path(process.task_id, stream)}
        log |= {"offset_bytes": frame.offset_bytes, "bytes": size}
    else:
        chunk = mask(raw).decode("utf-8", "replace")
    return {
        "stream": stream,
        "chunk": chunk,
        "offset_bytes": frame.offset_bytes,
        "bytes": size,
        "artifacts": None if log is None else {"log": log},
    }


def _refuse_another_story(
    tx: Tx, process: Process, base_seq: int, frames: list[tuple[str, dict[str, Any]]]
) -> None:
    """Refuse frames for a position that is taken, unless it holds the very same frames."""
    there = process.frames(tx, base_seq, len(frames))
    told = [
        (kind, {"task_id": process.task_id, **msgspec.to_builtins(payload)})
        for kind, payload in frames
    ]
    same = [
        (frame["type"], {name: frame[name] for name in data})
        for frame, (_, data) in zip(there, told, strict=False)
        if data.keys() <= frame.keys()
    ]
    if len(there) == len(told) and same == told:
        return
    next_seq, task_id = process.state.next_seq, process.task_id
    raise Conflict(
        f"base_seq: the stream of {task_id} continues at {next_seq}, not at {base_seq}",
        recovery=f"append from {next_seq} on; see tool.task_status task_id={task_id}",
        hints=[{"kind": "stream", "task_id": task_id, "next_seq": next_seq}],
        suggest=[Suggestion(TaskStatus(task_id=task_id), "see how far its stream is")],
    )


def _appended(process: Process, *, repeated: bool) -> FramesAppended:
    return FramesAppended(
        task_id=process.task_id,
        status=process.state.status,
        next_seq=process.state.next_seq,
        repeated=repeated,
    )
