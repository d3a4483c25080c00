"""One dispatch, from the request to the result."""

from __future__ import annotations

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
    SnapshotRestoreError,
    SnapshotSerializationError,
    ToolCall,
    ToolContext,
    ToolInvoked,
    ToolResult,
    ToolValidationError,
    append_all,
    call_tool,
)
from longhouse.subagents.package import ToolUsage
from tests.subagents.kit import (
    DONE,
    Board,
    Note,
    Raises,
    Runner,
    dispatch_tool,
    invoked,
    make_session,
    request,
    run,
)


@pytest.mark.proves("SUB-001", "SUB-006", "SUB-017", "SUB-035", "SUB-041", "SUB-042")
def test_a_dispatch_runs_the_child_and_returns_its_summary_artifacts_and_tools() -> None:
    session = make_session()
    session.seed_slice(Note, [Note("of the parent")])
    seen: list[tuple[Note, ...]] = []

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> DispatchSubagentResult:
        seen.append(child.select_all(Note))
        bus.publish(invoked("child_tool", Note("of the child")))
        seen.append(child.select_all(Note))
        return DispatchSubagentResult(f"Did: {params.instructions}", ("draft.md",))

    runner = Runner(play)
    given = request("  Write the draft. ", expected_artifacts=[" draft.md "])
    result = run(runner, given, session=session)

    assert result == ToolResult(
        "Did: Write the draft.",
        value=DispatchSubagentResult("Did: Write the draft.", ("draft.md",), ("child_tool",)),
        success=True,
    )
    assert result.value is not None
    assert result.message == result.value.message_summary
    assert seen == [
        (Note("of the parent"),),
        (Note("of the parent"), Note("of the child")),
    ]
    (params,) = runner.params
    assert params is not given
    assert params == request("Write the draft.", expected_artifacts=("draft.md",))
    assert runner.sessions[0] is not session
    assert runner.buses[0] is not session.bus
    assert isinstance(runner.buses[0], InProcessEventBus)
    assert session.select_all(Note) == (Note("of the parent"),)


@pytest.mark.proves("SUB-003", "SUB-017", "SUB-025")
def test_the_runner_gets_the_whole_request_and_no_registry_is_asked_for_its_prompt() -> None:
    runner = Runner()
    given = DispatchSubagent("plan_step", "no such ns", "no such key", "x", ("a",), "S001")
    assert run(runner, given).success
    assert runner.params == [given]
    assert runner.params[0] is not given  # although there was nothing to normalize


@pytest.mark.proves("SUB-021", "SUB-032", "SUB-033", "SUB-040")
def test_a_child_has_the_identity_slices_and_reducers_of_its_parent_and_its_own_store() -> None:
    session = make_session()
    session.register_reducer(Note, append_all, slice_type=Board)
    session.register_reducer(Note, append_all)
    session.seed_slice(Note, [Note("one")])
    seen: dict[str, Any] = {}

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        seen["id"] = (child.session_id, child.created_at)
        seen["slices"] = {kind: child.select_all(kind) for kind in child.slice_types()}
        seen["reducers"] = child.registrations(Note)
        seen["bus"] = child.bus is bus
        child.seed_slice(Note, ())
        child.register_reducer(Board, append_all)
        return DONE

    run(Runner(play), session=session)
    assert seen == {
        "id": (session.session_id, session.created_at),
        "slices": {kind: session.select_all(kind) for kind in session.slice_types()},
        "reducers": session.registrations(Note),
        "bus": True,
    }
    assert seen["slices"] == {Note: (Note("one"),), Board: ()}
    assert session.select_all(Note) == (Note("one"),)
    assert session.registrations(Board) == ()


@pytest.mark.proves("SUB-013", "SUB-022")
def test_the_parents_snapshot_is_taken_and_loaded_before_the_runner_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = make_session()
    session.seed_slice(Note, [Note("one")])
    steps: list[Any] = []
    snapshot, rollback = Session.snapshot, Session.rollback

    def spy_snapshot(self: Session) -> Any:
        taken = snapshot(self)
        steps.append(("snapshot", self is session, dict(taken.slices)))
        return taken

    def spy_rollback(self: Session, taken: Any) -> None:
        steps.append(("rollback", self is session, dict(taken.slices)))
        rollback(self, taken)

    monkeypatch.setattr(Session, "snapshot", spy_snapshot)
    monkeypatch.setattr(Session, "rollback", spy_rollback)

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        steps.append("runner")
        return DONE

    run(Runner(play), session=session)
    state = {Note: (Note("one"),)}
    assert steps == [("snapshot", True, state), ("rollback", False, state), "runner"]


@pytest.mark.proves("SUB-031")
def test_what_the_parent_was_seeded_with_is_there_in_the_child_as_the_same_objects() -> None:
    session = make_session()
    mount = Board(tuple(Note(f"/file/{n}") for n in range(50)))
    session.seed_slice(Board, [mount])

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        assert not child.seed_if_absent(Board, [Board()])  # as a tool's set-up would
        (inherited,) = child.select_all(Board)
        assert inherited is mount
        return DONE

    assert run(Runner(play), session=session).success


@pytest.mark.proves("SUB-002", "SUB-024", "SUB-026", "SUB-034")
def test_nothing_that_happens_in_the_child_reaches_the_parents_session_or_bus() -> None:
    session = make_session()
    session.register_reducer(Note, append_all)
    session.seed_slice(Note, [Note("one")])
    heard: list[object] = []
    session.bus.subscribe(ToolInvoked, heard.append)
    session.bus.subscribe(PromptExecuted, heard.append)
    before = session.snapshot()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        bus.publish(invoked("writer", Note("two")))
        child.seed_slice(Note, [Note("three")])
        child.seed_slice(Board, [Board()])
        child.rollback(child.snapshot())
        return DONE

    for outcome in (Runner(play), Runner(lambda c, b, p: (play(c, b, p), 1 / 0))):
        run(outcome, session=session)
        assert session.snapshot() == before
        assert heard == []
        assert outcome.sessions[0].closed


@pytest.mark.proves("SUB-023", "SUB-029")
def test_tools_used_are_those_recorded_failed_ones_too_once_each_in_first_seen_order() -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        for name in ("search", "write", "search", "read"):
            bus.publish(invoked(name, success=name != "write"))
        return DONE

    value = run(Runner(play)).value
    assert value is not None
    assert value.tools_used == ("search", "write", "read")


@pytest.mark.proves("SUB-029")
def test_tools_used_that_the_runner_tells_are_kept() -> None:
    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        bus.publish(invoked("recorded"))
        return DispatchSubagentResult("Done.", tools_used=("told", "told"))

    value = run(Runner(play)).value
    assert value is not None
    assert value.tools_used == ("told", "told")


@pytest.mark.proves("SUB-023")
def test_the_usage_of_tools_counts_every_call_and_names_each_tool_once() -> None:
    usage = ToolUsage()
    for name in ("a", "a", "b"):
        usage.handle(invoked(name))
    assert usage.names() == ("a", "b")
    assert usage.counts() == (("a", 2), ("b", 1))


@pytest.mark.proves("SUB-028", "SUB-042")
def test_delivered_artifacts_come_back_unchanged_whatever_was_expected() -> None:
    delivered = ("b.md", " spaced ", "b.md", "caf\u00e9.md", "x" * 500)
    runner = Runner(lambda *_: DispatchSubagentResult("Done.", artifacts=delivered))
    value = run(runner, request(expected_artifacts=("a.md",))).value
    assert value is not None
    assert value.artifacts == delivered
    assert value.missing(request(expected_artifacts=("a.md", "b.md"))) == ("a.md",)


@pytest.mark.proves("SUB-027", "SUB-035")
def test_a_summary_is_handed_on_in_ascii_and_bounded() -> None:
    wordy = run(Runner(lambda *_: DispatchSubagentResult("na\u00efve \u2014 " + "x" * 9000)))
    assert wordy.success
    assert wordy.message.startswith("naive - xxx")
    assert wordy.message.isascii()
    assert len(wordy.message) == 4000
    assert wordy.message.endswith(" [cut: 9008 characters]")
    assert wordy.value is not None
    assert wordy.value.message_summary == wordy.message


@pytest.mark.proves("SUB-030", "SUB-036")
@pytest.mark.parametrize(
    "error, message",
    [
        (DispatchSubagentError("model down"), "Subagent execution failed: model down"),
        (RuntimeError("boom"), "Subagent execution failed: boom"),
        (ZeroDivisionError(), "Subagent execution failed: ZeroDivisionError"),
        (ValueError("\u00fcber"), "Subagent execution failed: uber"),
        (ExceptionGroup("many", [ValueError("x")]), "Subagent execution failed: many (1 sub-exc"),
        (MemoryError(), "Subagent execution failed: MemoryError"),
        (StopIteration(), "Subagent execution failed: StopIteration"),
        (RuntimeError("y" * 90_000), "Subagent execution failed: yyy"),
    ],
)
def test_an_error_of_the_runner_is_a_failed_result_without_a_payload(
    error: Exception, message: str
) -> None:
    result = run(Raises(error))
    assert result.message.startswith(message)
    assert result.message.isascii()
    assert len(result.message) < 4_100
    assert result == ToolResult(result.message, value=None, success=False)


@pytest.mark.proves("SUB-030")
def test_a_validation_error_of_the_runner_is_raised() -> None:
    with pytest.raises(ToolValidationError, match="this runner knows no plan steps"):
        run(Raises(ToolValidationError("this runner knows no plan steps")))


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.proves("SUB-036")
def test_an_error_that_cannot_say_what_it_is_goes_by_its_class() -> None:
    assert run(Raises(Silent())).message == "Subagent execution failed: Silent"


class Chameleon(DispatchSubagentResult):
    """Looks like a result until it is read."""

    def __getattribute__(self, name: str) -> Any:
        if name == "artifacts":
            raise OSError("gone")
        return super().__getattribute__(name)


@pytest.mark.proves("SUB-037")
@pytest.mark.parametrize(
    "returned",
    [
        None,
        object(),
        "Done.",
        {"message_summary": "Done."},
        DispatchSubagentResult,
        DispatchSubagentResult(7),  # type: ignore[arg-type]
        DispatchSubagentResult("Done.", artifacts="draft.md"),  # type: ignore[arg-type]
        DispatchSubagentResult("Done.", artifacts=(1,)),  # type: ignore[arg-type]
        DispatchSubagentResult("Done.", tools_used=None),  # type: ignore[arg-type]
        object.__new__(DispatchSubagentResult),
        Chameleon("Done."),
        ToolResult("Done.", DONE),
        ToolValidationError("returned, not raised"),
    ],
)
def test_a_runner_that_returns_anything_else_fails_with_an_explicit_message(returned: Any) -> None:
    assert run(Runner(lambda *_: returned)) == ToolResult(
        "Subagent execution failed: invalid result payload", value=None, success=False
    )


@pytest.mark.proves("SUB-037")
def test_a_coroutine_is_no_result_and_leaves_no_warning_behind() -> None:
    async def unawaited(*, session: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        return DONE

    result = run(unawaited)  # type: ignore[arg-type]
    assert result.message == "Subagent execution failed: invalid result payload"


@pytest.mark.proves("SUB-037")
def test_a_result_without_a_summary_fails() -> None:
    result = run(Runner(lambda *_: DispatchSubagentResult("  ")))
    assert (result.success, result.value) == (False, None)
    assert result.message == "Subagent execution failed: empty result summary"


class Tagged(str):  # noqa: SLOT000
    """A string with extra state."""


def test_a_result_is_rebuilt_from_plain_values_so_that_nothing_else_comes_along() -> None:
    label = Tagged("a.md")
    label.luggage = ["child state"]  # type: ignore[attr-defined]
    returned = DispatchSubagentResult(Tagged("Done."), [label], [])  # type: ignore[arg-type]
    value = run(Runner(lambda *_: returned)).value
    assert value == DispatchSubagentResult("Done.", ("a.md",))
    assert value is not returned
    assert {type(value.message_summary), type(value.artifacts[0])} == {str}


@pytest.mark.proves("SUB-038", "SUB-043")
def test_a_state_that_cannot_be_captured_raises_a_validation_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Session) -> Any:
        raise SnapshotSerializationError("Unable to serialize session slices")

    monkeypatch.setattr(Session, "snapshot", broken)
    runner = Runner()
    with pytest.raises(ToolValidationError) as refused:
        run(runner)
    assert str(refused.value) == "Unable to capture parent session state."
    assert isinstance(refused.value.__cause__, SnapshotSerializationError)
    assert runner.sessions == []


@pytest.mark.proves("SUB-038", "SUB-043")
def test_a_snapshot_that_cannot_be_loaded_raises_a_validation_error_and_leaves_no_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Session, snapshot: Any) -> None:
        raise SnapshotRestoreError("does not fit")

    monkeypatch.setattr(Session, "rollback", broken)
    session, runner = make_session(), Runner()
    with pytest.raises(ToolValidationError) as refused:
        run(runner, session=session)
    assert str(refused.value) == "Unable to hydrate child session from snapshot."
    assert isinstance(refused.value.__cause__, SnapshotRestoreError)
    assert runner.sessions == []
    assert session.scope.live == ()
    call = ToolCall(dispatch_tool(session, runner), request())
    results = [call_tool(call, context=ToolContext(session)) for _ in range(3)]
    message = "Tool validation failed: Unable to hydrate child session from snapshot."
    assert results == [ToolResult(message, value=None, success=False)] * 3


def _opaque_state() -> Session:
    session = make_session()
    session.seed_slice(int, [1])
    return session


@pytest.mark.proves("SUB-038", "SUB-043")
@pytest.mark.parametrize(
    "make, runner, message",
    [
        (
            _opaque_state,
            Runner(),
            "Tool validation failed: Unable to capture parent session state.",
        ),
        (
            make_session,
            Raises(ToolValidationError("not this mode")),
            "Tool validation failed: not this mode",
        ),
        (make_session, Raises(KeyError("lost")), "Subagent execution failed: 'lost'"),
        (make_session, Runner(lambda *_: 3), "Subagent execution failed: invalid result payload"),
    ],
)
def test_at_the_boundary_of_tool_calls_every_fault_is_the_same_result_on_every_run(
    make: Any, runner: Runner, message: str
) -> None:
    session = make()
    call = ToolCall(dispatch_tool(session, runner), request())
    results = [call_tool(call, context=ToolContext(session)) for _ in range(3)]
    assert results == [ToolResult(message, value=None, success=False)] * 3
