"""The boundary around tool calls: whatever a handler raises, a call returns a ToolResult.

A failed call leaves its session unchanged. Calls of one turn run in parallel if their tools allow
it, all from one snapshot; results are in the order of the calls.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from longhouse.subagents.errors import (
    ReducerErrors,
    SnapshotSerializationError,
    ToolValidationError,
    describe,
)
from longhouse.subagents.events import ToolInvoked
from longhouse.subagents.tools import Tool, ToolContext, ToolResult

__all__ = ["MAX_PARALLEL", "ToolCall", "call_tool", "call_tools", "run_together"]

logger = logging.getLogger(__name__)

MAX_PARALLEL = 16


@dataclass(slots=True, frozen=True)
class ToolCall:
    tool: Tool[Any, Any]
    params: object
    call_id: str | None = None


def call_tool(call: ToolCall, *, context: ToolContext) -> ToolResult[Any]:
    """Run one call and publish it on the session's bus."""
    restore = context.session.restore_point()
    result = _run(call, context)
    if not result.success:
        restore()
    return _publish(call, result, context)


def call_tools(
    calls: Sequence[ToolCall], *, context: ToolContext, max_parallel: int = MAX_PARALLEL
) -> tuple[ToolResult[Any], ...]:
    """Run and publish the calls of one turn; adjacent calls to concurrent tools run in parallel."""
    results: list[ToolResult[Any]] = []
    for together, group in groupby(calls, key=lambda call: call.tool.concurrent):
        neighbours = list(group)
        if together and len(neighbours) > 1:
            for call, result in zip(
                neighbours,
                run_together(neighbours, context=context, max_parallel=max_parallel),
                strict=True,
            ):
                results.append(_publish(call, result, context))
        else:
            results.extend(call_tool(call, context=context) for call in neighbours)
    return tuple(results)


def run_together(
    calls: Sequence[ToolCall], *, context: ToolContext, max_parallel: int = MAX_PARALLEL
) -> tuple[ToolResult[Any], ...]:
    """Run calls in parallel from one snapshot, unpublished; a failure does not stop the others."""
    if not calls:
        return ()
    with suppress(SnapshotSerializationError):  # every call will hit and report the same error
        if context.snapshot is None:
            context = replace(context, snapshot=context.session.snapshot())
    pool = ThreadPoolExecutor(min(len(calls), max_parallel), thread_name_prefix="longhouse-call")
    try:
        futures = [pool.submit(copy_context().run, _run, call, context) for call in calls]
        for future in wait(futures, return_when=FIRST_EXCEPTION).done:
            future.result()  # raises only interruptions
        results = tuple(future.result() for future in futures)
    except BaseException:
        for child in context.session.scope.live:
            child.cancel("the turn was interrupted")
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return results


def _run(call: ToolCall, context: ToolContext) -> ToolResult[Any]:
    name = call.tool.name
    try:
        result: object = call.tool.handler(call.params, context=context)
    except ToolValidationError as error:
        return _failure(f"Tool validation failed: {describe(error)}")
    except Exception as error:
        logger.exception("tool %s failed", name)
        return _failure(f"Tool '{name}' execution failed: {describe(error)}")
    if isinstance(result, ToolResult):
        return result
    return _failure(
        f"Tool '{name}' execution failed: its handler returned {type(result).__qualname__}, not a "
        "ToolResult"
    )


def _publish(call: ToolCall, result: ToolResult[Any], context: ToolContext) -> ToolResult[Any]:
    restore = context.session.restore_point()
    published = context.session.bus.publish(
        ToolInvoked(
            prompt_name=context.prompt_name,
            adapter=context.adapter,
            name=call.tool.name,
            params=call.params,
            result=result,
            call_id=call.call_id,
        )
    )
    errors = [
        error
        for failure in published.errors
        if isinstance(failure.error, ReducerErrors)  # other listeners' errors do not count
        for error in failure.error.exceptions
    ]
    if not errors:
        return result
    restore()
    reasons = "; ".join(describe(error) for error in errors)
    return _failure(f"Reducer errors prevented applying tool result: {reasons}")


def _failure(message: str) -> ToolResult[Any]:
    return ToolResult(message, value=None, success=False)
