"""Limits, usage, deadlines and cancellation in a tree of dispatches."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any

import pytest

from longhouse.subagents import (
    DeadlineExceeded,
    DispatchCancelled,
    DispatchSubagent,
    EventBus,
    LimitReached,
    Limits,
    PromptSubagentToolsSection,
    Scope,
    Session,
    ToolContext,
    Usage,
)
from tests.subagents.kit import (
    DONE,
    ManualClock,
    Note,
    Raises,
    Records,
    Runner,
    dispatch_tool,
    invoked,
    make_scope,
    make_session,
    note_tool,
    request,
    run,
)


@pytest.mark.parametrize(
    "limits",
    [
        {"seconds": 0},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"turns": -1},
        {"tokens": -5},
        {"children": -1},
        {"depth": -1},
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(limits: dict[str, Any]) -> None:
    (name,) = limits
    with pytest.raises(ValueError, match=name):
        Limits(**limits)


def test_usage_is_charged_to_every_scope_above() -> None:
    root = make_scope()
    child = root.open_child()
    grandchild = child.open_child()
    grandchild.start_turn()
    grandchild.spend(30)
    child.spend(12)
    assert grandchild.usage == Usage(turns=1, tokens=30, children=0)
    assert child.usage == Usage(turns=1, tokens=42, children=1)
    assert root.usage == Usage(turns=1, tokens=42, children=2)
    with pytest.raises(ValueError, match="tokens must be 0 or more"):
        child.spend(-1)


def test_a_limit_binds_the_whole_tree_below_it() -> None:
    root = make_scope(Limits(turns=2))
    one, two = root.open_child(Limits(turns=50)), root.open_child(Limits(turns=50))
    one.start_turn()
    two.start_turn()
    with pytest.raises(LimitReached, match=r"limit reached: turns \(2\)"):
        one.start_turn()
    assert root.usage.turns == 2


def test_tokens_may_overrun_in_one_turn_and_then_no_turn_starts() -> None:
    scope = make_scope(Limits(tokens=100)).open_child()
    scope.start_turn()
    scope.spend(120)
    with pytest.raises(LimitReached, match=r"tokens \(100\)"):
        scope.start_turn()
    assert scope.usage == Usage(turns=1, tokens=120)


def test_children_are_counted_in_the_whole_tree() -> None:
    root = make_scope(Limits(children=2))
    child = root.open_child()
    child.open_child()
    for scope in (root, child):
        with pytest.raises(LimitReached, match=r"children \(2\)"):
            scope.open_child()
    assert root.usage.children == 2


def test_depth_counts_down_and_cannot_be_widened_by_a_child() -> None:
    root = make_scope(Limits(depth=2))
    child = root.open_child(Limits(depth=50))
    grandchild = child.open_child(Limits(depth=50))
    assert [scope.depth for scope in (root, child, grandchild)] == [0, 1, 2]
    assert [scope.depth_left for scope in (root, child, grandchild)] == [2, 1, 0]
    with pytest.raises(LimitReached, match=r"depth \(2\)"):
        grandchild.open_child()
    assert root.open_child(Limits(depth=0)).depth_left == 0
    assert make_scope().depth_left == 3
    assert make_scope(Limits(depth=9)).open_child().depth_left == 8


def test_a_child_inherits_the_nearer_deadline() -> None:
    clock = ManualClock()
    root = make_scope(Limits(seconds=10), clock=clock)
    clock.seconds = 4
    assert root.open_child(Limits(seconds=60)).seconds_left() == 6
    assert root.open_child(Limits(seconds=2)).seconds_left() == 2
    assert root.open_child().seconds_left() == 6
    clock.seconds = 11
    assert root.seconds_left() == 0
    with pytest.raises(DeadlineExceeded, match="deadline exceeded"):
        root.check()
    assert make_scope().seconds_left() is None


def test_cancelling_one_child_leaves_its_siblings_and_cancelling_the_root_stops_all() -> None:
    root = make_scope()
    one, two = root.open_child(), root.open_child()
    below = one.open_child()
    assert root.live == (one, two)
    one.cancel("not needed")
    one.cancel("too late to say otherwise")
    for scope in (one, below):
        with pytest.raises(DispatchCancelled, match="cancelled: not needed"):
            scope.check()
    two.check()
    root.cancel()
    with pytest.raises(DispatchCancelled, match="no reason given"):
        two.start_turn()
    with pytest.raises(DispatchCancelled):
        root.open_child()


def test_ids_come_from_the_scope_and_name_the_dispatch() -> None:
    root = make_scope()
    assert root.dispatch_id is None
    assert [root.open_child().dispatch_id for _ in range(2)] == ["D1", "D2"]
    assert Scope().open_child().dispatch_id != Scope().open_child().dispatch_id


# --------------------------------------------------------------------------------- dispatches


@pytest.mark.proves("SUB-036")
def test_a_child_beyond_the_depth_is_refused_as_a_result_and_the_parent_goes_on() -> None:
    session = make_session(Limits(depth=1))
    results: list[Any] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        results.append(tool.handler(params, context=ToolContext(child)))
        return DONE

    records = Records()
    tool = dispatch_tool(session, Runner(play), recorder=records)
    assert tool.handler(request(), context=ToolContext(session)).success
    (refused,) = results
    assert (
        refused.message
        == "Subagent execution failed: limit reached: depth (1); continue without more subagents"
    )
    assert (refused.value, refused.success) == (None, False)
    assert [finish.outcome for finish in records.finishes] == ["budget", "completed"]


def test_a_child_gets_every_tool_and_the_dispatch_tool_only_while_it_may_dispatch() -> None:
    session = make_session(Limits(depth=2))
    seen: list[tuple[str, ...]] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        seen.append(tuple(tool.name for tool in child.scope.tools))
        if child.scope.depth_left:
            dispatch.handler(params, context=ToolContext(child, tools=child.scope.tools))
        return DONE

    dispatch = dispatch_tool(session, Runner(play))
    tools = (note_tool("search"), dispatch, note_tool("write"))
    dispatch.handler(request(), context=ToolContext(session, tools=tools))
    assert seen == [("search", "dispatch_subagent", "write"), ("search", "write")]


@pytest.mark.proves("SUB-036")
@pytest.mark.parametrize(
    "act, outcome, message",
    [
        (
            lambda child: child.scope.start_turn(),
            "budget",
            "limit reached: turns (0); ask for less or raise it",
        ),
        (lambda child: child.scope.cancel("enough"), "cancelled", "cancelled: enough"),
    ],
)
def test_a_run_beyond_its_limits_or_called_off_fails_with_a_named_outcome(
    act: Any, outcome: str, message: str
) -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        bus.publish(invoked("search"))
        act(child)
        return DONE

    records = Records()
    result = run(Runner(play), limits=Limits(turns=0), recorder=records)
    assert result.message == f"Subagent execution failed: {message}"
    (finish,) = records.finishes
    assert (finish.outcome, finish.tools) == (outcome, (("search", 1),))


def test_once_the_tree_is_called_off_no_dispatch_starts() -> None:
    session, runner = make_session(), Runner()
    session.scope.cancel("closing time")
    result = run(runner, session=session)
    assert result.message == "Subagent execution failed: cancelled: closing time"
    assert runner.sessions == []
    assert session.scope.usage.children == 0


def test_a_child_whose_parent_is_closed_while_it_runs_is_called_off() -> None:
    session = make_session()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        session.close()
        return DONE

    result = run(Runner(play), session=session)
    assert result.message == "Subagent execution failed: cancelled: the parent session has ended"


def test_what_a_runner_raises_after_it_was_called_off_is_the_cancellation() -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        child.scope.cancel("enough")
        raise ConnectionError("stream closed")

    assert run(Runner(play)).message == "Subagent execution failed: cancelled: enough"


def test_a_result_that_comes_after_the_deadline_is_too_late() -> None:
    clock = ManualClock()
    session = make_session(clock=clock)

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        clock.seconds = 31
        return DONE

    result = run(Runner(play), session=session, limits=Limits(seconds=30))
    assert result.message == "Subagent execution failed: deadline exceeded"
    assert not result.success


@pytest.mark.proves("SUB-024", "SUB-036", "SUB-039")
def test_a_runner_that_outlives_its_deadline_is_left_behind_and_can_do_no_harm() -> None:
    session = Session(session_id="s")
    session.seed_slice(Note, [Note("one")])
    before = session.snapshot().slices
    release, over = threading.Event(), threading.Event()
    late: list[Exception] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        assert release.wait(60)
        assert bus.publish(invoked("late", Note("late"))).handled_count == 0
        for use in (lambda: child.seed_slice(Note, ()), child.scope.check, child.fork):
            try:
                use()
            except Exception as error:
                late.append(error)
        over.set()
        return DONE

    records, runner = Records(), Runner(play)
    result = run(runner, session=session, limits=Limits(seconds=0.02), recorder=records)
    assert result.message == "Subagent execution failed: deadline exceeded"
    assert runner.sessions[0].closed
    assert session.scope.live == ()
    assert records.finishes[0].outcome == "deadline"
    release.set()
    assert over.wait(60)
    assert [type(error).__name__ for error in late] == [
        "SessionClosedError",
        "DeadlineExceeded",
        "SessionClosedError",
    ]
    assert session.snapshot().slices == before
    assert records.finishes[0].tools == ()
    assert len(records.finishes) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(2)])
def test_under_a_deadline_an_interruption_in_the_runner_still_reaches_the_caller(
    error: BaseException,
) -> None:
    with pytest.raises(type(error)):
        run(Raises(error), limits=Limits(seconds=60))


def test_under_a_deadline_results_and_errors_are_those_of_the_runner() -> None:
    limits = Limits(seconds=60)
    assert run(Runner(), limits=limits).value == DONE
    assert run(Raises(OSError("x")), limits=limits).message == "Subagent execution failed: x"


def test_a_runner_under_a_deadline_sees_the_callers_context_variables() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")
    tenant.set("acme")
    seen: list[str] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        seen.append(tenant.get())
        return DONE

    assert run(Runner(play), limits=Limits(seconds=60)).success
    assert seen == ["acme"]


def test_a_child_under_a_deadline_can_be_called_off_while_it_hangs() -> None:
    session = make_session()
    release = threading.Event()
    running = threading.Event()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        running.set()
        release.wait(60)
        return DONE

    results: list[Any] = []
    limits = Limits(seconds=60)
    caller = threading.Thread(
        target=lambda: results.append(run(Runner(play), session=session, limits=limits))
    )
    caller.start()
    assert running.wait(60)
    (child,) = session.scope.live
    child.cancel("seen enough")
    caller.join(60)
    release.set()
    assert results[0].message == "Subagent execution failed: cancelled: seen enough"


def test_a_reducer_that_hangs_in_a_child_does_not_hold_up_its_end() -> None:
    release = threading.Event()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        child.register_reducer(Note, lambda _, event: [release.wait(60), event.value][1:])
        bus.publish(invoked("note", Note("one")))
        return DONE

    result = run(Runner(play), session=Session(), limits=Limits(seconds=0.02))
    release.set()
    assert result.message == "Subagent execution failed: deadline exceeded"


def test_an_interruption_of_the_caller_calls_the_child_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, told = threading.Event(), list[Any]()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        assert release.wait(60)
        told.append(child.scope.verdict())
        return DONE

    def interrupted(self: Scope, done: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Scope, "wait", interrupted)
    runner = Runner(play)
    with pytest.raises(KeyboardInterrupt):
        run(runner, limits=Limits(seconds=60))
    assert runner.sessions[0].closed
    verdict = runner.sessions[0].scope.verdict()
    assert str(verdict) == "cancelled: the caller was interrupted"
    release.set()


def test_limits_of_the_section_bind_each_child_and_the_session_binds_them_all() -> None:
    session = make_session(Limits(tokens=100))

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        while True:
            child.scope.start_turn()
            child.scope.spend(20)

    section = PromptSubagentToolsSection(
        session=session, runner=Runner(play), limits=Limits(tokens=60)
    )
    messages = [
        section.tools()[0].handler(request(), context=ToolContext(session)).message
        for _ in range(3)
    ]
    assert messages == [
        "Subagent execution failed: limit reached: tokens (60); ask for less or raise it",
        "Subagent execution failed: limit reached: tokens (100); ask for less or raise it",
        "Subagent execution failed: limit reached: tokens (100); ask for less or raise it",
    ]
    assert session.scope.usage == Usage(turns=5, tokens=100, children=3)
