"""Runs work that may outlive its welcome.

Python cannot stop a thread. So under a deadline the work gets a thread of its own, and the caller
leaves it behind when the scope says stop: its session is closed by then, so it can do no harm.
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
    """The result of `work`, or what it raises, or why the scope stopped before it was done.

    Without a deadline the work runs here and now, and a cancellation counts once it returns.
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
        except BaseException as error:  # handed to the waiting thread, whatever it is
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
