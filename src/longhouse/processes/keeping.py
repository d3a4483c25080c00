"""`tool.output_append`: stores the output of a host whose folder servers cannot read, as it grows.

The runner sends the next bytes, and the answer says where the log continues; bytes sent twice are
stored once. The log is an artifact, so every server of the store can read it, before and after it
is sealed.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.kernel.inputs import from_base64
from longhouse.kernel.tool_tasks import Stream
from longhouse.processes.claiming import heard, refuse_mute
from longhouse.processes.records import Process, existing
from longhouse.processes.room import room, sql
from longhouse.processes.state import Gap
from longhouse.processes.types.running import AppendOutput, OutputAppended
from longhouse.processes.types.tasks import TaskStatus
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.growing import Gap as Cut
from longhouse.store.tx import Tx

__all__ = ["LogEnd", "append_output", "log_of", "unsealed"]


class _Grown(NamedTuple):
    """A log after one call: its size, and what to seal at its end."""

    size: int
    whole: tuple[Blob, int, Cut | None] | None = None


def log_of(tx: Tx, process: Process, stream: Stream) -> str | None:
    """The handle of the artifact that holds this stream; None if it is in the host's folder."""
    row = tx.one(sql.log_of, n=process.row["n"], stream=stream)
    return None if row is None else str(row["handle"])


class LogEnd(NamedTuple):
    """A log that its runner never sealed, and what is left to seal."""

    handle: str
    whole: tuple[Blob, int, Cut | None]


def unsealed(tx: Tx, *, n: int) -> list[LogEnd]:
    """The unsealed logs of a task whose host was lost; only sealed logs can be removed."""
    keeper, found = artifacts_of(tx), []
    for row in tx.all(sql.logs_of, n=n):
        artifact = keeper.find(tx, row["handle"])
        if artifact.digest is None:
            log = keeper.log(artifact, tx.ws, cap=None)
            found.append(LogEnd(artifact.handle, keeper.finish(log, now_ms=tx.now_ms)))
    return found


def _grow(tx: Tx, req: AppendOutput) -> _Grown | None:
    """Append the bytes to the log; None if the log has not begun yet."""
    data = from_base64("content_b64", req.content_b64)
    process = _running(tx, req)
    refuse_mute(tx, req.runner_id, process.row["host_id"], req.revision)
    handle = log_of(tx, process, req.stream)
    if handle is None:
        return None
    keeper = artifacts_of(tx)
    artifact = keeper.find(tx, handle)
    if artifact.digest is not None:
        return _Grown(artifact.size)
    log = keeper.log(artifact, tx.ws, cap=process.spec.number("artifact_max_bytes"))
    if data and log.size() == req.offset_bytes:
        keeper.expect_more(tx, handle, len(data))
    size = log.extend(req.offset_bytes, data, skip_to=req.skip_to)
    if not req.eof or size != req.offset_bytes + len(data):
        return _Grown(size)
    return _Grown(size, keeper.finish(log, now_ms=tx.now_ms))


@room.command(
    "tool.output_append",
    writes=True,
    idempotent=True,
    example=AppendOutput(
        task_id="PROC-001", runner_id="runner-1", revision=1, stream="stdout", offset_bytes=0
    ),
    profile="audit",
    ahead=_grow,
)
def append_output(tx: Tx, req: AppendOutput, grown: _Grown | None) -> OutputAppended:
    """Store output of a remote host at this offset; the answer says which offset is next."""
    process = _running(tx, req)
    heard(tx, req.runner_id, process.row["host_id"], req.revision)
    handle, keeper = log_of(tx, process, req.stream), artifacts_of(tx)
    if handle is None:
        begun = keeper.begin(
            tx,
            name=f"{process.task_id} {req.stream}",
            owner=process.task_id,
            cap=process.spec.number("artifact_max_bytes"),
            expires_at_ms=tx.now_ms,  # it is held until retention releases it
        )
        tx.run(sql.log_begun, n=process.row["n"], stream=req.stream, handle=begun.handle)
        return OutputAppended(task_id=process.task_id, stream=req.stream, next_offset=0)
    if grown is not None and grown.whole is not None:
        artifact = keeper.seal(tx, handle, *grown.whole)
    else:
        artifact = keeper.find(tx, handle)
    cut = artifact.cut if artifact.digest else None
    return OutputAppended(
        task_id=process.task_id,
        stream=req.stream,
        next_offset=grown.size if grown else 0,
        artifact=artifact.digest,
        bytes_stored=keeper.held(artifact, tx.ws) if artifact.digest else None,
        gap=Gap(start=cut.at, end=cut.end) if cut else None,
    )


def _running(tx: Tx, req: AppendOutput) -> Process:
    process = existing(tx, req.task_id)
    if process.state.ended:
        raise Conflict(
            f"task_id: {req.task_id} has ended and accepts no more output",
            recovery="send the output before the last frame",
            suggest=[Suggestion(TaskStatus(task_id=req.task_id), "see how it ended")],
        )
    return process
