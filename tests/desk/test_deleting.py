"""Deleting or canceling a task: what hangs on it is named, then ended or kept as asked."""

from __future__ import annotations

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.crew.kit import join
from tests.kit import Lh
from tests.processes.kit import allow
from tests.security.kit import Outsider
from tests.work.kit import new_task


def world(lh: Lh) -> str:
    """A task with a queued job, a reservation, and a step that someone else holds."""
    task = new_task(lh, "a")
    lh("jobs.create", title="Fuzz it", prompt="For an hour.", task=task)
    otter = join(lh, "amber-otter")
    lh("agents.reserve", **otter, scope="src/parser.py", bead_id=task)
    return task


def test_what_hangs_on_a_task_is_named_and_nothing_is_done(lh: Lh) -> None:
    task = world(lh)
    error = lh.refused("tasks.delete", task=task)
    assert error["code"] == "CONFLICT"
    for named in ("JOB-001", "src/parser.py", "amber-otter", "fix: hanging=end"):
        assert named in error["message"]
    assert lh("tasks.radar", task=task)["target"]["status"] == "TODO"
    lh.run_actions(lh.envelope("tasks.delete", task=task))


def test_it_is_ended_when_asked(lh: Lh) -> None:
    task = world(lh)
    lh("tasks.step.lease.claim", task=task, agent_id="heron")
    gone = lh("tasks.delete", task=task, hanging="end")
    assert [(one["kind"], one["outcome"]) for one in gone["hanging"]] == [
        ("job", "ended"),
        ("lease", "ended"),
        ("reservation", "ended"),
    ]
    assert lh("jobs.open", job="JOB-001")["job"]["status"] == "CANCELED"
    assert lh("agents.status")["reservations"] == []
    assert lh.refused("tasks.radar", task=task)["code"] == "UNKNOWN_ID"


def test_it_is_kept_when_asked_but_for_a_lease_which_refuses(lh: Lh) -> None:
    task = world(lh)
    lh("tasks.step.lease.claim", task=task, agent_id="heron")
    assert lh.refused("tasks.delete", task=task, hanging="keep")["code"] == "STEP_LEASE_HELD"
    lh("tasks.step.lease.release", task=task, agent_id="heron")
    gone = lh("tasks.delete", task=task, hanging="keep")
    assert {one["outcome"] for one in gone["hanging"]} == {"kept"}
    assert lh("jobs.open", job="JOB-001")["job"]["status"] == "QUEUED"
    assert lh("agents.status")["reservations"][0]["scope"] == "src/parser.py"


def test_only_who_leads_ends_what_others_have(lh: Lh) -> None:
    task = world(lh)
    agent = Caller(Role.AGENT)
    refused = lh.house.call("tasks.delete", {"task": task, "hanging": "end"}, agent)
    assert refused.code == "FORBIDDEN"
    assert lh("jobs.open", job="JOB-001")["job"]["status"] == "QUEUED"


CANCEL = {"status": "CANCELED"}


@pytest.mark.parametrize("cmd", ["tasks.complete", "tasks.macro.finish"])
def test_canceling_names_what_hangs_on_the_task_and_changes_nothing(lh: Lh, cmd: str) -> None:
    task = world(lh)
    seq = lh("status")["seq"]
    error = lh.refused(cmd, task=task, **CANCEL)
    assert error["code"] == "CONFLICT"
    for named in ("JOB-001", "src/parser.py", "amber-otter", "fix: hanging=end"):
        assert named in error["message"]
    assert lh("status")["seq"] == seq


@pytest.mark.parametrize("cmd", ["tasks.complete", "tasks.macro.finish"])
def test_canceling_ends_jobs_processes_leases_and_reservations_at_once(lh: Lh, cmd: str) -> None:
    task = world(lh)
    allow(lh)
    shell = {"command": "make serve"}
    lh("tool.task_spawn", tool="bash", args=shell, job="JOB-001", name="web")
    lh("tool.task_spawn", tool="bash", args=shell, name="other")
    lh("tasks.step.lease.claim", task=task, agent_id="heron")
    done = lh(cmd, task=task, hanging="end", **CANCEL)
    assert [(one["kind"], one["ref"], one["outcome"]) for one in done["hanging"]][:2] == [
        ("job", "JOB-001", "ended"),
        ("process", "PROC-001", "ended"),
    ]
    assert {one["outcome"] for one in done["hanging"]} == {"ended"}
    assert lh("jobs.open", job="JOB-001")["job"]["status"] == "CANCELED"
    states = {one["task_id"]: one["status"] for one in lh("tool.task_list")["tasks"]}
    assert states == {"PROC-001": "cancelled", "PROC-002": "queued"}
    assert lh("agents.status")["reservations"] == []
    assert lh("tasks.radar", task=task)["target"]["status"] == "CANCELED"
    assert lh(cmd, task=task, **CANCEL).get("hanging", []) == []


def test_canceling_keeps_what_hangs_on_it_when_asked(lh: Lh) -> None:
    task = world(lh)
    kept = lh("tasks.complete", task=task, hanging="keep", **CANCEL)
    assert {one["outcome"] for one in kept["hanging"]} == {"kept"}
    assert lh("jobs.open", job="JOB-001")["job"]["status"] == "QUEUED"


def test_an_agent_cancels_its_task_with_its_own_job_but_ends_nothing_of_others(lh: Lh) -> None:
    task = new_task(lh, "a")
    ada, bob = Outsider(lh, "TOK-1"), Outsider(lh, "TOK-2")
    job = ada("jobs.create", title="x", prompt="y", task=task)["job"]["id"]
    assert bob.refused("tasks.complete", task=task, hanging="end", **CANCEL)["code"] == "FORBIDDEN"
    assert ada("tasks.complete", task=task, hanging="end", **CANCEL)["hanging"][0]["ref"] == job
    assert lh("jobs.open", job=job)["job"]["status"] == "CANCELED"
