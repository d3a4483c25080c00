"""`tool.recording_export`: the recording of a task, read a page at a time.

It is built from the frames and from the output with secrets masked, so a viewer may read it. The
same task always gives the same bytes, for every caller and every page size.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.kernel.redact import redact_text
from longhouse.kernel.tool_tasks import DELTA_BYTES, Stream, stream_of
from longhouse.processes.frames import Frame
from longhouse.processes.output import output_of
from longhouse.processes.records import Process, existing
from longhouse.processes.room import room
from longhouse.processes.types.output import FetchOutput, WaitTask
from longhouse.processes.types.recording import ExportRecording, RecordingPage
from longhouse.processes.types.tasks import TaskStatus
from longhouse.store.artifacts.masking import masked
from longhouse.store.artifacts.view import Piece
from longhouse.store.tx import Tx
from longhouse.terminals import recording as rec

__all__ = ["export_recording"]

_PAGE_BYTES = 40_000
_BLOCK = 65_536
_FRAMES = 200


class _Place(NamedTuple):
    """Where a page begins: a frame, how many bytes of it were sent, and its time."""

    seq: int
    told: int
    at: int

    def __str__(self) -> str:
        return f"{self.seq}.{self.told}.{self.at}"


@room.command(
    "tool.recording_export",
    also="tool.recording tool.record tool.replay tool.export",
    example=ExportRecording(task_id="PROC-001"),
    profile="audit",
    slow=True,
)
def export_recording(tx: Tx, req: ExportRecording) -> RecordingPage:
    """Read the recording of an ended task: its frames in order, and its output."""
    process = existing(tx, req.task_id)
    if not process.state.ended:
        raise Conflict(
            f"task_id: {process.task_id} is {process.state.status}; its recording is available "
            "once it has ended",
            recovery=f"wait until it ends: longhouse wait {process.task_id}",
            suggest=[Suggestion(WaitTask(task_id=process.task_id), "wait until it ends")],
        )
    _refuse_too_long(process)
    exporter = _Exporter(tx, process)
    place = _Place(*map(int, req.cursor.split("."))) if req.cursor else None
    lines = bytearray()
    after: _Place | None = None
    for line, then in exporter.lines(place):
        lines += line
        after = then
        if len(lines) >= _PAGE_BYTES:
            break
    return RecordingPage(
        task_id=process.task_id,
        data_b64=base64.b64encode(lines).decode(),
        has_more=after is not None,
        next_cursor=str(after) if after else None,
    )


def _refuse_too_long(process: Process) -> None:
    """Refuse output that is too long to be read as a recording."""
    streams = process.state.streams.values()
    size = sum(one.seal.bytes_stored if one.seal else one.bytes for one in streams)
    if size > rec.MOST_BYTES:
        raise Conflict(
            f"task_id: {process.task_id} printed too much for a recording: {size} bytes; the limit "
            f"is {rec.MOST_BYTES}",
            recovery="read its output in ranges with tool.output_fetch",
            suggest=[Suggestion(FetchOutput(task_id=process.task_id), "read its output")],
        )


class _Exporter:
    """Turns the frames of one task into the lines of its recording."""

    def __init__(self, tx: Tx, process: Process) -> None:
        self._tx, self._process = tx, process
        self._output = cache(lambda stream: output_of(tx, process, stream))
        self._blocks: dict[Stream, Piece] = {}
        """The block last read of each stream, so that secrets are not searched for every line."""
        self._started = self._find_start()

    def lines(self, place: _Place | None) -> Iterator[tuple[bytes, _Place | None]]:
        """Each line, and where the next one begins; None after the last."""
        if place is None:
            place = _Place(self._started["seq"] + 1, 0, 0)
            yield rec.encoded(self._header()), place
        for frame in self._frames(place.seq):
            told = place.told if frame["seq"] == place.seq else 0
            at = max(place.at, frame["timestamp_ms"] - self._started["timestamp_ms"])
            for event, size in self._events(frame, at, told):
                told += size
                place = _Place(frame["seq"], told, at) if size else _Place(frame["seq"] + 1, 0, at)
                yield rec.encoded(event), None if isinstance(event, rec.End) else place

    def _find_start(self) -> Frame:
        """The frame that reports it as running; earlier frames are not part of a recording."""
        for frame in self._frames(0):
            if frame["type"] == "tool_task_status" and frame["status"] == "running":
                return frame
        raise Conflict(
            f"task_id: {self._process.task_id} never ran, so there is no recording of it",
            recovery="see why not with tool.task_status",
            suggest=[Suggestion(TaskStatus(task_id=self._process.task_id), "see why not")],
        )

    def _frames(self, seq: int) -> Iterator[Frame]:
        while page := self._process.frames(self._tx, seq, _FRAMES):
            yield from page
            seq += len(page)

    def _header(self) -> rec.Header:
        spec, state = self._process.spec, self._process.state
        args: dict[str, Any] = spec.args
        line = args.get("command") or " ".join(map(str, args.get("argv", ())))
        return rec.Header(
            version=1,
            mode=state.mode,
            rows=spec.number("rows"),
            cols=spec.number("cols"),
            tool=str(args.get("recorded_tool", self._process.row["tool"])),
            command=redact_text(line),
            title=redact_text(spec.title or ""),
            started_at_ms=self._started["timestamp_ms"],
        )

    def _events(self, frame: Frame, at: int, told: int) -> Iterator[tuple[rec.Event, int]]:
        """The events of a frame, each with how many of the frame's bytes it covers."""
        kind = frame["type"]
        if stream := stream_of(kind):
            yield from self._pieces(stream, at, frame["offset_bytes"] + told, frame)
        elif kind == "tool_task_resized":
            yield rec.Resize(at=at, rows=frame["rows"], cols=frame["cols"]), 0
        elif kind == "tool_task_stdin_written":
            yield rec.Input(at=at, bytes=frame["bytes"]), 0
        elif kind == "tool_task_signalled":
            yield rec.Signal(at=at, signal=frame["signal"]), 0
        elif kind == "tool_task_cancel_requested":
            yield rec.Cancel(at=at, reason=redact_text(frame["reason"])), 0
        elif kind == "tool_task_status":
            yield self._end(frame, at), 0

    def _pieces(
        self, stream: Stream, at: int, offset: int, frame: Frame
    ) -> Iterator[tuple[rec.Event, int]]:
        stop = frame["offset_bytes"] + frame["bytes"]
        while offset < stop:
            ahead = min(stop, offset + DELTA_BYTES + 1)  # one more shows where a character ends
            data, missing = self._read(stream, offset, ahead)
            if missing:
                yield rec.Gap(at=at, stream=stream, offset=offset, bytes=missing), missing
                offset += missing
                continue
            piece = next(rec.pieces(at, stream, offset, data))
            yield piece, len(piece.data)
            offset += len(piece.data)

    def _read(self, stream: Stream, offset: int, stop: int) -> tuple[bytes, int]:
        """The bytes between two offsets with secrets masked, or how many of them are gone."""
        block = self._blocks.get(stream)
        if block is None or not block.offset <= offset < stop <= block.next_offset:
            view = self._output(stream).view
            piece = view.read(offset, max(_BLOCK, stop - offset))
            if not piece.data or piece.offset > offset:
                begins = piece.offset if piece.data else stop
                return b"", min(begins, stop) - offset
            block = self._blocks[stream] = masked(view, piece, growing=False)[0]
        return block.data[offset - block.offset : stop - block.offset], 0

    def _end(self, frame: Frame, at: int) -> rec.End:
        totals = rec.Totals(self._process.state.mode)
        for stream, state in self._process.state.streams.items():
            offset = 0
            while offset < state.bytes:
                stop = min(state.bytes, offset + _BLOCK)
                data, missing = self._read(stream, offset, stop)
                if missing:
                    totals.take(rec.Gap(at=at, stream=stream, offset=offset, bytes=missing))
                for piece in rec.pieces(at, stream, offset, data):
                    totals.take(piece)
                offset += missing + len(data)
        told = {name: frame[name] for name in ("status", "exit_code", "signal", "cause", "error")}
        return rec.End(at=at, streams=totals.ends(), **told)
