"""Wake-ups: after a commit, whoever waits for a workspace looks at the log again.

A wake-up carries no data and may be late or doubled; the log is the truth, so nothing can be lost
between the two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["Wakeups"]

Listener = Callable[[str, int], None]


class Wakeups:
    """Tells listeners and waiting threads which workspace moved and how far."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._seqs: dict[str, int] = {}
        self._listeners: tuple[Listener, ...] = ()

    def publish(self, workspace: str, seq: int) -> None:
        """A commit brought the workspace to `seq`; any thread may say so, more than once."""
        with self._moved:
            if seq <= self._seqs.get(workspace, 0):
                return
            self._seqs[workspace] = seq
            self._moved.notify_all()
            listeners = self._listeners
        for listener in listeners:
            listener(workspace, seq)

    def wait(self, workspace: str, after: int, timeout_s: float) -> bool:
        """Block until the workspace is past `after`; False when the time ran out."""
        with self._moved:
            return self._moved.wait_for(
                lambda: self._seqs.get(workspace, 0) > after, timeout=timeout_s
            )

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(workspace, seq)` on each move, in the committing thread: be quick.

        The result ends it.
        """
        with self._moved:
            self._listeners = (*self._listeners, listener)

        def end() -> None:
            with self._moved:
                self._listeners = tuple(one for one in self._listeners if one is not listener)

        return end
