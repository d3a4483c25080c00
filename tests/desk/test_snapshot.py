"""`tasks.snapshot` and `tasks.execute.next`: the state of the work in two lines."""

from __future__ import annotations

import pytest

from longhouse.kernel.registry import Role
from tests.jobs.kit import claimed, ended, new_job
from tests.kit import Lh
from tests.work.kit import close, new_task, step


@pytest.mark.proves("DEL-038")
def test_at_most_one_active_job_is_shown_and_none_when_none_is(lh: Lh) -> None:
    task, other = new_task(lh, "a"), new_task(lh, "b")
    lh("tasks.focus.set", task=task)
    elsewhere = new_job(lh, "Elsewhere", task=other)
    ended(lh, task=task)
    assert "job" not in lh("tasks.snapshot")
    assert not any("job=" in line for line in lh.lines("tasks.snapshot"))
    new_job(lh, "First", task=task)
    going = new_job(lh, "Second", task=task)
    claimed(lh, going)
    new_job(lh, "Third", task=task)
    assert lh("tasks.snapshot")["job"]["id"] == going
    lines = lh.lines("tasks.snapshot")
    assert sum(line.count("job=") for line in lines) == 1
    assert f"job={going}(RUNNING): Second" in lines[0]
    assert "job" not in lh("tasks.snapshot", plan="PLAN-001")
    assert lh("tasks.snapshot", task=other)["job"]["id"] == elsewhere


def test_the_job_is_shown_with_what_it_asks_and_whether_a_runner_is_there(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.edit", task=task, tags=["urgent", "a:search"])
    lh("tasks.focus.set", task=task)
    assert "runner" not in lh("tasks.snapshot")
    assert "| where=a:search |" in lh.lines("tasks.snapshot")[0]
    fence = claimed(lh, new_job(lh, "Swap the alias", task=task))
    quiet = "job=JOB-001(RUNNING): Swap the alias | "
    assert quiet + "runner=offline! | horizon" in lh.lines("tasks.snapshot")[0]
    assert quiet + "jobs running=1 queued=0 | runner=offline!" in lh.lines("status", view="full")[0]
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle")
    lh("jobs.report", **fence, kind="question", message="May I?")
    lh("jobs.report", **fence, message="Still here")
    for cmd in ("status", "tasks.snapshot"):
        line = lh.lines(cmd)[0]
        assert "job=JOB-001(RUNNING?): May I?" in line, "a question stays until it is answered"
        assert "runner=idle" in line
        assert "!" not in line


@pytest.mark.proves("DEL-004")
def test_the_task_views_are_reached_through_the_tasks_tool(lh: Lh) -> None:
    new_task(lh, "a")
    answer = lh.portal("tasks", op="call", cmd="tasks.snapshot", args={"task": "TASK-001"})
    assert answer.success
    assert answer.envelope["intent"] == "tasks.snapshot"
    assert lh.portal("jobs", op="call", cmd="tasks.snapshot", args={}).code == "UNKNOWN_CMD"


def test_the_happy_path_is_two_lines_and_the_second_runs(lh: Lh) -> None:
    task = new_task(lh, "a", step("b", next_action="Run the profiler"))
    lh("tasks.focus.set", task=task)
    state, command = lh.lines("tasks.snapshot")
    assert state == (
        "focus TASK-001 — Index the search | horizon active=0 backlog=1 parked=0 stale=0 done=0 "
        "total=1 | ref=TASK-001 | next gate s:0 needs(criteria tests) (a)"
    )
    assert command == "tasks cmd=tasks.radar task=TASK-001", "nothing proves that it is done"
    lh("tasks.evidence.capture", checks=["CMD: make test (exit 0)"], checkpoint="tests")
    assert lh.lines("tasks.snapshot")[1] == (
        "tasks op=step.close checkpoints=gate step_id=STEP-00000001 task=TASK-001"
    )
    lh.run_actions(lh.envelope("tasks.snapshot"))
    assert (
        "next gate s:1 needs(criteria tests) do(Run the profiler) (b)"
        in lh.lines("tasks.snapshot")[0]
    )
    close(lh, task)
    assert lh.lines("tasks.snapshot")[0].endswith("| ref=TASK-001 | next finish")
    lh.run_actions(lh.envelope("tasks.snapshot"))
    assert lh.lines("tasks.snapshot")[0].endswith("| ref=TASK-001 | done")


@pytest.mark.parametrize("max_chars", [2, 50, 200, 2_000])
def test_the_ref_survives_any_budget(lh: Lh, max_chars: int) -> None:
    new_task(lh, *[step("s" * 100) for _ in range(20)], description="why " * 500)
    lh("tasks.focus.set", task="TASK-001")
    envelope = lh.envelope("tasks.snapshot", max_chars=max_chars)
    assert envelope["result"]["ref"] == "TASK-001"
    assert envelope["actions"]


def test_status_and_execute_next_give_the_same_actions(lh: Lh) -> None:
    def same() -> None:
        status, following = lh.envelope("status", view="full"), lh.envelope("tasks.execute.next")
        assert status["actions"] == following["actions"]
        assert following["result"]["state_fingerprint"] == status["result"]["state_fingerprint"]
        lh.run_actions(following)

    same()
    task = new_task(lh, "a", step("b", proof={"tests": "require"}))
    same()
    lh("tasks.focus.set", task=task)
    for _ in range(4):
        same()
    lh("tasks.focus.set", plan="PLAN-001")
    same()


def test_with_a_focus_one_is_told_to_open_it_and_to_see_where_it_stands(lh: Lh) -> None:
    lh("tasks.focus.set", task=new_task(lh, "a"))
    ranks = {
        one["action_id"]: one["priority"] for one in lh.envelope("status", view="full")["actions"]
    }
    assert (ranks["next::open.focus"], ranks["next::tasks.snapshot"]) == ("high", "medium")


@pytest.mark.proves("MEM-028")
def test_status_tells_the_last_task_event_and_no_other(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x")
    assert lh("status", view="full").keys() & {"last_task_event", "last_event"} == set()
    event = lh("tasks.plan.create", title="P")["event"]
    lh.clock.advance(5)
    lh("vcs.notes.commit", content="y")
    lh("agents.register", name="amber-otter")
    new_job(lh, "Of no task")
    status = lh("status", view="full")
    assert status["last_task_event"] == {k: event[k] for k in ("event_id", "ts", "ts_ms")}
    assert status["last_event"] == status["last_task_event"]
    assert f"last task_event={event['event_id']} doc=notes@" in lh.lines("status", view="full")[0]


def test_a_look_tells_what_others_did_since_the_last_one(lh: Lh) -> None:
    task = new_task(lh, "a", "b")
    lh("tasks.focus.set", task=task)
    first = lh("tasks.snapshot", delta=True, agent_id="amber-otter")["delta"]
    assert first["count"] == 0, "a first-time caller has seen everything so far"
    close(lh, task, agent_id="cobalt-harbor")
    note = lh("vcs.notes.commit", content="Mine.", agent_id="amber-otter")["ref"]
    again = {"delta": True, "read_only": True, "agent_id": "amber-otter"}
    found = lh("tasks.snapshot", **again)["delta"]
    assert [one["what"].split()[1] for one in found["changes"]] == ["step_done", "step_verified"]
    assert note not in [one.get("ref") for one in found["changes"]], (
        "the caller's own changes are not new"
    )
    for one in found["changes"]:
        assert lh("open", id=one["ref"])
    assert lh("tasks.snapshot", **again)["delta"] == found, (
        "a read-only call does not move the mark"
    )
    assert lh("status", view="full", agent_id="amber-otter")["since"] == {
        "seq": found["since"],
        "changes": 2,
    }
    assert lh("tasks.snapshot", delta=True, agent_id="amber-otter")["delta"] == found
    assert lh("tasks.snapshot", delta=True, agent_id="amber-otter")["delta"]["count"] == 0
    assert lh("tasks.snapshot", delta=True, since=found["since"], read_only=True)["delta"]["count"]
    assert lh("status", view="full", agent_id="amber-otter")["since"]["changes"] == 0


def test_marks_are_kept_per_agent_and_no_stretch_is_skipped(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.focus.set", task=task)
    for who in ("amber-otter", "cobalt-harbor"):
        lh("tasks.snapshot", delta=True, agent_id=who)
    for number in range(250):
        lh("vcs.notes.commit", content=str(number), agent_id="green-finch")
    counts = []
    for _ in range(3):
        delta = lh("tasks.snapshot", delta=True, agent_id="amber-otter")["delta"]
        counts.append((delta["count"], delta["has_more"]))
    assert counts == [(200, True), (50, False), (0, False)]
    lines = lh.lines("tasks.snapshot", delta=True, agent_id="cobalt-harbor")
    assert lines[1].endswith(" count=200")
    assert any(line.startswith("MORE: since=") for line in lines)


def test_a_viewer_may_look_but_not_move_its_mark(lh: Lh) -> None:
    new_task(lh, "a")
    args = {"task": "TASK-001", "delta": True}
    viewer = lh.as_role(Role.VIEWER)
    assert lh.house.dispatcher.call("tasks.snapshot", args, viewer).code == "FORBIDDEN"
    seen = lh.house.dispatcher.call("tasks.snapshot", {**args, "read_only": True}, viewer)
    assert seen.success


def test_who_holds_the_step_and_the_paths_is_shown_to_others(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.focus.set", task=task)
    token = lh("agents.register", name="amber-otter", role="dev")["agent_token"]
    me = {"agent": "amber-otter", "agent_token": token}
    lh("tasks.step.lease.claim", task=task, agent_id="cobalt-harbor")
    lh("agents.reserve", **me, bead_id=task, scope="src/a/*")
    for cmd in ("status", "tasks.snapshot"):
        held = lh(cmd, **me)["held"] if cmd == "status" else lh(cmd, task=task, **me)["held"]
        assert [(one["what"], one["by"], one.get("mine", False)) for one in held] == [
            ("s:0", "cobalt-harbor", False),
            ("src/a/*", "amber-otter", True),
        ]
    assert "held s:0 by cobalt-harbor" in lh.lines("status", view="full")[0]
    assert "| held s:0 by cobalt-harbor |" in lh.lines("tasks.snapshot", task=task)[0]
