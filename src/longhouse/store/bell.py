"""Runs a function soon after it was requested, on a separate thread.

Callers never wait for it. Requests made while it runs coalesce into one more run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Bell"]


class Bell:
    """Calls `sound` after each `ring`, at the latest before `close` returns."""

    def __init__(self, sound: Callable[[], None]) -> None:
        self._sound = sound
        self._changed = threading.Condition()
        self._wanted = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def ring(self) -> None:
        with self._changed:
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="longhouse-bell", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._closed)
                if not self._wanted:
                    return
                self._wanted = False
            self._sound()
