"""One thread that hashes large amounts of output for all tasks, outside the host's loop.

Hashing takes about as long as a fast program takes to write. In the loop it would delay answers and
the freeing of disk space. The thread starts with the first log that grows fast.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from longhouse.runner.host.trouble import tell_defect

__all__ = ["AT_A_TIME", "Hasher"]

AT_A_TIME: Final = 1 << 20
"""Small enough to stay in the processor's cache while it is hashed."""

Work = Callable[[memoryview], bool]
"""Hashes some data using the buffer; returns True if there is more to hash."""


class Hasher:
    """Does all added work in turns; `ready` becomes readable when one piece is finished."""

    def __init__(self) -> None:
        self.ready, self._told = os.pipe()
        os.set_blocking(self._told, False)
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> None:
        """Add work; work that raises is dropped."""
        self._waiting.put(work)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hasher", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        buffer = memoryview(bytearray(AT_A_TIME))
        while True:
            work = self._waiting.get()
            try:
                more = work(buffer)
            except Exception:  # a defect hit by one log must not stop the others
                tell_defect("in hashing")
                more = False
            if more:
                self._waiting.put(work)
                continue
            try:
                os.write(self._told, b"!")
            except BlockingIOError:
                continue  # the pipe is full: the loop will wake up anyway
