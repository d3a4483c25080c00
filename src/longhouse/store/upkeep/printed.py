"""What processes printed, as backups and exports store it: bytes, a gap, and a digest.

The processes room lists and receives output (`OUTPUTS`); nothing here knows where it keeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, Final, NamedTuple, Protocol

from longhouse.kernel.errors import LonghouseError, StoreBusy
from longhouse.kernel.registry import Registry
from longhouse.kernel.values import Value
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.keeper import Artifacts
from longhouse.store.artifacts.view import ArtifactView
from longhouse.store.tx import Tx

__all__ = ["OUTPUTS", "Printed", "PrintedStreams", "SavedOutput", "outputs_of", "save"]

OUTPUTS: Final = "upkeep.outputs"
"""Provided by the processes room: a `PrintedStreams`."""
_CHUNK: Final = 1 << 20
_TRIES: Final = 3


class Printed(NamedTuple):
    """One stream of one task: its bytes if they are here, and why it is left out, if it is."""

    task: str
    stream: str
    view: ArtifactView | None
    digest: str | None
    left_out: str | None


class SavedOutput(Value, frozen=True, kw_only=True):
    """One stream as it was saved. `missing` says why its bytes are not there."""

    task: str
    stream: str
    bytes: int = 0
    stored: int = 0
    gap_at: int | None = None
    gap_bytes: int = 0
    sha256: str = ""
    missing: str | None = None
    damaged: bool = False
    """The bytes differ from the digest that the process's last frame names."""


class PrintedStreams(Protocol):
    """What the processes room does for upkeep."""

    def listed(self, tx: Tx, most: int | None) -> Iterator[Printed]: ...

    def receive(
        self, tx: Tx, keeper: Artifacts, saved: Sequence[tuple[SavedOutput, Blob]]
    ) -> None: ...

    def missing(self, tx: Tx, task: str, why: str) -> None: ...


def outputs_of(registry: Registry) -> PrintedStreams | None:
    made = registry.provided.get(OUTPUTS)
    return None if made is None else made()


def save(one: Printed, file: BinaryIO) -> SavedOutput:
    """Copy a stream's stored bytes to `file`, again if its cap cut out what was being read."""
    if one.left_out is not None:
        return SavedOutput(task=one.task, stream=one.stream, missing=one.left_out)
    if one.view is None:
        return SavedOutput(task=one.task, stream=one.stream, missing="it was not on this machine")
    for _ in range(_TRIES - 1):
        with suppress(StoreBusy):
            return _copied(one, one.view, file)
        file.seek(0)
        file.truncate()
    try:
        return _copied(one, one.view, file)
    except LonghouseError as error:
        file.seek(0)
        file.truncate()
        return SavedOutput(task=one.task, stream=one.stream, missing=error.message)


def _copied(one: Printed, view: ArtifactView, file: BinaryIO) -> SavedOutput:
    hashed, at, stored = hashlib.sha256(), 0, 0
    while data := (piece := view.read(at, _CHUNK)).data:
        file.write(data)
        hashed.update(data)
        at, stored = piece.next_offset, stored + len(data)
    digest = hashed.hexdigest()
    return SavedOutput(
        task=one.task,
        stream=one.stream,
        bytes=view.size,
        stored=stored,
        gap_at=view.gap.at if view.gap else None,
        gap_bytes=view.gap.bytes if view.gap else 0,
        sha256=digest,
        damaged=one.digest is not None and digest != one.digest,
    )
