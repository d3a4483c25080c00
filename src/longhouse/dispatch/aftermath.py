"""Work after an answer: observers, and the rooms' reactions to committed writes.

It runs on separate threads once the answer is known, so it can neither change nor delay the answer.
A failure is logged and affects nothing else. A house without an observer and services starts no
thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from longhouse.kernel.contributions import CommittedWrite
from longhouse.kernel.registry import Registry

__all__ = ["Aftermath", "Background", "reactions_of"]

GATHER_S = 0.01
"""How long a thread waits for more work before it starts, so that one wake-up serves many calls."""

CLOSE_S = 5.0
MOST_WAITING = 10_000
"""How many jobs may be queued, for example while an observer hangs; then the oldest are dropped."""


class Background:
    """Runs jobs one after another on a thread that starts with the first job.

    A job whose key is already in the queue is not queued again.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: deque[tuple[object, Callable[[], object]]] = deque(maxlen=MOST_WAITING)
        self._keys: set[object] = set()
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def put(self, work: Callable[[], object], key: object = None) -> None:
        with self._lock:
            if key is not None and key in self._keys:
                return
            if len(self._waiting) == self._waiting.maxlen:  # the oldest job is about to be dropped
                self._keys.discard(self._waiting[0][0])
            self._keys.add(key)
            self._waiting.append((key, work))
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait until every queued job has run; False on timeout."""
        return self._idle.wait(timeout_s)

    def close(self) -> None:
        """Finish the queued jobs, but wait at most `CLOSE_S` seconds for them."""
        self._ending.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._ending.wait(GATHER_S)
            self._wake.clear()
            while job := self._next():
                try:
                    job()
                except Exception as error:
                    self._report(error)
            if self._ending.is_set():
                return

    def _next(self) -> Callable[[], object] | None:
        with self._lock:
            if not self._waiting:
                self._keys.clear()
                self._idle.set()
                return None
            key, work = self._waiting.popleft()
            self._keys.discard(key)
            return work

    def _report(self, error: Exception) -> None:
        import logging

        logging.getLogger(self._name).warning(
            "failed after the call was answered; the answer stands", exc_info=error
        )


def reactions_of(registry: Registry) -> dict[str, list[Callable[[CommittedWrite], object]]]:
    """The reactions to each command."""
    found: dict[str, list[Callable[[CommittedWrite], object]]] = {}
    for reaction in registry.reactions:
        for cmd in reaction.cmds:
            found.setdefault(cmd, []).append(reaction.run)
    return found


class Aftermath:
    """Passes each finished call to the observer, and each committed write to its reactions."""

    def __init__(
        self,
        observe: Callable[..., object] | None = None,
        reactions: Mapping[str, Iterable[Callable[[CommittedWrite], object]]] | None = None,
    ) -> None:
        self._observe = observe
        self.observes = observe is not None
        self.reactions = reactions or {}
        self._observing = Background("longhouse.observer")
        self._reacting = Background("longhouse.reaction")

    def observed(self, *finished: Any) -> None:
        """Report a finished call to the observer, in the context in which the call ran."""
        if self._observe is not None:
            import contextvars

            context, observe = contextvars.copy_context(), self._observe
            self._observing.put(lambda: context.run(observe, *finished))

    def committed(self, cmd: str, commit: Callable[[], CommittedWrite]) -> None:
        """Queue the reactions to a committed write, each at most once per command and workspace."""
        for react in self.reactions.get(cmd, ()):
            made = commit()
            key = (react, cmd, made.workspace)
            self._reacting.put(lambda react=react, made=made: react(made), key)  # type: ignore[misc]

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait for the observations and reactions of all calls answered so far."""
        return self._observing.settle(timeout_s) and self._reacting.settle(timeout_s)

    def close(self) -> None:
        self._reacting.close()
        self._observing.close()
