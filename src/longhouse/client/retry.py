"""The retry policy of every client: when a call is repeated, and the error if it gives up.

A call is repeated if that is safe: it never arrived, it only reads, it carries an idempotency key,
or the server was too busy to accept it.
"""

from __future__ import annotations

import time

from longhouse.kernel.errors import LonghouseError, OutcomeUnknown, TooManyRequests, Unreachable

__all__ = ["Retry", "outcome_unknown"]

FIRST_S = 0.02
LONGEST_S = 0.5


class Retry:
    """The tries of one call, with pauses that double up to a limit."""

    def __init__(
        self,
        what: str,
        *,
        writes: bool = False,
        key: str | None = None,
        patience_s: float | None = None,
        longest_s: float = LONGEST_S,
    ) -> None:
        """Without `patience_s` it never gives up."""
        self._what = what
        self._writes = writes
        self._key = key
        self._ends = None if patience_s is None else time.monotonic() + patience_s
        self._longest_s = longest_s
        self._pause_s = FIRST_S
        self._lost = False

    def pause(self, trouble: LonghouseError, *, after_s: float = 0.0) -> float:
        """Seconds until the next try; raises the caller's error if there is none."""
        if isinstance(trouble, Unreachable):
            self._lost = self._lost or trouble.sent
            harmless = not trouble.sent or not self._writes or self._key is not None
        else:
            harmless = isinstance(trouble, TooManyRequests) or (
                trouble.retryable and (not self._writes or self._key is not None)
            )
        self._pause_s = min(self._pause_s * 2, self._longest_s)
        wait_s = max(self._pause_s, after_s)
        late = self._ends is not None and time.monotonic() + wait_s > self._ends
        if not harmless or late:
            raise self.given_up(trouble)
        return wait_s

    def given_up(self, trouble: LonghouseError) -> LonghouseError:
        """The last error, or OUTCOME_UNKNOWN for a write that may have been done."""
        if self._writes and self._lost and isinstance(trouble, Unreachable):
            return outcome_unknown(self._what, self._key)
        return trouble


def outcome_unknown(what: str, key: str | None) -> OutcomeUnknown:
    """The error for a write whose answer stayed lost."""
    message = f"no answer arrived: it is unknown whether {what or 'the call'} was done"
    return OutcomeUnknown(message, key=key)
