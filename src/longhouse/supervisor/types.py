"""How a child ended, once it and all its descendants are gone."""

from __future__ import annotations

from typing import NamedTuple

from longhouse.supervisor.capture import StreamCapture

__all__ = ["Ended"]


class Ended(NamedTuple):
    """How a child ended.

    `why` is one of
      exit       on its own; `code` or `signal` says how
      unstarted  there is no such program, or it may not be executed; `error` says why
      lease      its lease was not renewed in time
      signal     its guard received a signal
      lost       its guard was killed
    or the word passed to `Child.end` (`slice` if `Child.wait` ran out of time).
    """

    why: str
    code: int | None
    signal: int | None
    stdout: StreamCapture
    stderr: StreamCapture
    seconds: float
    killed: int = 0
    """How many processes ignored TERM and had to be killed."""
    left: tuple[int, ...] = ()
    """The pids of processes that survived KILL."""
    error: str | None = None
