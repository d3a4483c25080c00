"""Cuts a program's output into frames of text of at most 8 KiB each.

No character and no secret is split. A possible secret at the end is held back until it is clear
whether it is one; a secret too long for a frame is sent as a reference. Frames are independent, so
a runner that takes over needs only the offset.

In a terminal, a person waits for the echo of each letter, and many letters could begin a secret. So
there the first letters of a possible secret are sent, and only the rest is held back.
"""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.kernel.disguise import views
from longhouse.kernel.private_files import open_private
from longhouse.kernel.redact import is_suspect, mask
from longhouse.kernel.secret_shapes import (
    LONGEST,
    SHAPES,
    Span,
    open_from,
    secret_spans,
    shut_until,
)
from longhouse.kernel.tool_tasks import DELTA_BYTES, DELTAS, Stream
from longhouse.runner.host.logs import gap_of

__all__ = ["LogReader", "OutputDelta", "next_delta"]

WINDOW = LONGEST + DELTA_BYTES
_NEAR = 256
TAIL = 2_048
"""How much of the end is checked if nothing in a window looks like part of a secret."""


class OutputDelta(NamedTuple):
    """`size` bytes at an offset, with their text; without text it is a reference."""

    stream: Stream
    offset: int
    size: int
    chunk: str | None = None

    def frame(self) -> dict[str, Any]:
        said = {"type": DELTAS[self.stream], "offset_bytes": self.offset, "bytes": self.size}
        if self.chunk is None:
            return said
        if "\0" in self.chunk:  # no call takes a NUL in a text
            return {**said, "chunk_b64": b64encode(self.chunk.encode()).decode()}
        return {**said, "chunk": self.chunk}


class Kept(NamedTuple):
    """Bytes of a log, and the end of the gap that follows them, if there is one."""

    data: bytes
    gap_to: int
    after_gap: bool = False


class LogReader:
    """One log of a task, read while it grows."""

    def __init__(self, folder: Path, stream: Stream) -> None:
        self.stream = stream
        self._folder = folder
        self._fd = open_private(folder / f"{stream}.log", os.O_RDONLY)

    @property
    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, offset: int, stop: int) -> Kept:
        """The stored bytes in that range, up to the start of a gap."""
        data = os.pread(self._fd, stop - offset, offset)
        gap = gap_of(self._folder, self.stream)  # read last: a gap is noted before it is made
        if gap is None or gap[1] <= offset or gap[0] >= offset + len(data):
            return Kept(data, offset, after_gap=gap is not None and gap[1] == offset)
        return Kept(data[: max(0, gap[0] - offset)], gap[1])

    def told(self, offset: int) -> str:
        """The last bytes before `offset`, in which a secret may have begun."""
        start = max(0, offset - _NEAR)
        data, gap_to, _ = self.read(start, offset)
        return data.decode("latin-1") if gap_to == start else ""

    def close(self) -> None:
        """Close the file, once: its number may already be another thread's."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def next_delta(
    log: LogReader, offset: int, stop: int, *, last: bool, inline: int
) -> OutputDelta | None:
    """The next frame's worth of output between two offsets; None if it must be held back.

    `inline` is how many bytes may still be sent as text; `last` says that nothing follows `stop`.
    """
    if offset >= stop:
        return None
    if inline <= 0:
        return OutputDelta(log.stream, offset, stop - offset)
    delta = _text(log, offset, stop, DELTA_BYTES, last=last, inline=inline)
    if delta is None and stop - offset > DELTA_BYTES:  # a secret may be longer than a frame
        return _text(log, offset, stop, WINDOW, last=last, inline=inline)
    return delta


def _text(
    log: LogReader, offset: int, stop: int, window: int, *, last: bool, inline: int
) -> OutputDelta | None:
    data, gap_to, after_gap = log.read(offset, min(stop, offset + window))
    if not data:
        return OutputDelta(log.stream, offset, max(min(gap_to, stop) - offset, 1))
    text = data.decode("latin-1")
    echoes = log.stream == "pty"
    told = "" if after_gap or not echoes else log.told(offset)
    suspect = is_suspect(told.encode("latin-1") + data)
    whole = (last and offset + len(data) == stop) or gap_to > offset
    safe = len(data)
    if not whole:
        most = LONGEST if suspect else TAIL
        safe = max(0, _open_from(told + text, most, letters=not echoes) - len(told))
    spans = secret_spans(told + text) if suspect else []
    secrets = [(max(0, a - len(told)), b - len(told)) for a, b in spans if b > len(told)]
    if after_gap:  # the missing bytes may have held the start of a secret
        if window < WINDOW:
            return _text(log, offset, stop, WINDOW, last=last, inline=inline)
        shut = shut_until(text)
        if shut == len(data) < LONGEST and not whole:
            return None
        secrets = [(0, shut), *secrets] if shut else secrets
    if gap_to > offset:  # or the end of one
        secrets = [*secrets, (_open_from(text, LONGEST, letters=True), len(data))]
    size = _cut(data, min(safe, inline, DELTA_BYTES), secrets, whole=whole)
    if size:
        shown = mask(data, secrets)[:size].decode("utf-8", "replace")
        return OutputDelta(log.stream, offset, size, shown)
    if secrets and secrets[0][0] == 0 and secrets[0][1] <= safe:
        return OutputDelta(log.stream, offset, secrets[0][1])  # longer than a frame
    if len(data) >= LONGEST:
        return OutputDelta(log.stream, offset, LONGEST)
    if inline < safe:  # no character fits into what is left of the budget
        return OutputDelta(log.stream, offset, safe)
    return None


def _open_from(text: str, most: int, *, letters: bool) -> int:
    """Where a possible secret at the end begins; with `letters`, even a single letter of one."""
    before = max(0, len(text) - most)
    held = before + open_from(text[before:])
    if not letters:
        return held
    held = min(held, len(text) - _begun_letters(text[-_LONGEST_LITERAL:]))
    near = text[-_NEAR:]
    for view in views(near):
        if begun := _begun_letters(view.text[-_LONGEST_LITERAL:]):
            size = len(view.text)
            held = min(held, len(text) - len(near) + view.back(size - begun, size)[0])
    return held


def _begun_letters(end: str) -> int:
    """How many letters at the end may begin a secret."""
    for at in range(len(end)):
        rest = end[at:]
        if rest in _BEGINNINGS or rest.lower() in _FOLDED_BEGINNINGS:
            return len(rest)
    return 0


_LONGEST_LITERAL = max(len(literal) for shape in SHAPES for literal in shape.literals) - 1
_BEGINNINGS, _FOLDED_BEGINNINGS = (
    {
        literal[:size]
        for shape in SHAPES
        if shape.folded == folded
        for literal in shape.literals
        for size in range(1, len(literal))
    }
    for folded in (False, True)
)


def _cut(data: bytes, size: int, secrets: list[Span], *, whole: bool) -> int:
    """`size` or a little less, so that the cut is not inside a secret or a character."""
    for start, stop in secrets:
        if start < size < stop:
            size = start
    return size if whole and size == len(data) else _between_characters(data, size)


def _between_characters(data: bytes, size: int) -> int:
    """Move back before an incomplete UTF-8 character; other bytes are left alone."""
    for back in range(1, min(4, size + 1)):
        lead = data[size - back]
        if lead & 0xC0 == 0x80:
            continue
        needs = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
        return size - back if lead < 0xF8 and needs > back else size
    return size
