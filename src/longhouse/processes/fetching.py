"""`tool.output_fetch`, `tool.output_raw` and `tool.output_store`: output in ranges.

Text is shown with secrets masked by as many bytes, so offsets are those of the original bytes. The
original bytes are available only to the task's starter and to managers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.errors import Conflict, Forbidden, InvalidInput, Suggestion
from longhouse.kernel.registry import Role
from longhouse.kernel.tool_tasks import Stream
from longhouse.processes.frames import log_id, log_path
from longhouse.processes.output import StreamOutput, output_of, read_with
from longhouse.processes.records import Process, existing, refuse_stranger
from longhouse.processes.room import room
from longhouse.processes.state import Gap
from longhouse.processes.types.output import (
    FetchOutput,
    OutputFetched,
    OutputPart,
    OutputStored,
    RawOutput,
    ReadRawOutput,
    StoreOutput,
    WaitTask,
)
from longhouse.processes.types.tasks import RECORDING
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.masking import masked
from longhouse.store.artifacts.raw import refuse_tokens_at
from longhouse.store.artifacts.view import ArtifactView, Piece
from longhouse.store.tx import Tx

__all__ = ["MOST_BYTES", "fetch", "raw", "shown_text", "store"]

MOST_BYTES = 65_536
"""The maximum output per answer."""
_PART = 512
_CHUNK = 1 << 20


def _fetched_lines(result: dict[str, Any]) -> list[str]:
    head = f"{result['artifact_id']} {result['offset_bytes']}..{result['next_cursor']}"
    more = " has_more=true" if result["has_more"] else ""
    text = "".join(part["text"] for part in result["parts"])
    return [f"{head} of {result['total_bytes']}{more}", *text.splitlines()]


@room.command(
    "tool.output_fetch",
    also=(
        "tool.output tool.logs tool.tail tool.output_read tool.task_output tool.log "
        "tool.task_logs tool.task_log tool.read tool.stdout"
    ),
    example=FetchOutput(task_id="PROC-001", tail_lines=20),
    trim=[Pop("parts", leave=1, cursor="next_offset"), Clip("parts.text", 240)],
    lines=_fetched_lines,
    slow=True,
)
def fetch(tx: Tx, req: FetchOutput) -> OutputFetched:
    """Read a task's output as text: a range of bytes or lines, or its last lines."""
    ways = [way for way in ("offset_bytes", "line", "tail_lines") if getattr(req, way) is not None]
    if len(ways) > 1:
        raise InvalidInput(
            f"{ways[1]}: cannot be combined with {ways[0]}",
            recovery="pass only one of offset_bytes, line and tail_lines",
        )
    process = existing(tx, req.task_id)
    fetched = read_with(tx, process, req.stream, partial(_fetch, process, req))
    if not process.state.ended and not fetched.parts:
        tx.suggest(WaitTask(task_id=process.task_id), "wait until it ends")
    return fetched


def _fetch(process: Process, req: FetchOutput, output: StreamOutput) -> OutputFetched:
    view, most = output.view, min(req.max_bytes, MOST_BYTES)
    if req.tail_lines is not None:
        piece = view.last_lines(req.tail_lines, most)
    elif req.line is not None or (req.max_lines is not None and req.offset_bytes is None):
        piece = view.lines(req.line or 1, req.max_lines or 200, most)
    else:
        piece = view.text(req.offset_bytes or 0, most)
    piece, end = masked(view, piece, growing=output.growing)
    return _fetched(process, output, piece, end)


@room.command(
    "tool.output_raw",
    role=Role.AGENT,
    example=ReadRawOutput(task_id="PROC-001", offset_bytes=0),
    profile="audit",
    slow=True,
)
def raw(tx: Tx, req: ReadRawOutput) -> RawOutput:
    """Read a task's output byte for byte, as its starter or a manager."""
    process = existing(tx, req.task_id)
    refuse_stranger(tx, process, "reading its bytes")
    if process.row["tool"] == RECORDING and not tx.by.leads:
        raise Forbidden(
            f"task_id: {process.task_id} is a recording that was imported, so its importer did not "
            "start the program; reading its bytes needs the role manager",
            recovery="read it as text with tool.output_fetch",
            suggest=[Suggestion(FetchOutput(task_id=process.task_id), "read it as text")],
        )
    return read_with(tx, process, req.stream, partial(_raw, tx, req, process.task_id))


def _raw(tx: Tx, req: ReadRawOutput, task_id: str, output: StreamOutput) -> RawOutput:
    import base64

    stream, view = output.stream, output.view
    if output.claimed and not tx.by.leads:
        raise Forbidden(
            f"task_id: the host of {task_id} names an artifact as its {stream}, but did not "
            "send these bytes; reading them needs the role manager",
            recovery="read it as text with tool.output_fetch",
            suggest=[Suggestion(FetchOutput(task_id=task_id), "read it as text")],
        )
    hole = view.gap
    piece = Piece(b"", req.offset_bytes, req.offset_bytes)
    if hole is None or not hole.at <= req.offset_bytes < hole.end:
        piece = view.read(req.offset_bytes, req.max_bytes)
        refuse_tokens_at(tx, f"the output of {task_id}", view, piece)
    return RawOutput(
        task_id=task_id,
        stream=stream,
        offset_bytes=req.offset_bytes,
        bytes=len(piece.data),
        total_bytes=view.size,
        gap=Gap(start=hole.at, end=hole.end) if hole else None,
        data_b64=base64.b64encode(piece.data).decode(),
    )


class _Kept(NamedTuple):
    """Bytes written to disk before the transaction that records them."""

    task_id: str
    stream: Stream
    blob: Blob


def _keep(tx: Tx, req: StoreOutput) -> _Kept:
    process = existing(tx, req.task_id)
    refuse_stranger(tx, process, "storing its output")
    if not process.state.ended:
        raise Conflict(
            f"task_id: {process.task_id} is {process.state.status}; its output can be stored once "
            "it has ended",
            recovery="wait until it ends, then store it",
            suggest=[Suggestion(WaitTask(task_id=process.task_id), "wait until it ends")],
        )
    output = output_of(tx, process, req.stream)
    keeper = artifacts_of(tx)
    blob = keeper.stage(_chunks(output.view), now_ms=tx.now_ms, most=keeper.left(tx))
    return _Kept(process.task_id, output.stream, blob)


@room.command(
    "tool.output_store",
    writes=True,
    idempotent=True,
    example=StoreOutput(task_id="PROC-001", stream="stdout"),
    ahead=_keep,
)
def store(tx: Tx, req: StoreOutput, kept: _Kept) -> OutputStored:
    """Store the output of an ended task as an artifact under its digest."""
    artifact, created = artifacts_of(tx).record(
        tx, kept.blob, name=f"{kept.task_id} {kept.stream}", media_type="text/plain"
    )
    return OutputStored(
        task_id=kept.task_id,
        stream=kept.stream,
        ref=artifact.ref,
        digest=kept.blob.digest,
        bytes=kept.blob.size,
        created=created,
    )


def shown_text(output: StreamOutput, piece: Piece) -> str:
    """A piece of output as text, with secrets masked."""
    shown, _ = masked(output.view, piece, growing=output.growing)
    return shown.data.decode("utf-8", "replace")


def _chunks(view: ArtifactView) -> Iterator[bytes]:
    at = 0
    while (piece := view.read(at, _CHUNK)).data:
        yield piece.data
        at = piece.next_offset


def _fetched(process: Process, output: StreamOutput, piece: Piece, end: int) -> OutputFetched:
    task_id, hole = process.task_id, output.view.gap
    parts = list(_parts(piece))
    at_hole = hole is not None and piece.next_offset == hole.at
    after = hole.end if hole and at_hole else piece.next_offset
    return OutputFetched(
        task_id=task_id,
        stream=output.stream,
        artifact_id=log_id(task_id, output.stream),
        path=log_path(task_id, output.stream),
        status=process.state.status,
        total_bytes=output.view.size,
        capped=hole is not None,
        gap=Gap(start=hole.at, end=hole.end) if hole and (at_hole or piece.skipped) else None,
        first_line=piece.first_line,
        offset_bytes=piece.offset,
        parts=parts,
        count=len(parts),
        has_more=after < end,
        next_cursor=after,
    )


def _parts(piece: Piece) -> Iterator[OutputPart]:
    """Parts of about half a kilobyte, each of whole characters."""
    text = piece.data.decode("utf-8", "surrogateescape")
    offset = piece.offset
    for at in range(0, len(text), _PART):
        run = text[at : at + _PART].encode("utf-8", "surrogateescape")
        shown = run.decode("utf-8", "replace")
        yield OutputPart(offset_bytes=offset, next_offset=offset + len(run), text=shown)
        offset += len(run)
