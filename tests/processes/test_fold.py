"""Status is a pure fold of frames: whatever happens, frames, rows and answers say the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from longhouse.house import House
from longhouse.kernel.tool_tasks import Status
from longhouse.processes.state import MOVES, IllegalFrame, TaskState, apply, fold
from tests.kit import Lh, ManualClock
from tests.processes.kit import Runner, ended, out, running, spawned
from tests.processes.test_tasks import complaints

SPAWNED = {"type": "tool_task_spawned", "execution_mode": "pipes"}
FOLDED = (
    *("status", "next_seq", "pid", "started_at_ms", "ended_at_ms", "exit_code", "signal"),
    *("cause", "error", "cancel_reason", "ports"),
)


def as_told(state: TaskState) -> dict[str, Any]:
    return {name: getattr(state, name) for name in FOLDED}


def frames_of(lh: Lh, task_id: str) -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = []
    while True:
        after = len(frames) - 1
        page = lh("tool.task_stream_events", task_id=task_id, after_seq=after)
        frames += page["frames"]
        if not page["has_more"]:
            return frames


@pytest.mark.proves("TTA-033", "TTA-043")
def test_after_every_frame_the_answer_is_the_fold_of_the_frames_so_far(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = spawned(lh)
    runner.claim()
    told = [
        running(),
        out(0, "one\n"),
        out(0, "err\n", "stderr"),
        {"type": "tool_task_ports", "ports": [8080]},
        out(4, "two\n"),
    ]
    answers = [lh("tool.task_status", task_id=task_id)["task"]]
    for frame in told:
        runner.append(task_id, frame)
        answers.append(lh("tool.task_status", task_id=task_id)["task"])
    lh("tool.task_cancel", task_id=task_id, reason="enough")
    answers.append(lh("tool.task_status", task_id=task_id)["task"])
    cancelled = {"type": "tool_task_cancelled", "reason": "enough", "op_id": f"{task_id}.1"}
    runner.append(task_id, cancelled)
    answers.append(lh("tool.task_status", task_id=task_id)["task"])
    runner.append(task_id, ended("cancelled", None, signal="TERM", started_at_ms=1))
    answers.append(lh("tool.task_status", task_id=task_id)["task"])
    said = [(one["status"], one["ports"], one["cancel_reason"]) for one in answers]
    runs: list[tuple[str, list[int], str | None]]
    runs = [("running", [], None)] * 3 + [("running", [8080], None)] * 2
    asked = [("running", [8080], "enough")] * 2
    assert said == [("queued", [], None), *runs, *asked, ("cancelled", [8080], "enough")]
    frames = frames_of(lh, task_id)
    assert [frame["seq"] for frame in frames] == list(range(len(frames)))
    for count, answer in enumerate(answers, 2):
        state = fold(frames[:count])
        assert as_told(state) == {name: answer[name] for name in FOLDED}
        for stream, log in answer["artifacts"]["logs"].items():
            assert log["bytes"] == state.streams[stream].bytes
    assert frames[0]["type"] == "tool_task_spawned"
    assert frames[-1]["status"] == "cancelled"


kinds = st.one_of(
    st.sampled_from(["running", "exited", "cancelled", "failed"]).map(
        lambda status: {"type": "tool_task_status", "status": status}
    ),
    st.builds(
        lambda at, size: {"type": "tool_stdout", "offset_bytes": at, "bytes": size, "chunk": "x"},
        st.integers(0, 4),
        st.integers(0, 2),
    ),
    st.just({"type": "tool_task_cancel_requested", "reason": "r"}),
    st.just({"type": "tool_task_cancelled", "reason": "r"}),
    st.sampled_from(["allow", "deny"]).map(
        lambda decision: {"type": "tool_policy_decided", "decision": decision}
    ),
    st.just({"type": "tool_task_ports", "ports": [1]}),
    st.just(SPAWNED),
)


@pytest.mark.proves("TTA-016", "TTA-042")
def test_the_moves_are_those_of_the_contract() -> None:
    """Written out by hand: the statuses that may follow each status, and none follows an end."""
    ends: set[Status] = {"exited", "cancelled", "failed"}
    assert {
        "queued": {"running", "cancelled", "failed"},
        "running": ends,
        **{status: set() for status in ends},
    } == MOVES


def test_the_last_frame_decides_how_a_task_ended() -> None:
    start = {"type": "tool_task_status", "status": "running", "pid": 7, "started_at_ms": 3}
    end = {
        "type": "tool_task_status",
        "status": "exited",
        "exit_code": 5,
        "signal": "TERM",
        "cause": "timeout",
        "error": "too long",
        "ended_at_ms": 9,
        "leftovers": [{"pid": 8}],
    }
    state = fold([SPAWNED, start, end])
    told = (state.exit_code, state.signal, state.cause, state.error)
    assert told == (5, "TERM", "timeout", "too long")
    assert (state.pid, state.started_at_ms, state.ended_at_ms) == (7, 3, 9)
    assert state.leftovers == [{"pid": 8}]


@pytest.mark.proves("TTA-016", "TTA-042")
@given(st.lists(kinds, max_size=12))
def test_a_story_that_is_accepted_makes_only_legal_moves(frames: list[dict[str, Any]]) -> None:
    state = apply(TaskState(), SPAWNED["type"], SPAWNED)
    for frame in frames:
        try:
            after = apply(state, frame["type"], frame)
        except IllegalFrame:
            continue
        assert not state.ended
        assert after.status == state.status or after.status in MOVES[state.status]
        assert after.next_seq == state.next_seq + 1
        if after.status == "cancelled":
            assert state.cancelled
            assert state.cancel_reason is not None
        before, now = state.streams["stdout"].bytes, after.streams["stdout"].bytes
        assert now - before == (frame["bytes"] if frame["type"] == "tool_stdout" else 0)
        state = after


class Tasks(RuleBasedStateMachine):
    """People and a runner, in any order: only the transitions of the table happen."""

    make: Callable[[], Lh]
    numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.lh = self.make()
        self.runner = Runner(self.lh, host_id=f"host-{next(self.numbers):08d}")
        self.ids: list[str] = []
        self.seen: dict[str, Status] = {}

    @rule()
    def spawn(self) -> None:
        if len(self.ids) < 3:
            self.ids.append(spawned(self.lh))

    @rule()
    def claim(self) -> None:
        self.runner.claim(limit=1)

    @rule()
    def another_runner_takes_over(self) -> None:
        self.runner.hold()

    @rule(pick=st.integers(0, 2))
    def cancel(self, pick: int) -> None:
        if pick < len(self.ids):
            self.lh("tool.task_cancel", task_id=self.ids[pick])

    @rule(
        pick=st.integers(0, 2),
        frames=st.lists(
            st.sampled_from(
                [
                    running(),
                    out(0, "x"),
                    ended(),
                    ended("failed", None, error="no"),
                    {"type": "tool_task_cancelled", "reason": "cancel"},
                    ended("cancelled", None),
                ]
            ),
            min_size=1,
            max_size=3,
        ),
    )
    def tell(self, pick: int, frames: list[dict[str, Any]]) -> None:
        if pick < len(self.ids):
            args = self.runner.args(self.ids[pick], frames, None)
            answer = self.lh.envelope("tool.task_append", **args)
            assert answer["success"] or answer["error"]["code"] == "CONFLICT"

    @invariant()
    def only_legal_moves_happen_and_the_fold_agrees(self) -> None:
        for task_id in self.ids:
            status: Status = self.lh("tool.task_status", task_id=task_id)["task"]["status"]
            before = self.seen.get(task_id, "queued")
            steps = MOVES[before] | {after for one in MOVES[before] for after in MOVES[one]}
            assert status == before or status in steps
            self.seen[task_id] = status
            assert fold(frames_of(self.lh, task_id)).status == status
        assert complaints(self.lh) == []


def test_any_order_of_calls_keeps_the_rules(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    lh = Lh(new_house(), clock)
    machine = type("Machine", (Tasks,), {"make": staticmethod(lambda: lh)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_verify_notices_a_row_that_is_not_what_its_frames_say(lh: Lh) -> None:
    from longhouse.processes.room import sql

    task_id = Runner(lh).start()
    broken = {"n": 1, "status": "exited", "next_at": 3, "state": '{"status":"exited"}', "seq": 9}
    lh.house.db.write("acme", lambda tx: tx.run(sql.task_fold, **broken), lh.house._call())
    assert complaints(lh) == [f"{task_id} is exited, but its frames say running"]
