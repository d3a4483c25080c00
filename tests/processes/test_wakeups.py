"""Wake-ups: only by a rule, once per ending, recorded, and nothing but a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.client.feed import pages
from longhouse.dispatch import Caller
from longhouse.house import House
from longhouse.kernel.registry import Role
from tests.crew.kit import join
from tests.kit import Lh
from tests.processes.kit import RECORDED, Runner, allow, ended, imported, running, spawned
from tests.processes.test_belonging import loop


@pytest.fixture
def ada(lh: Lh) -> str:
    return str(join(lh, "ada")["agent"])


def inbox(lh: Lh, who: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lh("agents.inbox", agent=who)["messages"]
    return found


def events(lh: Lh, kind: str = "woke") -> list[dict[str, Any]]:
    rows = (row for page in pages(lh.house, 0, workspace=None, follow=False) for row in page)
    return [row for row in rows if row["stream"] == "policy" and row["kind"] == kind]


def end(lh: Lh, *, code: int | None = 0, status: str = "exited", **more: Any) -> str:
    runner = Runner(lh)
    task_id = runner.start(**more)
    runner.append(task_id, ended(status, code))
    return task_id


@pytest.mark.proves("TTA-024")
def test_without_a_rule_the_end_of_a_task_tells_nobody(lh: Lh, ada: str) -> None:
    end(lh, code=1)
    assert inbox(lh, ada) == []
    assert events(lh) == []


@pytest.mark.proves("TTA-023", "TTA-024")
def test_a_rule_tells_an_agent_of_an_end_and_the_log_names_the_rule(lh: Lh, ada: str) -> None:
    made = lh("tool.wakeup_add", name="tests", ending="failure", agent=ada, message="Look again.")
    assert made["rule"]["id"] == "WAKE-001"
    task_id = end(lh, code=2, name="tests")
    (message,) = inbox(lh, ada)
    assert message["subject"] == f"{task_id} tests exited with code 2"
    assert "Look again." in message["body"]
    assert (message["from_agent"], message["bead_id"]) == ("WAKE-001", task_id)
    (event,) = events(lh)
    assert event["subject"] == "WAKE-001"
    data = event["data"]
    assert (data["task_id"], data["status"], data["exit_code"]) == (task_id, "exited", 2)
    assert data["artifact_refs"] == [f"{task_id}/stdout", f"{task_id}/stderr"]
    assert (data["rule"], data["message"]) == ("WAKE-001", message["message_id"])


@pytest.mark.parametrize(
    "rule, told",
    [
        ({}, ["exited 0", "exited 3", "cancelled None"]),
        ({"ending": "success"}, ["exited 0"]),
        ({"ending": "failure"}, ["exited 3", "cancelled None"]),
        ({"name": "te*"}, ["exited 3"]),
        ({"tool": "exec"}, []),
        ({"tool": "bash", "name": "tests", "ending": "failure"}, ["exited 3"]),
    ],
)
def test_a_rule_applies_to_what_matches_all_that_it_says(
    lh: Lh, ada: str, rule: dict[str, str], told: list[str]
) -> None:
    lh("tool.wakeup_add", agent=ada, **rule)
    end(lh)
    end(lh, code=3, name="tests")
    runner = Runner(lh)
    gone = runner.start()
    lh("tool.task_cancel", task_id=gone)
    over = {"type": "tool_task_cancelled", "reason": "cancel", "op_id": f"{gone}.1"}
    runner.append(gone, over, ended("cancelled", None))
    data = [event["data"] for event in events(lh)]
    assert [f"{one['status']} {one['exit_code']}" for one in data] == told


def test_a_job_is_told_in_its_thread_and_no_question_of_it_counts_as_answered(lh: Lh) -> None:
    job = lh("jobs.create", title="Look", prompt="Look.")["job"]["id"]
    claim = lh("jobs.claim", runner_id="r1", job=job)["job"]
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    lh("jobs.question", message="Which one?", **fence)
    lh("tool.wakeup_add", job=job)
    task_id = end(lh, code=1)
    view = lh("jobs.open", job=job)
    woken = [event for event in view["events"] if event["kind"] == "woken"]
    assert [event["refs"] for event in woken] == [[task_id]]
    assert f"{task_id} exited with code 1" in woken[0]["message"]
    assert view["attention"]["needs_manager"]


def test_an_end_that_is_told_again_wakes_nobody_again(
    lh: Lh, ada: str, new_house: Callable[..., House]
) -> None:
    lh("tool.wakeup_add", agent=ada)
    runner = Runner(lh)
    task_id = runner.start()
    base = lh("tool.task_status", task_id=task_id)["task"]["next_seq"]
    runner.append(task_id, ended(), base_seq=base)
    assert runner.append(task_id, ended(), base_seq=base)["repeated"]
    again = Lh(new_house(), lh.clock)  # as after a crash: the runner does not know what was taken
    runner.lh = again
    runner.hold()
    assert runner.append(task_id, ended(), base_seq=base)["repeated"]
    assert len(inbox(again, ada)) == len(events(again)) == 1


def test_a_rule_whose_agent_is_gone_does_not_hold_up_the_end_and_says_so(lh: Lh) -> None:
    mine = join(lh, "ada")
    lh("tool.wakeup_add", agent="ada")
    lh("agents.retire", **mine)
    task_id = end(lh)
    assert lh("tool.task_status", task_id=task_id)["task"]["status"] == "exited"
    (event,) = events(lh)
    assert "retired" in event["data"]["undelivered"]


def test_a_task_that_never_began_and_a_recording_wake_nobody(lh: Lh, ada: str) -> None:
    lh("tool.wakeup_add", agent=ada)
    lh("tool.task_cancel", task_id=spawned(lh))
    lh.refused("tool.task_spawn", tool="bash", args={})
    imported(lh, RECORDED.encode())
    assert events(lh) == []


def test_a_command_that_fails_while_it_runs_wakes_and_says_why(lh: Lh, ada: str) -> None:
    allow(lh)
    lh("tool.wakeup_add", agent=ada, ending="failure")
    task_id = lh("tool.task_spawn", tool="jobs.cancel", args={"job": "JOB-999"})["task_id"]
    loop(lh, "carry_out")
    (message,) = inbox(lh, ada)
    assert message["subject"] == f"{task_id} failed (unknown_id)"


def test_a_command_that_is_refused_before_it_runs_wakes_nobody(lh: Lh, ada: str) -> None:
    lh("tool.wakeup_add", agent=ada)
    rule = lh("tool.policy_allow", tool="tasks.plan.create")["rule"]["id"]
    lh("tool.task_spawn", tool="tasks.plan.create", args={"title": "Search"})
    lh("tool.policy_withdraw", rule=rule)
    loop(lh, "carry_out")
    assert lh("tool.task_list")["tasks"][0]["cause"] == "policy_denied"
    assert events(lh) == []


def test_a_wake_up_starts_nothing_but_a_message(lh: Lh, ada: str) -> None:
    lh("tool.wakeup_add", agent=ada)
    task_id = end(lh)
    assert [one["task_id"] for one in lh("tool.task_list")["tasks"]] == [task_id]
    assert lh("jobs.list")["jobs"] == []


def test_rules_are_listed_and_taken_back(lh: Lh, ada: str) -> None:
    lh("tool.wakeup_add", agent=ada)
    assert [rule["agent"] for rule in lh("tool.wakeup_list")["rules"]] == [ada]
    before = lh("status")["seq"]
    assert not lh("tool.wakeup_remove", rule="WAKE-001")["in_force"]
    assert lh("status")["seq"] == before + 1, "the log tells of it"
    assert lh("tool.wakeup_list")["rules"] == []
    end(lh)
    assert inbox(lh, ada) == []
    for cmd, rule in (("tool.wakeup_remove", "WAKE-001"), ("tool.policy_withdraw", "RULE-001")):
        refused = lh.envelope(cmd, rule=rule)
        assert f"no {rule} is in force" in refused["error"]["message"]
        assert lh.run_actions(refused)


@pytest.mark.parametrize(
    "args, said",
    [
        ({}, "an agent or a job"),
        ({"agent": "ada", "job": "JOB-001"}, "an agent or a job"),
        ({"agent": "nobody"}, "nobody"),
        ({"job": "JOB-404"}, "JOB-404"),
        ({"agent": "ada", "ending": "sometimes"}, "ending"),
        ({"agent": "ada", "name": "../x"}, "name"),
    ],
)
def test_a_rule_that_could_tell_nobody_is_refused(
    lh: Lh, ada: str, args: dict[str, str], said: str
) -> None:
    assert said in lh.refused("tool.wakeup_add", **args)["message"]
    assert lh("tool.wakeup_list")["rules"] == []


def test_only_the_operator_makes_rules(lh: Lh, ada: str) -> None:
    for role in (Role.AGENT, Role.MANAGER):
        answer = lh.house.call("tool.wakeup_add", {"agent": ada}, Caller(role))
        assert answer.code == "FORBIDDEN"


def test_a_task_that_runs_has_woken_nobody_yet(lh: Lh, ada: str) -> None:
    lh("tool.wakeup_add", agent=ada)
    task_id = spawned(lh)
    runner = Runner(lh)
    runner.claim()
    runner.append(task_id, running())
    assert events(lh) == []
