"""Captures a child's output in bounded memory: keeps the beginning and end, counts the middle.

With a file to write to, the whole output is kept there as well, up to a limit. Secrets are masked
where the output is cut, since half a token could not be recognized later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from longhouse.kernel.redact import mask
from longhouse.kernel.secret_shapes import LONGEST, open_from, shut_until

if TYPE_CHECKING:
    from io import FileIO

__all__ = ["StreamCapture"]

HEAD_BYTES = 256 * 1024
TAIL_BYTES = 512 * 1024


class StreamCapture:
    """Accepts any number of bytes and keeps at most `head + tail` of them in memory."""

    def __init__(
        self,
        head: int = HEAD_BYTES,
        tail: int = TAIL_BYTES,
        *,
        file: FileIO | None = None,
        most: int = 0,
    ) -> None:
        self.total = 0
        self.whole = file
        """The file with the whole output; None once `trouble` says why there is none."""
        self.trouble: str | None = None
        self._most = most
        self._head_most = head
        self._tail_most = tail
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        if self.whole is not None:
            self._keep(self.whole, data)
        room = self._head_most - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._tail_most:
            del self._tail[: -self._tail_most]

    def _keep(self, file: FileIO, data: bytes) -> None:
        """Write to the file; if that fails, drop the file, since a partial one is of no use."""
        try:
            if self.total > self._most:
                raise OSError(0, f"the output is over {self._most} bytes")
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            self.trouble = error.strerror
            self.whole = None
            with suppress(OSError):
                file.truncate(0)

    @property
    def omitted(self) -> int:
        return self.total - len(self._head) - len(self._kept_tail)

    def text(self) -> str:
        """Everything that was kept, with a line where something was left out."""
        head, tail = bytes(self._head), self._kept_tail
        if self.omitted:
            begun = open_from(head.decode("latin-1"))
            rest = shut_until(tail[:LONGEST].decode("latin-1"))
            head = mask(head, [(begun, len(head))])
            tail = f"\n[{self.omitted} bytes left out]\n".encode() + mask(tail, [(0, rest)])
        return (head + tail).decode("utf-8", "replace")

    def lines(self) -> Iterator[str]:
        """The complete lines that were kept, in order, without those cut by the gap."""
        head, tail = bytes(self._head), self._kept_tail
        if self.omitted:
            head, tail = head.rpartition(b"\n")[0], tail.partition(b"\n")[2]
            yield from _lines(head)
            yield from _lines(tail)
        else:
            yield from _lines(head + tail)

    def last(self, chars: int) -> str:
        """The end of the output, for quoting in an error message."""
        kept = (bytes(self._head) + self._kept_tail)[-4 * chars - LONGEST :]
        end = mask(kept)[-4 * chars :].decode("utf-8", "replace").strip()
        return end if len(end) <= chars else "…" + end[-chars + 1 :]

    @property
    def _kept_tail(self) -> bytes:
        return bytes(self._tail[-self._tail_most :]) if self._tail else b""


def _lines(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        if line.strip():
            yield line.decode("utf-8", "replace")
