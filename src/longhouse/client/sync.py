"""The blocking client: call it with a request; it returns the result or raises the error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar, Unpack

from longhouse.client.doors import Door
from longhouse.client.typed import CallOptions, call_of, result_of, row_of
from longhouse.kernel.values import Request, Result
from longhouse.store.tx import LogRow

__all__ = ["Client"]

R = TypeVar("R", bound=Result)


class Client:
    """A client of one store, through its server or opened here; safe to share between threads."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def __call__(self, request: Request[R], /, **options: Unpack[CallOptions]) -> R:
        """Run the command that this request belongs to, and return its result."""
        cmd, args = call_of(request, options)
        return result_of(request, self._door.call(cmd, args).result())

    def call(self, cmd: str, args: dict[str, Any] | None = None) -> dict[str, Any] | str:
        """The whole envelope, even of a refusal; with `fmt=lines`, the text."""
        outcome = self._door.call(cmd, dict(args or {}))
        return outcome.text if outcome.envelope is None else outcome.envelope

    def events(
        self,
        after: int = 0,
        *,
        streams: Sequence[str] = (),
        follow: bool = False,
        workspace: str | None = None,
    ) -> Iterator[LogRow]:
        """The log after a seq, oldest first; with `follow` it waits for new rows."""
        rows = self._door.events(after, streams=tuple(streams), follow=follow, workspace=workspace)
        return map(row_of, rows)

    def close(self) -> None:
        self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
