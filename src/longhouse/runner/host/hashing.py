"""A thread for all tasks of a host that hashes much output beside the host's loop.

To hash takes about as long as a fast program takes to write. The loop would answer nobody
meanwhile, and give no room back. The thread begins with the first log that grows fast.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

__all__ = ["AT_A_TIME", "Hasher"]

AT_A_TIME: Final = 1 << 20
"""Small enough to be hashed while it is in the processor's cache."""

Work = Callable[[memoryview], bool]
"""Hashes some, by way of the buffer; True when there is more to hash."""


class Hasher:
    """Takes turns with all work that was added; `ready` can be read when one is through."""

    def __init__(self) -> None:
        self.ready, self._told = os.pipe()
        os.set_blocking(self._told, False)
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> None:
        """Have this done; work that raises is given up."""
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
            except Exception:  # a defect met in one log must not end the work on the others
                traceback.print_exc()
                more = False
            if more:
                self._waiting.put(work)
                continue
            try:
                os.write(self._told, b"!")
            except BlockingIOError:
                continue  # the loop has been told often enough
