"""Longhouse's own tasks as the crew's work items."""

from __future__ import annotations

import pytest

from longhouse.store.tx import sql
from tests.crew.kit import MINUTE, join
from tests.kit import Lh
from tests.store.kit import CALL

STEPS = [{"title": "Measure", "success_criteria": ["The slow query is named"]}]


@pytest.fixture
def tasks(lh: Lh) -> list[str]:
    """Three tasks of one plan; amber-otter has the first, which is active, and the second."""
    lh("tasks.plan.create", title="Faster search", kind="plan")
    for title in ("Index", "Cache", "Tell"):
        lh("tasks.plan.create", title=title, parent="PLAN-001", steps=STEPS)
    for task in ("TASK-001", "TASK-002"):
        lh("tasks.edit", task=task, assignee="amber-otter")
    lh("tasks.complete", task="TASK-001", status="ACTIVE")
    lh("tasks.complete", task="TASK-003", status="CANCELED")
    return ["TASK-001", "TASK-002", "TASK-003"]


@pytest.mark.proves("OPS-006", "OPS-012")
def test_an_active_task_of_its_own_lets_an_identity_go_on(lh: Lh, tasks: list[str]) -> None:
    join(lh, "amber-otter")
    adopted = lh("agents.adopt", agent="amber-otter")
    assert adopted["reason"] == "in_progress_ownership"
    assert adopted["event"]["bead_id"] == tasks[0]
    join(lh, "cobalt-harbor")
    assert lh.refused("agents.adopt", agent="cobalt-harbor")["code"] == "ADOPTION_REJECTED"


def test_what_was_reserved_for_a_deleted_task_is_released_and_told(
    lh: Lh, tasks: list[str]
) -> None:
    otter = join(lh, "amber-otter")
    lh("agents.reserve", **otter, scope="src/*", bead_id=tasks[1])
    before = lh("status")["seq"]
    lh("tasks.delete", task=tasks[1], hanging="end")
    assert lh("agents.status", agent="amber-otter")["reservations"] == []
    rows = lh.house.db.read("acme", lambda tx: tx.all(sql.log_after, after=before, limit=100), CALL)
    assert [row["subject"] for row in rows if row["kind"] == "released"] == [tasks[1]]


def test_tasks_are_sessions(lh: Lh, tasks: list[str]) -> None:
    join(lh, "amber-otter")
    feed = lh("agents.sessions")
    assert [(one["id"], one["session_state"]) for one in feed["sessions"]] == [
        ("TASK-001", "active"),
        ("TASK-002", "deciding"),
        ("TASK-003", "completed"),
    ]
    assert feed["sessions"][0]["owner"] == "amber-otter"
    assert feed["sessions"][0]["epic"]["title"] == "Faster search"
    assert [one["id"] for one in lh("agents.sessions", open_only=True)["sessions"]] == tasks[:2]
    page = lh("agents.sessions", limit=2)
    rest = lh("agents.sessions", limit=2, cursor=page["next_cursor"])
    assert [one["id"] for one in page["sessions"] + rest["sessions"]] == tasks
    assert lh.refused("agents.sessions", cursor="nowhere")["code"] == "INVALID_INPUT"
    lh.clock.advance(15 * MINUTE)
    assert lh("agents.sessions")["sessions"][0]["session_state"] == "stale"


@pytest.mark.proves("OPS-001", "OPS-002")
def test_the_crew_leaves_tasks_as_they_are(lh: Lh, tasks: list[str]) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    before = lh("open", id=tasks[0], limit=1)
    lh("agents.reserve", **a, scope="src", bead_id=tasks[0])
    lh(
        "agents.handoff",
        **a,
        to="cobalt-harbor",
        bead_id=tasks[0],
        subject="s",
        summary="x",
        next_action="y",
    )
    error = lh.refused("agents.reserve", **a, scope="src", bead_id="TASK-999")
    assert (error["code"], "agents.sessions" in error["recovery"]) == ("UNKNOWN_ID", True)
    about = {"to": "cobalt-harbor", "bead_id": tasks[0], "subject": "s"}
    lh("agents.blocked", **a, **about, blocker="x", requested_action="y")
    said = lh("agents.send", **a, **about, body="x")["messages"][0]
    for cmd in ("agents.read", "agents.ack"):
        lh(cmd, **b, message=said["message_id"])
    lh("agents.release", **a, scope="src")
    lh("agents.adopt", agent="amber-otter")
    lh("agents.retire", **b)
    after = lh("open", id=tasks[0], limit=1)
    assert after["target"] == before["target"]
    kinds = [row["kind"] for row in lh("agents.conversation", bead_id=tasks[0])["thread"]]
    told = ["reserved", "HANDOFF", "BLOCKED", "INFO", "seen", "accepted", "released", "RESUME"]
    assert kinds[-len(told) :] == told


@pytest.mark.proves("OPS-001")
def test_an_accepted_handoff_moves_the_assignee(lh: Lh, tasks: list[str]) -> None:
    amber, cobalt = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    about = {"bead_id": tasks[0], "subject": "Index", "summary": "Half.", "next_action": "Go on."}
    sent = lh("agents.handoff", **amber, **about, to="cobalt-harbor")["message"]["message_id"]
    assert _assignee(lh, tasks[0]) == "amber-otter"
    before = lh("tasks.radar", task=tasks[0])["target"]["status"]
    lh("agents.read", **cobalt, message=sent)
    assert _assignee(lh, tasks[0]) == "amber-otter"
    lh("agents.ack", **cobalt, message=sent)
    assert _assignee(lh, tasks[0]) == "cobalt-harbor"
    assert lh("tasks.radar", task=tasks[0])["target"]["status"] == before == "ACTIVE"
    lh("tasks.edit", task=tasks[0], assignee="amber-otter")
    lh("agents.ack", **cobalt, message=sent)
    assert _assignee(lh, tasks[0]) == "amber-otter"


def test_a_handoff_passes_on_only_what_the_giver_has(lh: Lh, tasks: list[str]) -> None:
    thief, friend = join(lh, "cobalt-harbor"), join(lh, "brave-heron")
    about = {"bead_id": tasks[0], "subject": "Index", "summary": "Mine.", "next_action": "Take it."}
    sent = lh("agents.handoff", **thief, **about, to="brave-heron")["message"]["message_id"]
    accepted = lh.envelope("agents.ack", **friend, message=sent)
    assert [one["code"] for one in accepted["warnings"]] == ["ASSIGNEE_KEPT"]
    assert _assignee(lh, tasks[0]) == "amber-otter"


def _assignee(lh: Lh, task: str) -> str | None:
    owners = {one["id"]: one.get("owner") for one in lh("agents.sessions")["sessions"]}
    return owners[task]
