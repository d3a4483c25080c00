"""A store whose writer fails at the nth statement, to see what a crash leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from longhouse.house import House

__all__ = ["faults"]


class Crash(Exception):
    """The power went."""


class Faulty:
    """A connection that fails at its nth statement, the commit included; it counts them."""

    def __init__(self, inner: Any, fail_at: int | None) -> None:
        self.inner = inner
        self.fail_at = fail_at
        self.count = 0
        self.commits = 0

    def _next(self) -> None:
        self.count += 1
        if self.count == self.fail_at:
            raise Crash

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self.inner, name)
        if name not in ("rows", "run", "many", "commit"):
            return inner

        def call(*args: Any, **more: Any) -> Any:
            self._next()
            self.commits += name == "commit"
            return inner(*args, **more)

        return call


@contextmanager
def faults(house: House, fail_at: int | None) -> Iterator[list[Faulty]]:
    """Let the writer fail at its nth statement."""
    engine = house.db.engine
    writer: Callable[..., Any] = engine.writer
    made: list[Faulty] = []

    @contextmanager
    def failing(lane: str) -> Iterator[Faulty]:
        with writer(lane) as connection:
            made.append(Faulty(connection, fail_at))
            yield made[-1]

    engine.writer = failing  # type: ignore[method-assign]
    try:
        yield made
    finally:
        engine.writer = writer  # type: ignore[method-assign]
