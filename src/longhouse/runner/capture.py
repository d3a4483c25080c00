"""What a child prints, bounded: the beginning and the end are kept, the middle is counted."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Capture"]

HEAD_BYTES = 256 * 1024
TAIL_BYTES = 512 * 1024


class Capture:
    """Takes any amount of bytes and keeps at most `head + tail` of them."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self.total = 0
        self._head_most = head
        self._tail_most = tail
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_most - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._tail_most:
            del self._tail[: -self._tail_most]

    @property
    def omitted(self) -> int:
        return self.total - len(self._head) - len(self._kept_tail)

    def text(self) -> str:
        """All that was kept, with a line where something was left out."""
        gap = f"\n[{self.omitted} bytes left out]\n".encode() if self.omitted else b""
        return (bytes(self._head) + gap + self._kept_tail).decode("utf-8", "replace")

    def lines(self) -> Iterator[str]:
        """The whole lines that were kept, in order; those that the gap cut are left out."""
        head, tail = bytes(self._head), self._kept_tail
        if self.omitted:
            head, tail = head.rpartition(b"\n")[0], tail.partition(b"\n")[2]
            yield from _lines(head)
            yield from _lines(tail)
        else:
            yield from _lines(head + tail)

    def last(self, chars: int) -> str:
        """The end of it, as one reads it in an error message."""
        end = (bytes(self._head) + self._kept_tail)[-4 * chars :].decode("utf-8", "replace").strip()
        return end if len(end) <= chars else "…" + end[-chars + 1 :]

    @property
    def _kept_tail(self) -> bytes:
        return bytes(self._tail[-self._tail_most :]) if self._tail else b""


def _lines(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        if line.strip():
            yield line.decode("utf-8", "replace")
