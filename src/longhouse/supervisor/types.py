"""What is known of a child once it and everything below it have ended."""

from __future__ import annotations

from typing import NamedTuple

from longhouse.supervisor.capture import StreamCapture

__all__ = ["Ended"]


class Ended(NamedTuple):
    """How a child ended.

    `why` is one of
      exit       by itself; `code` or `signal` says how
      unstarted  there is no such program, or it may not run; `error` says why
      lease      nobody renewed its lease in time
      signal     somebody sent a signal to its guard
      lost       its guard was killed
    or the word that `Child.end` was given (`slice` when `Child.wait` ran out of time).
    """

    why: str
    code: int | None
    signal: int | None
    stdout: StreamCapture
    stderr: StreamCapture
    seconds: float
    killed: int = 0
    """How many processes did not heed TERM and had to be killed."""
    left: tuple[int, ...] = ()
    """The pids of those that were there even after KILL."""
    error: str | None = None
