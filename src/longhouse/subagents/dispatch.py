"""One dispatch: capture the parent, fork a child, run the runner in it, keep only the result.

Invariants: the request is checked before any session is touched; on every path the child is closed,
no listener remains and the record is finished; the parent session is only read.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import Any, Final

from longhouse.subagents.detached import run_within
from longhouse.subagents.errors import (
    DeadlineExceeded,
    DispatchCancelled,
    DispatchSubagentError,
    LimitReached,
    ToolValidationError,
    describe,
)
from longhouse.subagents.events import ToolInvoked
from longhouse.subagents.limits import Limits, Usage
from longhouse.subagents.normalize import concise_ascii, normalize_params
from longhouse.subagents.package import InvalidResult, ToolUsage, package
from longhouse.subagents.records import DispatchFinished, DispatchStarted, Outcome, Recorder
from longhouse.subagents.scope import Scope
from longhouse.subagents.session import Session
from longhouse.subagents.snapshots import Snapshot
from longhouse.subagents.tools import Tool, ToolResult
from longhouse.subagents.types import (
    DISPATCH_TOOL,
    DispatchSubagent,
    DispatchSubagentResult,
    SubagentRunner,
)

__all__ = ["dispatch", "innermost"]

logger = logging.getLogger(__name__)

CAPTURE_FAILED: Final = "Unable to capture parent session state."
HYDRATE_FAILED: Final = "Unable to hydrate child session from snapshot."

_OUTCOMES: tuple[tuple[type[Exception], Outcome], ...] = (
    (DispatchCancelled, Outcome.CANCELLED),
    (DeadlineExceeded, Outcome.DEADLINE),
    (LimitReached, Outcome.BUDGET),
    (InvalidResult, Outcome.BAD_RESULT),
    (Exception, Outcome.FAILED),
)

_running: ContextVar[Session | None] = ContextVar("longhouse_running_child", default=None)


def innermost(session: Session) -> Session:
    """The child of `session` whose runner is running in this context, or `session` itself.

    A runner that calls the tool without a context thus goes one level deeper like any other,
    instead of starting again at the root, where no depth limit would stop it.
    """
    child = _running.get()
    return child if child is not None and child.scope.is_below(session.scope) else session


class _Ending:
    """What the record of a dispatch will say when it ends."""

    __slots__ = ("error_type", "message", "outcome", "result", "scope", "tools")

    def __init__(self) -> None:
        self.outcome = Outcome.INTERRUPTED
        self.message = ""
        self.error_type: str | None = None
        self.result: DispatchSubagentResult | None = None
        self.tools = ToolUsage()
        self.scope: Scope | None = None

    def failed(self, outcome: Outcome, error: BaseException) -> None:
        self.outcome = outcome
        self.message = concise_ascii(describe(error))
        self.error_type = type(error).__qualname__

    def completed(self, result: DispatchSubagentResult) -> None:
        self.outcome = Outcome.COMPLETED
        self.message = result.message_summary
        self.result = result


def dispatch(
    params: object,
    *,
    session: Session,
    runner: SubagentRunner,
    recorder: Recorder | None,
    limits: Limits,
    tools: tuple[Tool[Any, Any], ...] = (),
    snapshot: Snapshot | None = None,
) -> ToolResult[DispatchSubagentResult]:
    """Run `runner` in a throwaway child of `session` and return what it reports.

    Raises ToolValidationError if the request or the state is invalid or the runner rejects it;
    every other failure is a ToolResult with success=False.
    """
    request = normalize_params(params)
    trouble: Exception | None = None
    if snapshot is None:
        try:
            snapshot = session.snapshot()
        except Exception as error:
            trouble = error
    dispatch_id = session.scope.new_id()
    ending = _Ending()
    if recorder is not None:
        try:
            recorder.started(_start(dispatch_id, session, request, snapshot))
        except Exception as error:
            logger.exception("dispatch %s could not be recorded and was not started", dispatch_id)
            return _failure(concise_ascii(f"the dispatch could not be recorded: {describe(error)}"))
    refused_as = Outcome.CAPTURE_FAILED  # what a ToolValidationError means at this point
    try:
        if snapshot is None:
            raise ToolValidationError(CAPTURE_FAILED) from trouble
        refused_as = Outcome.HYDRATE_FAILED
        with _fork(session, snapshot, dispatch_id, limits, tools) as child:
            refused_as = Outcome.RUNNER_REJECTED
            result = _run(child, runner, request, ending)
        ending.completed(result)
        return ToolResult(result.message_summary, value=result)
    except ToolValidationError as error:
        ending.failed(refused_as, error)
        raise
    except Exception as error:
        outcome = next(known for kind, known in _OUTCOMES if isinstance(error, kind))
        ending.failed(outcome, error)
        if not isinstance(error, DispatchSubagentError):
            logger.exception("the runner of dispatch %s failed", dispatch_id)
        return _failure(ending.message)
    except BaseException as error:
        ending.failed(Outcome.INTERRUPTED, error)
        raise
    finally:
        if recorder is not None:
            _close_record(recorder, dispatch_id, request, ending, session.scope.clock.now())


def _start(
    dispatch_id: str, session: Session, request: DispatchSubagent, snapshot: Snapshot | None
) -> DispatchStarted:
    scope = session.scope
    return DispatchStarted(
        dispatch_id=dispatch_id,
        parent_id=scope.dispatch_id,
        session_id=session.session_id,
        depth=scope.depth + 1,
        params=request,
        snapshot=snapshot,
        started_at=scope.clock.now(),
    )


def _fork(
    session: Session,
    snapshot: Snapshot,
    dispatch_id: str,
    limits: Limits,
    tools: tuple[Tool[Any, Any], ...],
) -> Session:
    # A child that may not have children gets every tool except dispatch.
    if session.scope.depth_left_below(limits) < 1:
        tools = tuple(tool for tool in tools if tool.name != DISPATCH_TOOL)
    try:
        return session.fork(snapshot=snapshot, limits=limits, tools=tools, dispatch_id=dispatch_id)
    except DispatchSubagentError:
        raise
    except Exception as error:
        raise ToolValidationError(HYDRATE_FAILED) from error


def _run(
    child: Session, runner: SubagentRunner, request: DispatchSubagent, ending: _Ending
) -> DispatchSubagentResult:
    scope, bus = child.scope, child.bus
    ending.scope = scope
    listener = ending.tools.handle
    bus.subscribe(ToolInvoked, listener)
    entered = _running.set(child)
    try:
        raw = run_within(scope, partial(runner, session=child, bus=bus, params=request))
        return package(raw, ending.tools)
    except ToolValidationError:
        raise
    except Exception as error:
        # If the scope has stopped, that is the cause, whatever the runner raised.
        verdict = scope.verdict()
        if verdict is None:
            raise
        raise verdict from error
    finally:
        _running.reset(entered)
        bus.unsubscribe(ToolInvoked, listener)


def _failure(reason: str) -> ToolResult[DispatchSubagentResult]:
    return ToolResult(f"Subagent execution failed: {reason}", value=None, success=False)


def _close_record(
    recorder: Recorder,
    dispatch_id: str,
    request: DispatchSubagent,
    ending: _Ending,
    finished_at: datetime,
) -> None:
    result = ending.result
    try:
        recorder.finished(
            DispatchFinished(
                dispatch_id=dispatch_id,
                outcome=ending.outcome,
                message=ending.message,
                tools=ending.tools.counts(),
                usage=Usage() if ending.scope is None else ending.scope.usage,
                artifacts=() if result is None else result.artifacts,
                missing_artifacts=() if result is None else result.missing(request),
                error_type=ending.error_type,
                finished_at=finished_at,
            )
        )
    except Exception:
        logger.exception("the record of dispatch %s could not be closed", dispatch_id)
