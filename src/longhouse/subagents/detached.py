"""Runs work that may not stop when its scope does.

Python cannot stop a thread. So under a deadline the work gets its own thread, and the caller
abandons it when the scope says stop: its session is closed by then, so it can do no harm.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from longhouse.subagents.scope import Scope

__all__ = ["run_within"]

T = TypeVar("T")


def run_within(scope: Scope, work: Callable[[], T]) -> T:
    """Return the result of `work`; raises what it raises, or why the scope stopped it early.

    Without a deadline, the work runs in this thread, and a cancellation counts once it returns.
    """
    result = work() if scope.deadline is None else _run_aside(scope, work)
    verdict = scope.verdict()
    if verdict is not None:
        raise verdict
    return result


def _run_aside(scope: Scope, work: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []
    context = copy_context()

    def body() -> None:
        try:
            results.append(context.run(work))
        except BaseException as error:  # raised again in the waiting thread
            errors.append(error)
        scope.wake()

    threading.Thread(target=body, name="longhouse-subagent", daemon=True).start()
    try:
        verdict = scope.wait(lambda: bool(results or errors))
    except BaseException:
        scope.cancel("the caller was interrupted")
        raise
    if verdict is not None:
        raise verdict
    if errors:
        raise errors.pop()
    return results.pop()
