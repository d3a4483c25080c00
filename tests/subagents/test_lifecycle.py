"""The end of a child, on every path, and dispatches after and within dispatches."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from longhouse.subagents import (
    DispatchSubagent,
    DispatchSubagentError,
    DispatchSubagentResult,
    EventBus,
    InProcessEventBus,
    PromptExecuted,
    Session,
    ToolCall,
    ToolContext,
    ToolInvoked,
    append_all,
    call_tool,
)
from tests.subagents.kit import (
    DONE,
    Note,
    Raises,
    Records,
    Runner,
    dispatch_tool,
    invoked,
    make_session,
    request,
    run,
)


@pytest.mark.proves("SUB-024", "SUB-039")
@pytest.mark.parametrize(
    "runner",
    [
        Runner(),
        Runner(lambda *_: "nothing"),
        Raises(RuntimeError("boom")),
        Raises(DispatchSubagentError("down")),
    ],
)
def test_after_any_run_the_child_is_closed_and_nobody_listens_to_its_bus(runner: Runner) -> None:
    session = make_session()
    listeners = session.bus.listeners(ToolInvoked)  # type: ignore[attr-defined]
    run(runner, session=session)
    (child,), (bus,) = runner.sessions, runner.buses
    assert isinstance(bus, InProcessEventBus)
    assert child.closed
    assert (bus.listeners(ToolInvoked), bus.listeners(PromptExecuted)) == (0, 0)
    assert bus.publish(invoked()).handled_count == 0
    assert session.scope.live == ()
    assert session.bus.listeners(ToolInvoked) == listeners  # type: ignore[attr-defined]


@pytest.mark.proves("SUB-039")
@pytest.mark.parametrize("runner", [Runner(), Raises(RuntimeError("x")), Raises(SystemExit())])
def test_the_recorder_of_tools_leaves_the_bus_before_the_child_is_closed(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening: list[int] = []
    close = Session.close

    def spy(self: Session) -> None:
        listening.append(self.bus.listeners(ToolInvoked))  # type: ignore[attr-defined]
        close(self)

    monkeypatch.setattr(Session, "close", spy)
    with suppress(SystemExit):
        run(runner)
    assert listening == [1]  # the child session alone


@pytest.mark.proves("SUB-024", "SUB-039")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_an_interruption_passes_through_once_the_child_is_closed(error: BaseException) -> None:
    runner, records, session = Raises(error), Records(), make_session()
    with pytest.raises(type(error)):
        run(runner, session=session, recorder=records)
    assert runner.sessions[0].closed
    assert session.scope.live == ()
    assert [finish.outcome for finish in records.finishes] == ["interrupted"]


@pytest.mark.proves("SUB-002")
def test_two_dispatches_in_a_row_know_nothing_of_each_other() -> None:
    session = make_session()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        assert child.slice_types() == frozenset()
        bus.publish(invoked("tool", Note("mine")))
        return DONE

    runner = Runner(play)
    results = [run(runner, session=session) for _ in range(2)]
    assert [result.success for result in results] == [True, True]
    assert runner.sessions[0] is not runner.sessions[1]
    assert results[1].value is not None
    assert results[1].value.tools_used == ("tool",)


@pytest.mark.proves("SUB-032", "SUB-034")
def test_a_nested_dispatch_forks_the_child_and_shows_in_it_as_one_tool() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("root")])
    states: list[tuple[Note, ...]] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        states.append(child.select_all(Note))
        if child.scope.depth < 2:
            child.seed_slice(Note, [Note(f"at {child.scope.depth}")])
            inner = call_tool(ToolCall(tool, params), context=ToolContext(child))
            assert inner.success
            states.append(child.select_all(Note))
        else:
            bus.publish(invoked("deep_tool"))
            child.seed_slice(Note, ())
        return DONE

    tool = dispatch_tool(session, Runner(play))
    outer = tool.handler(request(), context=ToolContext(session))
    assert outer.value is not None
    assert outer.value.tools_used == ("dispatch_subagent",)
    assert states == [(Note("root"),), (Note("at 1"),), (Note("at 1"),)]
    assert session.select_all(Note) == (Note("root"),)


def test_a_runner_that_calls_the_tool_without_a_context_still_goes_down_one_level() -> None:
    session, other = make_session(), make_session()
    depths: list[int] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        depths.append(child.scope.depth)
        return handler(params).value or DONE

    handler: Any = dispatch_tool(session, Runner(play)).handler
    assert handler(request()).success
    assert depths == [1, 2, 3]
    assert session.scope.live == ()

    unrelated: Any = dispatch_tool(other, Runner(lambda *_: DONE)).handler
    inside: list[Any] = []

    def cross(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        inside.append(unrelated(params))
        return DONE

    assert run(Runner(cross), session=session).success
    assert inside[0].success
    assert other.scope.usage.children == 1


def test_reducers_that_a_runner_registers_again_in_the_child_still_run_once() -> None:
    session = make_session()
    session.register_reducer(Note, append_all)

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        child.register_reducer(Note, append_all)  # as building a section for the child may do
        bus.publish(invoked("note", Note("one")))
        return DispatchSubagentResult(f"{len(child.select_all(Note))} note")

    assert run(Runner(play), session=session).message == "1 note"


def test_a_child_that_the_runner_closes_itself_still_gives_its_result() -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        with child:
            bus.publish(invoked("tool"))
        return DONE

    assert run(Runner(play)).success


@pytest.mark.proves("SUB-002", "SUB-024")
def test_a_runner_that_keeps_the_child_can_neither_read_nor_write_it_afterwards() -> None:
    runner = Runner()
    session = make_session()
    session.seed_slice(Note, [Note("one")])
    run(runner, session=session)
    (child,) = runner.sessions
    for use in (
        lambda: child.select_all(Note),
        lambda: child.seed_slice(Note, ()),
        lambda: child.register_reducer(Note, append_all),
        child.snapshot,
        child.fork,
        lambda: child.bus.subscribe(ToolInvoked, print),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            use()
