"""A task's output as bytes by stream offset, wherever they are stored.

If the host's folder is on this machine, that is the file the program writes; otherwise it is the
artifact its runner sends to, growing or sealed. Symbolic links are never followed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import InvalidInput, StoreBusy, Suggestion, UnknownId
from longhouse.kernel.tool_tasks import STREAMS, Stream, task_folder
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.keeping import log_of
from longhouse.processes.records import Process
from longhouse.processes.types.output import StreamEvents
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.disk import Dir, disk_errors
from longhouse.store.artifacts.growing import Gap, steady
from longhouse.store.artifacts.types import Artifact
from longhouse.store.artifacts.view import ArtifactView
from longhouse.store.tx import Tx

__all__ = [
    "OutputRemoved",
    "ProcessOutputLost",
    "StreamOutput",
    "file_of",
    "kept_of",
    "output_of",
    "read_with",
]

ReadT = TypeVar("ReadT")
_TRIES: Final = 3


class OutputRemoved(UnknownId):
    """The output existed, but retention has removed it."""

    code = "OUTPUT_REMOVED"
    status = 410


class ProcessOutputLost(UnknownId):
    """The output existed, but its bytes are not here; repeating the call does not help."""

    code = "OUTPUT_LOST"
    status = 410


class StreamOutput(NamedTuple):
    """One stream: its bytes, and whether more may come.

    `claimed` if only the seal that a host reported says that these are the task's bytes.
    """

    stream: Stream
    view: ArtifactView
    growing: bool
    claimed: bool = False


def read_with(
    tx: Tx, process: Process, asked: Stream | None, read: Callable[[StreamOutput], ReadT]
) -> ReadT:
    """The result of `read` on a stream; retried if the cap removed bytes that it was reading.

    Each try sees the wider gap; after three, StoreBusy is raised.
    """
    for _ in range(_TRIES - 1):
        with suppress(StoreBusy):
            return read(output_of(tx, process, asked))
    return read(output_of(tx, process, asked))


def output_of(tx: Tx, process: Process, asked: Stream | None) -> StreamOutput:
    """The part of a stream that can be read now."""
    stream = _chosen(process, asked)
    known = process.state.streams[stream]
    seal = known.seal
    growing = not process.state.ended
    view = file_of(tx, process, stream, seal.bytes_total if seal else None)
    if view is not None:
        return StreamOutput(stream, view, growing)
    keeper = artifacts_of(tx)
    artifact = kept_of(tx, process, stream)
    if artifact is not None and seal is not None:
        claimed = process.row["host_id"] is not None and not _is_own(tx, process, stream, artifact)
        stored = keeper.view(artifact, tx.ws)
        if seal.gap is None or stored.gap is not None:
            return StreamOutput(stream, stored, growing, claimed)
        gap = Gap(seal.gap.start, seal.gap.end - seal.gap.start, 0)
        return StreamOutput(
            stream,
            ArtifactView(
                lambda at, n: stored.read(at, n).data, seal.bytes_total, gap, counted=False
            ),
            growing,
            claimed,
        )
    if artifact is not None:
        return StreamOutput(stream, keeper.view(artifact, tx.ws), growing)
    if known.bytes and process.row["removed_at_ms"] is not None:
        raise _removed(process, stream)
    if known.bytes:
        raise ProcessOutputLost(
            f"the output of {process.task_id} is not on this machine",
            recovery="read its frames with tool.task_stream_events, or read it on the machine "
            "that ran it",
            suggest=[Suggestion(StreamEvents(task_id=process.task_id), "read its frames")],
        )
    return StreamOutput(stream, ArtifactView(lambda _at, _n: b"", 0), growing)


def _is_own(tx: Tx, process: Process, stream: Stream, artifact: Artifact) -> bool:
    """Whether the host itself sent these bytes, through `tool.output_append`."""
    own = _stored(tx, log_of(tx, process, stream))
    return own is not None and own.digest == artifact.digest


def kept_of(tx: Tx, process: Process, stream: Stream) -> Artifact | None:
    """The artifact that holds a stream, if one does."""
    seal = process.state.streams[stream].seal
    named = (seal.artifact, seal.stored_sha256) if seal else ()
    for wanted in (*named, log_of(tx, process, stream)):
        if artifact := _stored(tx, wanted):
            return artifact
    return None


def _stored(tx: Tx, wanted: str | None) -> Artifact | None:
    """The artifact with this digest or handle, if there is one."""
    with suppress(UnknownId):
        return artifacts_of(tx).find(tx, wanted) if wanted else None
    return None


def _removed(process: Process, stream: Stream) -> OutputRemoved:
    row, seal = process.row, process.state.streams[stream].seal
    digest = f"; its sha256 was {seal.sha256}" if seal and seal.sha256 else ""
    return OutputRemoved(
        f"the {stream} of {process.task_id} was removed on {rfc3339(row['removed_at_ms'])[:10]} "
        f"by {row['removed_why']}{digest}",
        recovery="its frames still hold its beginning; next time, keep it with tool.output_store",
        suggest=[Suggestion(StreamEvents(task_id=process.task_id), "read its frames")],
    )


def _chosen(process: Process, asked: Stream | None) -> Stream:
    """The requested stream, or the default; a stream the mode does not have is refused."""
    has = STREAMS[process.state.mode]
    if asked is None:
        return has[0]
    if asked not in has:
        raise InvalidInput(
            f"stream: a {process.state.mode} task has no {asked}; fix: stream={has[0]}",
            recovery=f"use one of {', '.join(has)}",
        )
    return asked


def file_of(tx: Tx, process: Process, stream: Stream, sealed: int | None) -> ArtifactView | None:
    """The file the program writes; once sealed, only up to the seal."""
    folder = task_folder(tx.facts.of(ProcessFacts).store, tx.workspace, process.task_id)
    with disk_errors(f"the output of {process.task_id}"), suppress(FileNotFoundError):
        hosts = Dir(os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        inside = hosts.sub(folder.name, make=False)
        file = inside.open(f"{stream}.log")
        size = file.size() if sealed is None else min(file.size(), sealed)
        gap = _gap(inside, stream)
        pread = steady(file, gap, lambda: _gap(inside, stream))
        return ArtifactView(pread, size, gap, compact=False, counted=False)
    return None


def _gap(folder: Dir, stream: str) -> Gap | None:
    """The gap that the host punched out of a log: two offsets, recorded before the hole."""
    try:
        file = folder.open(f"{stream}.gap")
    except FileNotFoundError:
        return None
    words = os.pread(file.fd, 64, 0).split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return None
    start, end = map(int, words)
    return Gap(start, end - start, 0) if end > start else None
