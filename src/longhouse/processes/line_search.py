"""Searches growing output for a line; each search continues where the last one stopped.

The position is only a cache: without it, a search starts at the first byte and finds the same line.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from longhouse.kernel.tool_tasks import Stream
from longhouse.processes.output import StreamOutput, read_with
from longhouse.processes.records import Process
from longhouse.store.artifacts.masking import masked
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["LineSearches"]

BLOCK: Final = 1 << 18
_MOST_LINE: Final = 4_096
_REMEMBERED: Final = 256


class _Search(NamedTuple):
    """A pattern to search for in one stream: parts that follow each other in a line."""

    workspace: str
    task_id: str
    stream: Stream
    pattern: str


class LineSearches:
    """Remembers how far each search got; the least recently used are forgotten."""

    def __init__(self) -> None:
        self._begun: dict[_Search, int] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_house(cls, _house: HouseFacts) -> LineSearches:
        return cls()

    def first_line(
        self, tx: Tx, process: Process, stream: Stream, pattern: str
    ) -> tuple[str, int] | None:
        """The first matching line, with secrets masked, and its offset."""
        search = _Search(tx.workspace, process.task_id, stream, pattern)
        return read_with(tx, process, stream, partial(self._look, search))

    def _look(self, search: _Search, output: StreamOutput) -> tuple[str, int] | None:
        words = [part.encode() for part in search.pattern.split("*") if part]
        longest = max(words, key=len, default=b"")
        at, begun = self._begun.get(search, 0), b""
        if at > output.view.size:
            at = 0  # the program truncated its own output
        while (piece := output.view.read(at, BLOCK)).data:
            begun = begun if not piece.skipped else b""
            data, offset = begun + piece.data, piece.offset - len(begun)
            begun = data[data.rfind(b"\n") + 1 :][-_MOST_LINE:]
            at = piece.next_offset
            told = at - len(begun)
            if longest in data:
                window = piece._replace(data=data, offset=offset)
                shown, _ = masked(output.view, window, growing=output.growing)
                for line in shown.data.split(b"\n"):
                    if _matches(line, words):
                        return line[:_MOST_LINE].decode("utf-8", "replace"), offset
                    held, offset = offset, offset + len(line) + 1
                told = min(told, held)
            self._remember(search, told)
        return None

    def _remember(self, search: _Search, offset: int) -> None:
        with self._lock:
            self._begun.pop(search, None)
            while len(self._begun) >= _REMEMBERED:
                del self._begun[next(iter(self._begun))]
            self._begun[search] = offset


def _matches(line: bytes, words: list[bytes]) -> bool:
    """Whether the words follow each other in the line; linear in the length of the line."""
    at = 0
    for word in words:
        at = line.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True
