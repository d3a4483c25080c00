"""The screen of a task's terminal, maintained by the host, which alone answers its program.

Output never waits for it. It is fed when the host is otherwise idle, and at once when the program
queries the terminal. During a flood it is not fed, and when it lags more than `LAG_BYTES` behind,
the older half is only scanned for settings: no one could have read it. From time to time a screen
is saved in the task's folder, alternating between two names, so that a reader need not emulate the
terminal from the first byte.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

from longhouse.kernel.private_files import write_private
from longhouse.supervisor import guard
from longhouse.terminals import LAG_BYTES, NOTABLE, QUESTIONS, Screen

__all__ = ["Display"]

AT_A_TIME = 4 * 1024
"""Small, since a program can print what is slow to emulate, and other tasks wait meanwhile."""
KEEP_EACH = 256 * 1024
FLOOD_BYTES = 128 * 1024
QUIET_S = 0.02
_LONGEST_QUESTION = 64


class Display:
    """The screen of one terminal, up to the bytes it has been fed."""

    def __init__(self, folder: Path, rows: int, cols: int) -> None:
        self._folder = folder
        self._screen = Screen(rows, cols)
        self._size = rows, cols
        self._waiting: deque[tuple[bytes, bool]] = deque()
        """Chunks not fed yet, and whether each contains anything notable."""
        self._behind = 0
        self._added_at = 0.0
        self._tail = b""
        self._shown = self._kept_at = 0
        self._kept = 0

    @property
    def wakes_at(self) -> float | None:
        """When to feed it next: now, or once a flood is over; None if nothing is waiting."""
        if not self._waiting:
            return None
        return self._added_at + (QUIET_S if self._behind > FLOOD_BYTES else 0.0)

    @property
    def has_application_keys(self) -> bool:
        self._catch_up()
        return 1 in self._screen.modes

    def add(self, data: bytes) -> bytes:
        """Queue output; returns the reply if the program queried its terminal."""
        self._added_at = guard.now()
        recent = self._tail + data
        self._tail = recent[-_LONGEST_QUESTION:]
        notable = b"\x1b" in recent and NOTABLE.search(recent) is not None
        asks = notable and QUESTIONS.search(recent) is not None
        if asks and self._behind > FLOOD_BYTES:
            self._skim(FLOOD_BYTES // 2)
        for at in range(0, len(data), AT_A_TIME):
            self._waiting.append((data[at : at + AT_A_TIME], notable))
        self._behind += len(data)
        if asks:
            self._catch_up()
            return self._screen.replies()
        if self._behind > LAG_BYTES:
            self._skim(LAG_BYTES // 2)
        return b""

    def resize(self, rows: int, cols: int) -> None:
        """Use this size from the next byte on."""
        self._catch_up()
        self._size = rows, cols

    def feed_some(self) -> None:
        """Process one chunk, when there is time."""
        self._feed(AT_A_TIME)
        if not self._waiting and self._shown - self._kept_at >= KEEP_EACH:
            self._keep()

    def _catch_up(self) -> None:
        while self._waiting:
            self._feed(AT_A_TIME)

    def _feed(self, most: int) -> None:
        self._screen.resize(*self._size)
        self._screen.feed(b"".join(data for data, _ in self._take(most)))

    def _skim(self, leave: int) -> None:
        self._screen.resize(*self._size)
        taken = self._take(self._behind - leave)
        self._screen.skim(b"".join(data for data, notable in taken if notable))

    def _take(self, most: int) -> list[tuple[bytes, bool]]:
        """The oldest chunks, whole, so possibly a little more than `most`."""
        parts, size = [], 0
        while self._waiting and size < most:
            parts.append(self._waiting.popleft())
            size += len(parts[-1][0])
        self._behind -= size
        self._shown += size
        return parts

    def _keep(self) -> None:
        about = {"offset": self._shown, "rows": self._screen.rows, "cols": self._screen.cols}
        data = json.dumps(about).encode() + b"\n" + self._screen.snapshot()
        self._kept = 1 - self._kept
        self._kept_at = self._shown
        try:
            write_private(self._folder / f"pty.{self._kept}.screen", data)
        except OSError:  # the disk is full: readers can still emulate the log from the start
            return
