"""The boundary around tool calls, one at a time and in parallel."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest

from longhouse.subagents import (
    DataEvent,
    DispatchSubagent,
    DispatchSubagentResult,
    EventBus,
    Limits,
    PromptSubagentToolsSection,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolData,
    ToolInvoked,
    ToolResult,
    ToolValidationError,
    append_all,
    call_tool,
    call_tools,
)
from tests.subagents.kit import (
    DONE,
    Board,
    Draft,
    Loose,
    Note,
    Raises,
    Runner,
    dispatch_tool,
    make_session,
    note_tool,
    request,
)


def tool_of(handler: Any, **options: Any) -> Tool[Any, Any]:
    return Tool("act", "Do something.", Note, Note, handler, **options)


def test_a_call_is_published_with_its_result_and_applied_by_reducers() -> None:
    session = make_session()
    events: list[ToolInvoked] = []
    session.bus.subscribe(ToolInvoked, events.append)
    context = ToolContext(session, prompt_name="team/lead", adapter="test")
    result = call_tool(ToolCall(note_tool(), Note("one"), "call-1"), context=context)
    assert result == ToolResult("noted one", Note("one"))
    assert events == [ToolInvoked("team/lead", "test", "note", Note("one"), result, "call-1")]
    assert session.select_all(Note) == (Note("one"),)


@pytest.mark.proves("SUB-038", "SUB-043")
@pytest.mark.parametrize(
    "error, message",
    [
        (ToolValidationError("text is empty."), "Tool validation failed: text is empty."),
        (RuntimeError("no paper"), "Tool 'act' execution failed: no paper"),
        (KeyError(), "Tool 'act' execution failed: KeyError"),
    ],
)
def test_what_a_handler_raises_becomes_a_failed_result_and_is_kept_as_a_call(
    error: Exception, message: str
) -> None:
    def handler(params: Note, *, context: ToolContext) -> ToolResult[Note]:
        context.session.seed_slice(Note, [Note("half done")])
        raise error

    session = make_session()
    session.seed_slice(Note, [Note("one")])
    result = call_tool(ToolCall(tool_of(handler), Note("x")), context=ToolContext(session))
    assert result == ToolResult(message, None, success=False)
    assert session.select_all(Note) == (Note("one"),)
    assert [kept.source.result for kept in session.select_all(ToolData)] == [result]


def test_a_handler_that_says_it_failed_leaves_the_session_as_it_was() -> None:
    def handler(params: Note, *, context: ToolContext) -> ToolResult[Note]:
        context.session.seed_slice(Note, [Note("half done")])
        return ToolResult("could not", None, success=False)

    session = make_session()
    call_tool(ToolCall(tool_of(handler), Note("x")), context=ToolContext(session))
    assert session.select_all(Note) == ()


def test_a_handler_that_returns_something_else_is_told_apart() -> None:
    tool = tool_of(lambda _, **__: "noted")
    result = call_tool(ToolCall(tool, Note("x")), context=ToolContext(make_session()))
    assert not result.success
    assert result.message.endswith("its handler returned str, not a ToolResult")


def test_an_interruption_in_a_handler_passes_through() -> None:
    def handler(params: Note, *, context: ToolContext) -> ToolResult[Note]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_tool(ToolCall(tool_of(handler), Note("x")), context=ToolContext(make_session()))


def test_a_result_that_reducers_cannot_apply_fails_and_changes_nothing() -> None:
    session = make_session()

    def broken(values: tuple[Any, ...], event: DataEvent) -> Iterable[Any]:
        raise ValueError("board is full")

    session.register_reducer(Note, append_all)
    session.register_reducer(Note, broken, slice_type=Board)
    result = call_tool(ToolCall(note_tool(), Note("one")), context=ToolContext(session))
    assert result == ToolResult(
        "Reducer errors prevented applying tool result: board is full", None, success=False
    )
    assert session.select_all(Note) == ()


@pytest.mark.parametrize("payload", [Draft(["a"]), Loose(["a"])])
def test_a_tool_whose_payload_can_change_fails_with_what_to_do(payload: Any) -> None:
    tool = tool_of(lambda _, **__: ToolResult("drafted", payload))
    session = make_session()
    result = call_tool(ToolCall(tool, Note("x")), context=ToolContext(session))
    assert not result.success
    assert "frozen dataclasses, tuples, frozensets" in result.message
    assert type(payload) not in session.slice_types()


def test_trouble_of_another_listener_does_not_undo_a_call() -> None:
    session = make_session()

    def nosy(event: ToolInvoked) -> None:
        raise OSError("disk full")

    session.bus.subscribe(ToolInvoked, nosy)
    assert call_tool(ToolCall(note_tool(), Note("one")), context=ToolContext(session)).success
    assert session.select_all(Note) == (Note("one"),)


def test_a_call_works_on_a_state_that_cannot_be_captured() -> None:
    session = make_session()
    session.seed_slice(int, [1])
    assert call_tool(ToolCall(note_tool(), Note("one")), context=ToolContext(session)).success


@pytest.mark.parametrize(
    "broken, said",
    [
        ({"name": "Has Space"}, "tool name 'Has Space'"),
        ({"name": "x" * 65}, "must be 1 to 64"),
        ({"description": ""}, "1 to 200 characters"),
        ({"description": "x" * 201}, "1 to 200 characters"),
        ({"description": "caf\u00e9"}, "ASCII"),
        ({"params_type": dict}, "params_type must be a dataclass"),
        ({"result_type": Note("x")}, "result_type must be a dataclass"),
        ({"handler": lambda _: None}, r"callable as handler\(params, context=...\)"),
        ({"handler": "no function"}, r"callable as handler\(params, context=...\)"),
    ],
)
def test_a_tool_that_cannot_be_called_is_refused_when_it_is_made(
    broken: dict[str, Any], said: str
) -> None:
    parts: dict[str, Any] = {
        "name": "act",
        "description": "Do something.",
        "params_type": Note,
        "result_type": Note,
        "handler": lambda _, **__: ToolResult("ok", None),
        **broken,
    }
    with pytest.raises((ValueError, TypeError), match=said):
        Tool(**parts)


# ------------------------------------------------------------------------------- side by side


def test_dispatches_of_one_turn_run_side_by_side_from_one_snapshot_in_order() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])
    together = threading.Barrier(3)
    snapshots: list[object] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        together.wait(60)  # no call continues before all three have started
        snapshots.append(child.select_all(Note))
        child.seed_slice(Note, [Note(params.instructions)])
        return DispatchSubagentResult(f"did {params.instructions}")

    section = PromptSubagentToolsSection(session=session, runner=Runner(play))
    results = section.dispatch_all(request(text) for text in ("a", "b", "c"))
    assert [result.message for result in results] == ["did a", "did b", "did c"]
    assert snapshots == [(Note("one"),)] * 3
    assert session.select_all(Note) == (Note("one"),)
    assert session.scope.live == ()


@pytest.mark.proves("SUB-022")
def test_dispatches_of_one_turn_do_not_see_what_happens_to_the_parent_meanwhile() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("at the start")])

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        session.seed_slice(Note, [Note("meanwhile")])
        return DispatchSubagentResult(child.select_all(Note)[0].text)

    section = PromptSubagentToolsSection(session=session, runner=Runner(play))
    results = section.dispatch_all([request()] * 3, max_parallel=1)
    assert [result.message for result in results] == ["at the start"] * 3


def test_dispatches_may_start_together_from_an_earlier_snapshot() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("early")])
    context = ToolContext(session, snapshot=session.snapshot())
    session.seed_slice(Note, [Note("late")])

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        return DispatchSubagentResult(child.select_all(Note)[0].text)

    section = PromptSubagentToolsSection(session=session, runner=Runner(play))
    results = section.dispatch_all([request(), request()], context=context)
    assert [result.message for result in results] == ["early", "early"]


def test_a_fault_in_one_of_several_dispatches_stays_its_own() -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        match params.instructions:
            case "raises":
                raise RuntimeError("boom")
            case "rejects":
                raise ToolValidationError("not this")
            case "returns":
                return 3
        return DONE

    section = PromptSubagentToolsSection(session=make_session(), runner=Runner(play))
    texts = ("fine", "raises", "", "rejects", "returns", "fine")
    results = section.dispatch_all(request(text) for text in texts)
    assert [result.message for result in results] == [
        "Done.",
        "Subagent execution failed: boom",
        "Tool validation failed: instructions must be non-empty ASCII text.",
        "Tool validation failed: not this",
        "Subagent execution failed: invalid result payload",
        "Done.",
    ]


def test_no_dispatch_at_all_is_no_result_at_all() -> None:
    section = PromptSubagentToolsSection(session=make_session(), runner=Runner())
    assert section.dispatch_all([]) == ()


def test_dispatches_of_a_state_that_cannot_be_captured_each_say_so() -> None:
    session = make_session()
    session.seed_slice(int, [1])
    section = PromptSubagentToolsSection(session=session, runner=Runner())
    results = section.dispatch_all([request(), request()])
    assert {result.message for result in results} == {
        "Tool validation failed: Unable to capture parent session state."
    }


def test_a_turn_keeps_the_order_of_its_calls_and_only_neighbours_run_together() -> None:
    session = make_session()
    order: list[str] = []
    session.bus.subscribe(ToolInvoked, lambda event: order.append(event.name))
    pair = threading.Barrier(2)

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        pair.wait(60)
        return DispatchSubagentResult(f"{len(child.select_all(Note))} notes")

    dispatch = dispatch_tool(session, Runner(play))
    results = call_tools(
        [
            ToolCall(note_tool(), Note("one")),
            ToolCall(dispatch, request("a")),
            ToolCall(dispatch, request("b")),
            ToolCall(note_tool(), Note("two")),
        ],
        context=ToolContext(session),
    )
    assert [result.message for result in results] == [
        "noted one",
        "1 notes",
        "1 notes",
        "noted two",
    ]
    assert order == ["note", "dispatch_subagent", "dispatch_subagent", "note"]
    assert len(session.select_all(DispatchSubagentResult)) == 2


def test_limits_hold_between_children_that_run_side_by_side() -> None:
    session = make_session(Limits(children=5))
    section = PromptSubagentToolsSection(session=session, runner=Runner())
    results = section.dispatch_all(request() for _ in range(12))
    assert sum(result.success for result in results) == 5
    assert session.scope.usage.children == 5


@pytest.mark.parametrize("texts", [("interrupts", "waits"), ("waits", "interrupts")])
def test_an_interruption_of_one_calls_the_others_off_and_passes_through(
    texts: tuple[str, ...],
) -> None:
    session = make_session()
    both = threading.Barrier(2)
    told = threading.Event()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        both.wait(60)
        if params.instructions == "interrupts":
            raise KeyboardInterrupt
        while child.scope.verdict() is None:
            child.scope.wait(lambda: child.scope.verdict() is not None)
        told.set()
        return DONE

    section = PromptSubagentToolsSection(session=session, runner=Runner(play))
    with pytest.raises(KeyboardInterrupt):
        section.dispatch_all(request(text) for text in texts)
    assert told.wait(60)


def test_a_hundred_children_at_once_leave_nothing_behind() -> None:
    session = make_session()
    session.seed_slice(Note, [Note(str(n)) for n in range(1000)])
    before = session.snapshot().slices
    everyone = threading.Barrier(100)

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        everyone.wait(20)
        assert child.select_all(Note) is before[Note]
        child.seed_slice(Note, [Note(params.instructions)])
        return DispatchSubagentResult(params.instructions)

    section = PromptSubagentToolsSection(session=session, runner=Runner(play))
    asked = [f"task {n}" for n in range(100)]
    results = section.dispatch_all((request(text) for text in asked), max_parallel=100)
    assert [result.message for result in results] == asked
    assert session.snapshot().slices == before
    assert session.scope.live == ()


def test_runners_raising_in_many_threads_leave_nothing_behind() -> None:
    session = make_session()
    section = PromptSubagentToolsSection(session=session, runner=Raises(OSError("x")))
    assert not any(result.success for result in section.dispatch_all([request()] * 20))
    assert session.scope.live == ()
