"""`tool.recording_import`: turns a recording into an ended task, for viewing only.

Nothing is ever started: the task has ended before anyone can see it. It is marked as a recording
(`tool: recording`), so it proves nothing and triggers no wake-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.inputs import from_base64
from longhouse.kernel.redact import mask, redact, redact_text
from longhouse.kernel.secret_shapes import LONGEST, open_from, secret_spans, shut_until
from longhouse.kernel.tool_tasks import DELTAS, INLINE_BYTES, Stream
from longhouse.processes.documenting import index_process
from longhouse.processes.frames import (
    STREAM,
    log_id,
    log_path,
    logs_of,
    named_logs,
    status_payload,
)
from longhouse.processes.records import Process, ref_of, view_of
from longhouse.processes.room import room, sql
from longhouse.processes.spec import TaskSpec
from longhouse.processes.state import Gap, IllegalFrame, LogSeal, TaskState
from longhouse.processes.types.recording import ImportRecording, RecordingImported
from longhouse.processes.types.tasks import RECORDING
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.recall.subjects import places_of
from longhouse.store.tx import Tx
from longhouse.terminals import read_either
from longhouse.terminals import recording as rec

__all__ = ["import_recording"]

MOST_LINES = 20_000
"""Each line becomes a frame, all in one transaction; longer recordings can be replayed as files."""
_BLOCK = 1 << 20
_Frames = list[tuple[str, dict[str, Any]]]


class _Taken(NamedTuple):
    """A recording that was read completely and is valid; its output is on disk."""

    header: rec.Header
    events: list[rec.Event]
    totals: rec.Totals
    blobs: dict[Stream, Blob]


class _Source(NamedTuple):
    """Where a recording is read from, possibly more than once, and its name in a refusal."""

    name: str
    blocks: Callable[[], Iterable[bytes]]


def _source(tx: Tx, req: ImportRecording) -> _Source:
    if req.content_b64 is not None and req.artifact is None:
        data = from_base64("content_b64", req.content_b64)
        return _Source("content_b64: this", lambda: (data,))
    if req.artifact is None or req.content_b64 is not None:
        raise InvalidInput(
            "artifact: expected exactly one of artifact and content_b64",
            recovery="pass artifact=artifact:2cf24dba5fb0, or the file as content_b64",
        )
    keeper = artifacts_of(tx)
    artifact = keeper.find(tx, req.artifact)
    view = keeper.view(artifact, tx.ws)
    if view.gap is not None or view.size > 8 * rec.MOST_BYTES:
        raise InvalidInput(
            f"artifact: {artifact.ref} is incomplete or too large to be a recording",
            recovery="export it again: longhouse recording export PROC-001 > FILE",
        )
    return _Source(
        f"artifact: {artifact.ref}",
        lambda: (view.read(at, _BLOCK).data for at in range(0, view.size, _BLOCK)),
    )


def _take(tx: Tx, req: ImportRecording) -> _Taken:
    """Read everything before anything is recorded; a refused recording leaves nothing behind."""
    source, keeper = _source(tx, req), artifacts_of(tx)
    try:
        header, events, totals = _read(source)
        blobs = {
            stream: keeper.stage(_bytes(source, stream), now_ms=tx.now_ms, most=keeper.left(tx))
            for stream, size in totals.sizes.items()
            if size
        }
    except rec.BadRecording as error:
        raise InvalidInput(
            f"{source.name} is not a recording that can be imported: {error}",
            recovery="export it again: longhouse recording export PROC-001 > FILE; one that is too "
            "long can be replayed without importing it: longhouse replay FILE",
        ) from None
    return _Taken(header, events, totals, blobs)


@room.command(
    "tool.recording_import",
    also="tool.record_import tool.import",
    writes=True,
    additive=True,
    ahead=_take,
    example=ImportRecording(artifact="artifact:b0254b9afa73"),
)
def import_recording(tx: Tx, req: ImportRecording, taken: _Taken) -> RecordingImported:
    """Turn a recording into a task, to attach to, replay and read; nothing is run."""
    header = taken.header
    args = {
        "command": header.command,
        "recorded_tool": header.tool,
        "rows": header.rows,
        "cols": header.cols,
    }
    spec = TaskSpec(args=redact(args), title=redact_text(req.title or header.title) or None)
    n = tx.count("processes")
    row = tx.one(
        sql.task_add,
        n=n,
        name=None,
        tool=RECORDING,
        mode=header.mode,
        spec=msgspec.json.encode(spec).decode(),
        owner=tx.by.owner,
        identity=tx.by.identity,
        role=int(tx.by.role),
        agent_id=tx.actor,
        job_id=None,
        lifetime="workspace",
        now=tx.now_ms,
        seq=tx.last_seq() + 1,
    )
    assert row is not None
    try:
        frames = _frames(ref_of(n), spec, taken, _seals(tx, ref_of(n), taken))
        process = Process(row, spec, TaskState()).write(tx, frames)
        index_process(tx, row, ref_of(n), places_of(tx, STREAM, ref_of(n))[-1])
    except IllegalFrame as error:
        raise InvalidInput(
            f"the recording describes something impossible: {error}",
            recovery="export it again: longhouse recording export PROC-001 > FILE",
        ) from None
    return RecordingImported(task=view_of(tx, process))


def _read(source: _Source) -> tuple[rec.Header, list[rec.Event], rec.Totals]:
    """All events, without output that does not fit into frames; secrets are masked."""
    lines = read_either(source.blocks(), MOST_LINES)
    header = next(lines)
    assert isinstance(header, rec.Header)
    totals, events = rec.Totals(header.mode), list[rec.Event]()
    begun: dict[Stream, bytearray] = {stream: bytearray() for stream in totals.sizes}
    for event in lines:
        assert not isinstance(event, rec.Header)
        if isinstance(event, rec.Output):
            totals.take(event)
            if len(begun[event.stream]) < INLINE_BYTES + LONGEST:
                begun[event.stream] += event.data
            if totals.kept > INLINE_BYTES or event.text is None:  # its frame is a reference
                size = len(event.data)
                event = rec.Gap(at=event.at, stream=event.stream, offset=event.offset, bytes=size)
        elif isinstance(event, rec.Gap):
            totals.take(event)
        events.append(event)
        if len(events) > MOST_LINES:  # one line of an asciicast can become several events
            raise rec.BadRecording(f"more than {MOST_LINES} lines")
    return header, list(_masked(events, begun, totals.gaps)), totals


def _masked(
    events: list[rec.Event],
    begun: Mapping[Stream, bytes | bytearray],
    gaps: Mapping[Stream, tuple[int, int]],
) -> Iterator[rec.Event]:
    """The events with secrets masked, even secrets that were printed in pieces.

    The search covers the beginning of each stream in `begun`, which extends past the last piece
    in a frame by the length of the longest secret.
    """
    shown = {stream: _starred(bytes(data), gaps.get(stream)) for stream, data in begun.items()}
    for event in events:
        if isinstance(event, rec.Output):
            start, end = gaps.get(event.stream, (event.offset, event.offset))
            at = event.offset - (end - start if event.offset >= end else 0)
            data = shown[event.stream][at : at + len(event.data)]
            event = rec.Output.of(event.at, event.stream, event.offset, data)
        yield event


def _starred(data: bytes, gap: tuple[int, int] | None) -> bytes:
    """The same bytes with secrets masked, and possible parts of secrets next to a gap."""
    if gap is None:
        return mask(data)
    before, after = data[: gap[0]], data[gap[0] :]
    left, right = before.decode("latin-1"), after.decode("latin-1")
    begins = [*secret_spans(left), (open_from(left), len(left))]
    return mask(before, begins) + mask(after, [*secret_spans(right), (0, shut_until(right))])


def _bytes(source: _Source, stream: Stream) -> Iterator[bytes]:
    for event in read_either(source.blocks()):
        if isinstance(event, rec.Output) and event.stream == stream:
            yield event.data


def _seals(tx: Tx, task_id: str, taken: _Taken) -> dict[str, Any]:
    seals: dict[str, Any] = {}
    for stream, end in taken.totals.ends().items():
        seal = LogSeal(bytes_total=0, bytes_stored=0)
        if blob := taken.blobs.get(stream):
            kept, _ = artifacts_of(tx).record(
                tx, blob, name=f"{task_id} {stream}", media_type="text/plain"
            )
            hole = taken.totals.gaps.get(stream)
            seal = LogSeal(
                bytes_total=end.bytes,
                bytes_stored=blob.size,
                truncated=hole is not None,
                gap=Gap(start=hole[0], end=hole[1]) if hole else None,
                sha256=None if hole else blob.digest,
                stored_sha256=blob.digest,
                artifact=kept.digest,
            )
        seals[stream] = msgspec.to_builtins(seal)
    return named_logs(task_id, seals)


def _frames(task_id: str, spec: TaskSpec, taken: _Taken, logs: dict[str, Any]) -> _Frames:
    """The frames of the recorded task, each with its original time."""
    header = taken.header
    start = header.started_at_ms
    spawned = {
        "tool_name": RECORDING,
        "args": spec.args,
        "title": spec.title,
        "execution_mode": header.mode,
        "artifacts": {"logs": logs_of(task_id, header.mode)},
    }
    running = status_payload(status="running", started_at_ms=start)
    frames: _Frames = [("tool_task_spawned", spawned), ("tool_task_status", running)]
    for event in taken.events:
        frames += [
            (kind, {**payload, "timestamp_ms": start + event.at})
            for kind, payload in _told(task_id, start, event, logs)
        ]
    for _, payload in frames[:2]:
        payload["timestamp_ms"] = start
    return frames


def _told(task_id: str, start: int, event: rec.Event, logs: dict[str, Any]) -> _Frames:
    match event:
        case rec.Output():
            return [(DELTAS[event.stream], _delta(task_id, event, len(event.data)))]
        case rec.Gap():
            return [(DELTAS[event.stream], _delta(task_id, event, event.bytes))]
        case rec.Resize():
            return [("tool_task_resized", {"rows": event.rows, "cols": event.cols})]
        case rec.Input():
            return [("tool_task_stdin_written", {"bytes": event.bytes})]
        case rec.Signal():
            return [("tool_task_signalled", {"signal": event.signal})]
        case rec.Cancel():
            return [("tool_task_cancel_requested", {"reason": redact_text(event.reason)})]
        case rec.End():
            names = ("status", "exit_code", "signal", "cause", "error")
            ended = status_payload(
                **{name: getattr(event, name) for name in names},
                started_at_ms=start,
                ended_at_ms=start + event.at,
                artifacts={"logs": logs},
            )
            over: _Frames = [("tool_task_cancelled", {})] if event.status == "cancelled" else []
            return [*over, ("tool_task_status", redact(ended))]


def _delta(task_id: str, event: rec.Output | rec.Gap, size: int) -> dict[str, Any]:
    """Output as text, or as a reference if it is not text, missing, or past the budget."""
    stream, offset = event.stream, event.offset
    chunk = None if isinstance(event, rec.Gap) else event.data.decode("utf-8", "replace")
    log: dict[str, Any] = {"id": log_id(task_id, stream), "path": log_path(task_id, stream)}
    log |= {"offset_bytes": offset, "bytes": size}
    return {
        "stream": stream,
        "chunk": chunk,
        "offset_bytes": offset,
        "bytes": size,
        "artifacts": None if chunk is not None else {"log": log},
    }
