"""One call that is made while its caller does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Ahead"]

T = TypeVar("T")


class Ahead(Generic[T]):
    """Starts the call at once; `result` waits for it, and returns or raises what it did."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._made: list[T] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="a call ahead", daemon=True)
        self._thread.start()

    def result(self) -> T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._made[0]

    def _run(self) -> None:
        try:
            self._made.append(self._call())
        except Exception as error:  # it belongs to whoever asks for the result
            self._error = error
