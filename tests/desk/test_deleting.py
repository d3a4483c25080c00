"""Deleting a task: its jobs, leases and reservations are named, then ended or kept as asked."""

from __future__ import annotations

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.crew.kit import join
from tests.kit import Lh
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
