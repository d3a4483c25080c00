"""What a recorder is told about a dispatch."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.subagents import (
    DispatchFinished,
    DispatchStarted,
    DispatchSubagent,
    DispatchSubagentError,
    DispatchSubagentResult,
    EventBus,
    NullRecorder,
    Outcome,
    Session,
    SnapshotRestoreError,
    ToolContext,
    ToolValidationError,
    Usage,
)
from tests.subagents.kit import (
    DONE,
    EPOCH,
    ManualClock,
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


def test_a_dispatch_is_recorded_before_it_starts_and_closed_after_it() -> None:
    clock = ManualClock()
    session = make_session(clock=clock)
    session.seed_slice(Note, [Note("one")])
    records = Records()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        assert len(records.starts) == 1
        assert records.finishes == []
        assert child.scope.dispatch_id == records.starts[0].dispatch_id
        child.scope.start_turn()
        child.scope.spend(7)
        for name in ("search", "write", "search"):
            bus.publish(invoked(name))
        clock.seconds = 5
        return DispatchSubagentResult("Done.", ("b.md",))

    asked = request(expected_artifacts=("a.md", "b.md"))
    run(Runner(play), asked, session=session, recorder=records)
    state = session.snapshot()
    assert records.starts == [
        DispatchStarted(
            dispatch_id="D1",
            parent_id=None,
            session_id="session-1",
            depth=1,
            params=asked,
            snapshot=records.starts[0].snapshot,
            started_at=EPOCH,
        )
    ]
    assert records.starts[0].snapshot is not None
    assert records.starts[0].snapshot.digest() == state.digest()
    assert records.finishes == [
        DispatchFinished(
            dispatch_id="D1",
            outcome=Outcome.COMPLETED,
            message="Done.",
            tools=(("search", 2), ("write", 1)),
            usage=Usage(turns=1, tokens=7),
            artifacts=("b.md",),
            missing_artifacts=("a.md",),
            error_type=None,
            finished_at=clock.now(),
        )
    ]


def test_a_nested_dispatch_names_the_one_above_it() -> None:
    session, records = make_session(), Records()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        if child.scope.depth == 1:
            tool.handler(params, context=ToolContext(child))
        return DONE

    tool = dispatch_tool(session, Runner(play), recorder=records)
    tool.handler(request(), context=ToolContext(session))
    assert [(s.dispatch_id, s.parent_id, s.depth) for s in records.starts] == [
        ("D1", None, 1),
        ("D2", "D1", 2),
    ]
    assert [finish.dispatch_id for finish in records.finishes] == ["D2", "D1"]
    assert records.finishes[1].usage == Usage(children=1)


@pytest.mark.parametrize(
    "runner, outcome, message, error_type",
    [
        (Raises(DispatchSubagentError("down")), Outcome.FAILED, "down", "DispatchSubagentError"),
        (Raises(OSError("disk")), Outcome.FAILED, "disk", "OSError"),
        (Runner(lambda *_: 3), Outcome.BAD_RESULT, "invalid result payload", "InvalidResult"),
    ],
)
def test_a_failure_is_recorded_with_its_outcome_and_kind(
    runner: Runner, outcome: Outcome, message: str, error_type: str
) -> None:
    records = Records()
    assert not run(runner, recorder=records).success
    (finish,) = records.finishes
    assert (finish.outcome, finish.message, finish.error_type) == (outcome, message, error_type)


@pytest.mark.proves("SUB-038")
def test_refusals_are_recorded_by_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    records = Records()
    opaque = make_session()
    opaque.seed_slice(int, [1])
    with pytest.raises(ToolValidationError):
        run(Runner(), session=opaque, recorder=records)
    assert records.starts[0].snapshot is None
    with pytest.raises(ToolValidationError):
        run(Raises(ToolValidationError("no")), recorder=records)

    def broken(self: Session, snapshot: Any) -> None:
        raise SnapshotRestoreError("does not fit")

    monkeypatch.setattr(Session, "rollback", broken)
    with pytest.raises(ToolValidationError):
        run(Runner(), recorder=records)
    assert [finish.outcome for finish in records.finishes] == [
        Outcome.CAPTURE_FAILED,
        Outcome.RUNNER_REJECTED,
        Outcome.HYDRATE_FAILED,
    ]


def test_a_refusal_deep_below_is_the_runners_at_each_level_above() -> None:
    session, records = make_session(), Records()

    def play(child: Session, bus: EventBus, params: DispatchSubagent) -> Any:
        child.seed_slice(int, [1])  # so that the nested dispatch cannot capture it
        return tool.handler(params, context=ToolContext(child)).value

    tool = dispatch_tool(session, Runner(play), recorder=records)
    with pytest.raises(ToolValidationError):
        tool.handler(request(), context=ToolContext(session))
    assert [finish.outcome for finish in records.finishes] == [
        Outcome.CAPTURE_FAILED,
        Outcome.RUNNER_REJECTED,
    ]


@pytest.mark.proves("SUB-014")
def test_an_invalid_request_is_no_dispatch_and_is_not_recorded() -> None:
    records = Records()
    with pytest.raises(ToolValidationError):
        run(Runner(), request(""), recorder=records)
    assert (records.starts, records.finishes) == ([], [])


class BrokenRecorder(NullRecorder):
    def __init__(self, at: str) -> None:
        self._at = at

    def started(self, start: DispatchStarted, /) -> None:
        if self._at == "start":
            raise OSError("store is gone")

    def finished(self, finish: DispatchFinished, /) -> None:
        if self._at == "finish":
            raise OSError("store is gone")


def test_a_dispatch_that_cannot_be_recorded_does_not_start() -> None:
    runner = Runner()
    result = run(runner, recorder=BrokenRecorder("start"))
    assert result.message == (
        "Subagent execution failed: the dispatch could not be recorded: store is gone"
    )
    assert runner.sessions == []


def test_a_result_stands_even_if_its_record_cannot_be_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert run(Runner(), recorder=BrokenRecorder("finish")).success
    assert "the record of dispatch D1 could not be closed" in caplog.text


def test_the_null_recorder_keeps_nothing() -> None:
    assert run(Runner(), recorder=NullRecorder()).success
