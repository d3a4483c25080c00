"""Whatever a runner does in its child, the parent is unchanged. Over random sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhouse.subagents import (
    DataEvent,
    DispatchCancelled,
    DispatchSubagentError,
    DispatchSubagentResult,
    InProcessEventBus,
    Limits,
    PromptExecuted,
    PromptResponse,
    PromptSubagentToolsSection,
    Session,
    ToolContext,
    ToolData,
    ToolInvoked,
    ToolResult,
    ToolValidationError,
    append,
    append_all,
    replace_latest,
)
from tests.subagents.kit import (
    DONE,
    Board,
    Draft,
    Loose,
    Note,
    Records,
    Runner,
    dispatch_tool,
    invoked,
    make_session,
    request,
)

notes = st.builds(Note, st.text(max_size=5), st.integers(0, 3))
boards = st.builds(Board, st.lists(notes, max_size=3).map(tuple))


def _breaking(values: tuple[Any, ...], event: DataEvent) -> Iterable[Any]:
    raise ValueError("breaks")


def _loosening(values: tuple[Any, ...], event: DataEvent) -> Iterable[Any]:
    return [Loose([])]


reducers = st.sampled_from([append, append_all, replace_latest, _breaking, _loosening])
kinds = st.sampled_from([Note, Board, ToolData, Loose])

# One step on a session, from outside or by a runner, as (what, arguments).
steps = st.one_of(
    st.tuples(st.just("seed"), st.just(Note), st.lists(notes, max_size=4)),
    st.tuples(st.just("seed"), st.just(Board), st.lists(boards, max_size=2)),
    st.tuples(st.just("reduce"), kinds, reducers, kinds),
    st.tuples(st.just("publish"), st.one_of(notes, boards, st.just(None), st.builds(Draft))),
    st.tuples(st.just("output"), st.lists(st.one_of(notes, boards, st.text(max_size=2)))),
)
hostile_steps = st.one_of(
    steps,
    st.sampled_from(
        [
            ("rollback",),
            ("fork",),
            ("close",),
            ("cancel",),
            ("unlisten",),
            ("listen",),
            ("mutable",),
            ("opaque",),
            ("nest",),
            ("spend",),
        ]
    ),
)
endings: st.SearchStrategy[Any] = st.sampled_from(
    [
        DONE,
        DispatchSubagentResult("", ("x",)),
        None,
        3,
        ToolResult("x", None),
        RuntimeError("boom"),
        DispatchSubagentError("down"),
        DispatchCancelled("by itself"),
        ToolValidationError("not this"),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
    ]
)


def take(session: Session, step: tuple[Any, ...]) -> None:
    match step:
        case ("seed", kind, values):
            session.seed_slice(kind, values)
        case ("reduce", kind, reducer, target):
            session.register_reducer(kind, reducer, slice_type=target)
        case ("publish", payload):
            session.bus.publish(invoked("tool", payload, params=payload))
        case ("output", items):
            response = PromptResponse("p", "text", items)
            session.bus.publish(PromptExecuted("p", "test", response))
        case ("rollback",):
            session.rollback(session.snapshot())
        case ("fork",):
            session.fork().seed_slice(Note, [Note("never closed")])
        case ("close",):
            session.close()
        case ("cancel",):
            session.scope.cancel("by the runner")
        case ("listen",):
            session.bus.subscribe(ToolInvoked, lambda _: None)
        case ("unlisten",):
            session.bus.unsubscribe(ToolInvoked, session._on_tool_invoked)
        case ("mutable",):
            session.seed_slice(Loose, [Loose([])])
        case ("opaque",):
            session.seed_slice(int, [1])
        case ("spend",):
            session.scope.start_turn()
            session.scope.spend(10)


def state_of(session: Session) -> tuple[Any, ...]:
    bus = session.bus
    assert isinstance(bus, InProcessEventBus)
    return (
        {kind: session.select_all(kind) for kind in session.slice_types()},
        {kind: session.registrations(kind) for kind in (Note, Board, ToolData, Loose)},
        (session.session_id, session.created_at, session.closed, session.scope.live),
        [bus.listeners(kind) for kind in (ToolInvoked, PromptExecuted)],
    )


@pytest.mark.proves("SUB-002", "SUB-024", "SUB-026", "SUB-034", "SUB-039", "SUB-041")
@settings(max_examples=200, deadline=None)
@given(
    before=st.lists(steps, max_size=6),
    during=st.lists(hostile_steps, max_size=8),
    ending=endings,
    deadline=st.sampled_from([None, None, None, 60.0]),
)
def test_the_parent_is_untouched_whatever_the_runner_does(
    before: list[Any], during: list[Any], ending: Any, deadline: float | None
) -> None:
    session = make_session()
    for step in before:
        take(session, step)
    heard: list[object] = []
    session.bus.subscribe(ToolInvoked, heard.append)
    untouched = state_of(session)

    def play(child: Session, bus: Any, params: Any) -> Any:
        for step in during:
            if step == ("nest",):
                tool.handler(params, context=ToolContext(child))
            else:
                take(child, step)
        if isinstance(ending, BaseException):
            raise ending
        return ending

    runner, records = Runner(play), Records()
    tool = dispatch_tool(
        session, runner, limits=Limits(seconds=deadline, depth=1), recorder=records
    )
    try:
        result = tool.handler(request(), context=ToolContext(session))
    except (ToolValidationError, KeyboardInterrupt, asyncio.CancelledError):
        result = None

    assert state_of(session) == untouched
    assert heard == []
    assert all(child.closed for child in runner.sessions)
    assert all(bus.listeners(ToolInvoked) == 0 for bus in runner.buses)  # type: ignore[attr-defined]
    assert len(records.starts) == len(records.finishes)
    if result is not None:
        assert result.success == (result.value is not None)
        assert result.message.isascii()
        if result.value is not None:
            assert result.message == result.value.message_summary


@pytest.mark.proves("SUB-026", "SUB-031", "SUB-040")
@settings(max_examples=100, deadline=None)
@given(before=st.lists(steps, max_size=8))
def test_a_child_of_any_session_starts_with_the_same_state_and_objects(before: list[Any]) -> None:
    session = make_session()
    for step in before:
        take(session, step)
    with session.fork() as child:
        assert child.slice_types() == session.slice_types()
        for kind in session.slice_types():
            assert child.select_all(kind) is session.select_all(kind)
            assert child.registrations(kind) == session.registrations(kind)


@pytest.mark.proves("SUB-043")
@settings(max_examples=50, deadline=None)
@given(before=st.lists(steps, max_size=5), during=st.lists(steps, max_size=5), ending=endings)
def test_the_same_run_gives_the_same_result(
    before: list[Any], during: list[Any], ending: Any
) -> None:
    def once() -> Any:
        session = make_session()
        for step in before:
            take(session, step)

        def play(child: Session, bus: Any, params: Any) -> Any:
            for step in during:
                take(child, step)
            if isinstance(ending, BaseException):
                raise ending
            return ending

        tool = dispatch_tool(session, Runner(play))
        try:
            return tool.handler(request(), context=ToolContext(session))
        except BaseException as error:
            return repr(error)

    assert once() == once()


@pytest.mark.proves("SUB-024", "SUB-039")
def test_a_cancelled_task_ends_the_child_before_it_passes_through() -> None:
    session = make_session()
    runner = Runner()

    async def main() -> None:
        def play(child: Session, bus: Any, params: Any) -> Any:
            raise asyncio.CancelledError

        runner._play = play
        tool = dispatch_tool(session, runner)
        await asyncio.to_thread(tool.handler, request(), context=ToolContext(session))

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert runner.sessions[0].closed
    assert session.scope.live == ()


def test_dispatches_from_many_tasks_of_one_loop_do_not_meet() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])

    def play(child: Session, bus: Any, params: Any) -> Any:
        child.seed_slice(Note, [*child.select_all(Note), Note(params.instructions)])
        return DispatchSubagentResult(f"{len(child.select_all(Note))}: {params.instructions}")

    section = PromptSubagentToolsSection(session=session, runner=Runner(play))
    (tool,) = section.tools()

    async def main() -> list[Any]:
        return await asyncio.gather(
            *(
                asyncio.to_thread(tool.handler, request(f"t{n}"), context=ToolContext(session))
                for n in range(20)
            )
        )

    results = asyncio.run(main())
    assert [result.message for result in results] == [f"2: t{n}" for n in range(20)]
    assert session.select_all(Note) == (Note("one"),)


class Clinging:
    """Raises when it is garbage-collected, as a runner's careless resource might."""

    def __del__(self) -> None:
        raise RuntimeError("in __del__")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_error_while_the_runners_objects_are_thrown_away_changes_nothing() -> None:
    def play(child: Session, bus: Any, params: Any) -> Any:
        clinging = Clinging()
        bus.subscribe(ToolInvoked, lambda _: clinging)
        return DONE

    session = make_session()
    assert dispatch_tool(session, Runner(play)).handler(
        request(), context=ToolContext(session)
    ) == ToolResult("Done.", DONE)
    assert session.scope.live == ()
