"""What the terminal of a task shows, kept by the host: the one party that answers its program.

Output never waits for it. It is fed when the host has nothing else to do, and at once when the
program asks something. While a flood goes on it is not fed, and when it is further behind than
`LAG_BYTES` the older half is looked through for settings only: nobody could have read it. Now and
then a screen is left in the task's folder, by turns under two names, so that whoever wants to see
the terminal need not begin at the first byte.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

from longhouse.kernel.private_files import write_private
from longhouse.supervisor import guard
from longhouse.terminals.screen import LAG_BYTES, Screen
from longhouse.terminals.sequences import NOTABLE, QUESTIONS

__all__ = ["Display"]

AT_A_TIME = 4 * 1024
"""Little, since a program can choose what takes long to show, and other tasks wait meanwhile."""
KEEP_EACH = 256 * 1024
FLOOD_BYTES = 128 * 1024
QUIET_S = 0.02
_LONGEST_QUESTION = 64


class Display:
    """The screen of one terminal, as far as it has been fed."""

    def __init__(self, folder: Path, rows: int, cols: int) -> None:
        self._folder = folder
        self._screen = Screen(rows, cols)
        self._size = rows, cols
        self._waiting: deque[tuple[bytes, bool]] = deque()
        """What was not fed yet, and whether there is anything notable in it."""
        self._behind = 0
        self._added_at = 0.0
        self._tail = b""
        self._shown = self._kept_at = 0
        self._kept = 0

    @property
    def wakes_at(self) -> float | None:
        """When it wants to be fed: now, or once a flood is over; None if nothing waits."""
        if not self._waiting:
            return None
        return self._added_at + (QUIET_S if self._behind > FLOOD_BYTES else 0.0)

    @property
    def has_application_keys(self) -> bool:
        self._catch_up()
        return 1 in self._screen.modes

    def add(self, data: bytes) -> bytes:
        """Take note of output; what the program is to be answered, if it asked."""
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
        """From the next byte on it has this size."""
        self._catch_up()
        self._size = rows, cols

    def feed_some(self) -> None:
        """Go on a little, since there is time."""
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
        """What waits longest: whole pieces, a little more than asked for."""
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
        except OSError:  # the disk is full: the bytes are enough to see it all
            return
