"""An agent's own place: its focus, and its work after a reconnect, which nobody else can take."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import ClientSession
from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.processes.kit import Runner, allow
from tests.security.kit import Outsider

TOKEN = "TOK-team"


def client(lh: Lh, process: str, role: Role = Role.AGENT, token: str = TOKEN) -> Outsider:
    """One process of a client: the token is the client's, the connection its own."""
    owner = f"{token}/{process}"
    return Outsider(lh, owner, role, session=ClientSession(key=f"{owner}/{process}"))


def registered(agent: Outsider, name: str) -> dict[str, str]:
    token = agent("agents.register", name=name, role="dev")["agent_token"]
    return {"agent": name, "agent_token": token}


def tasks(lh: Lh, count: int) -> None:
    lh("tasks.plan.create", title="Plan")
    for n in range(count):
        lh("tasks.bootstrap", plan="PLAN-001", task_title=f"Task {n + 1}", steps=["one", "two"])


def test_setting_the_focus_to_the_workspaces_makes_it_ones_own(lh: Lh) -> None:
    tasks(lh, 2)
    lh("tasks.focus.set", task="TASK-001")
    one, two = client(lh, "one"), client(lh, "two")
    assert one("tasks.focus.set", task="TASK-001")["previous"] == "TASK-001"
    two("tasks.focus.set", task="TASK-002")
    assert one("tasks.focus.get")["focus"] == "TASK-001"
    assert one("vcs.notes.commit", content="mine")["entry"]["branch"] == "task/TASK-001"
    three = client(lh, "three")
    assert three("tasks.focus.get")["focus"] == "TASK-002", "a new caller follows the workspace"


def test_having_cleared_the_focus_is_ones_own_choice_too(lh: Lh) -> None:
    tasks(lh, 1)
    one = client(lh, "one")
    one("tasks.focus.clear")
    client(lh, "two")("tasks.focus.set", task="TASK-001")
    assert one("tasks.focus.get")["focus"] is None


@pytest.mark.parametrize("role", [Role.AGENT, Role.MANAGER])
def test_a_connection_acts_as_the_identity_that_it_registered(lh: Lh, role: Role) -> None:
    tasks(lh, 1)
    one = client(lh, "one", role)
    one("tasks.focus.set", task="TASK-001")
    registered(one, "ada")
    assert one("tasks.focus.get")["focus"] == "TASK-001", "it brings its focus along"
    one("tasks.note", path="s:1", note="by ada")
    client(lh, "two", role)("tasks.note", task="TASK-001", path="s:1", note="by nobody")
    said = lh("tasks.history", task="TASK-001")["operations"]
    assert [one.get("actor") for one in said if one["type"] == "step_noted"] == [None, "ada"]


def test_the_last_connection_that_proved_an_identity_has_it(lh: Lh) -> None:
    tasks(lh, 2)
    one, two = client(lh, "one"), client(lh, "two")
    ada = registered(one, "ada")
    one("tasks.focus.set", task="TASK-001")
    two("agents.heartbeat", **ada)
    assert two("tasks.focus.get")["focus"] == "TASK-001"
    lh("tasks.focus.set", task="TASK-002")
    assert one("tasks.focus.get")["focus"] == "TASK-002", "it is no one now"
    one("agents.heartbeat", **ada)
    assert one("tasks.focus.get")["focus"] == "TASK-001"
    registered(one, "bob")
    assert one("status")["me"]["agent"] == "bob", "one identity for each connection"


def test_two_connections_that_are_nobody_are_not_the_same_nobody(lh: Lh) -> None:
    allow(lh)
    one, two = client(lh, "one"), client(lh, "two")
    spawn = {"tool": "bash", "args": {"command": "python3"}, "execution_mode": "pty"}
    task = one("tool.task_spawn", **spawn)["task_id"]
    Runner(lh).start(task)
    typing = {"task_id": task, "keys": ["1 + 1", "Enter"]}
    assert two.refused("tool.task_write_stdin", **typing)["code"] == "FORBIDDEN"
    one("tool.task_write_stdin", **typing)


def test_a_retired_identity_is_nobodys(lh: Lh) -> None:
    one = client(lh, "one")
    ada = registered(one, "ada")
    one("agents.retire", **ada)
    assert "agent" not in one("status").get("me", {})
    registered(one, "bob")
    assert one("status")["me"]["agent"] == "bob"


def resumed(caller: Outsider, /, **who: str) -> tuple[str, str | None]:
    found = caller("tasks.resume.super", **who)
    return found["ref"], found.get("chosen")


def test_an_identity_resumes_its_focus_then_assignment_reservations_and_last_act(lh: Lh) -> None:
    tasks(lh, 5)
    one = client(lh, "one")
    ada = registered(one, "ada")
    lh("tasks.focus.set", task="TASK-005")
    assert resumed(one) == ("TASK-005", "the workspace's focus: nothing open is yours")
    one("tasks.note", task="TASK-004", path="s:0", note="a start")
    assert resumed(one) == ("TASK-004", "you worked on it last")
    one("agents.reserve", scope="src/a.py", bead_id="TASK-003", **ada)
    assert resumed(one) == ("TASK-003", "you hold src/a.py for it")
    lh("tasks.edit", task="TASK-002", assignee="ada")
    assert resumed(one) == ("TASK-002", "assigned to you")
    one("tasks.focus.set", task="TASK-001")
    assert resumed(one) == ("TASK-001", "your focus")
    again = client(lh, "two")
    assert resumed(again) == ("TASK-005", None), "it has not said who it is"
    assert resumed(again, **ada) == ("TASK-001", "your focus")
    lh("tasks.complete", task="TASK-001", status="CANCELED")
    assert resumed(again, **ada) == ("TASK-002", "assigned to you"), "what is open comes first"
    assert again("tasks.resume.super", task="TASK-004", **ada)["ref"] == "TASK-004"


def test_what_an_identity_started_on_a_connection_is_found_after_a_reconnect(lh: Lh) -> None:
    one = client(lh, "one")
    ada = registered(one, "ada")
    mine = one("tasks.macro.start", task_title="Mine")["task_id"]
    other = lh("tasks.macro.start", task_title="Theirs")["task_id"]
    lh("tasks.focus.set", task=other)
    assert resumed(client(lh, "two"), **ada) == (mine, "your focus")


def claimed(agent: Outsider, job: str) -> dict[str, Any]:
    got = agent("jobs.claim", job=job, runner_id="hand")["job"]
    return {"job": job, "runner_id": "hand", "claim_revision": got["revision"]}


@pytest.mark.parametrize("role", [Role.AGENT, Role.MANAGER])
def test_a_job_claimed_by_hand_goes_on_after_a_reconnect(lh: Lh, role: Role) -> None:
    lh("jobs.create", title="Look", prompt="Look.")
    one = client(lh, "one", role)
    ada = registered(one, "ada")
    fence = claimed(one, "JOB-001")
    again = client(lh, "two", role)
    refused = again.refused("jobs.report", message="still here", **fence)
    assert "another connection of this client, as ada" in refused["message"]
    assert "agents.heartbeat" in refused["recovery"]
    again("agents.heartbeat", **ada)
    again("jobs.report", message="half", **fence)
    again("jobs.report", kind="heartbeat", message="x", **fence)
    ref = again("vcs.notes.commit", content="found it")["ref"]
    done = again("jobs.complete", status="DONE", summary="found", refs=[ref], **fence)
    assert done["job"]["status"] == "DONE"


@pytest.mark.parametrize("role", [Role.AGENT, Role.MANAGER])
def test_nobody_else_takes_over_a_claim_not_even_with_the_same_token(lh: Lh, role: Role) -> None:
    lh("jobs.create", title="Look", prompt="Look.")
    lh("jobs.create", title="Look", prompt="Look.")
    one, two = client(lh, "one", role), client(lh, "two", role)
    registered(one, "ada")
    fence, bare = claimed(one, "JOB-001"), claimed(client(lh, "nobody", role), "JOB-002")
    registered(two, "bob")
    strangers: list[tuple[Outsider, dict[str, Any]]] = [
        (two, {}),
        (client(lh, "three", role), {}),
        (client(lh, "one", role, "TOK-other"), {}),
        (client(lh, "@ada", role), {}),
    ]
    if role is Role.MANAGER:
        strangers.append((two, {"agent_id": "ada"}))
    for stranger, more in strangers:
        for call in ("jobs.report", "jobs.release", "jobs.complete"):
            said = {"jobs.report": {"message": "x"}, "jobs.release": {"reason": "x"}}
            args = said.get(call, {"status": "FAILED", "summary": "x"})
            assert stranger.refused(call, **args, **fence, **more)["code"] == "CONFLICT"
            assert stranger.refused(call, **args, **bare)["code"] == "CONFLICT"
    assert (
        "with another token"
        in strangers[2][0].refused("jobs.report", message="x", **fence)["message"]
    )
    gone = two.refused("jobs.report", message="x", **bare)
    assert "nobody in particular" in gone["message"]
    assert "agents.register" in gone["recovery"]
    one("jobs.report", message="still mine", **fence)


def test_the_fence_holds_for_the_same_identity_too(lh: Lh) -> None:
    lh("jobs.create", title="Look", prompt="Look.")
    one = client(lh, "one")
    ada = registered(one, "ada")
    fence = claimed(one, "JOB-001")
    one("jobs.release", reason="later", **fence)
    client(lh, "two")("jobs.claim", job="JOB-001", runner_id="hand")
    again = client(lh, "three")
    again("agents.heartbeat", **ada)
    assert again.refused("jobs.report", message="x", **fence)["code"] == "CONFLICT"


def test_one_who_adopts_an_identity_goes_on_with_its_claim_and_the_former_does_not(lh: Lh) -> None:
    lh("jobs.create", title="Look", prompt="Look.")
    one, two = client(lh, "one"), client(lh, "two")
    ada = registered(one, "ada")
    fence = claimed(one, "JOB-001")
    two("agents.adopt", scope="src/*", **ada)
    two("jobs.report", message="mine now", **fence)
    assert two("status")["me"]["agent"] == "ada"
    assert "agent" not in one("status").get("me", {})


def test_typing_into_a_terminal_goes_on_after_a_reconnect(lh: Lh) -> None:
    allow(lh)
    one = client(lh, "one")
    ada = registered(one, "ada")
    spawn = {"tool": "bash", "args": {"command": "python3"}, "execution_mode": "pty"}
    task = one("tool.task_spawn", **spawn)["task_id"]
    Runner(lh).start(task)
    again, other = client(lh, "two"), client(lh, "three")
    registered(other, "bob")
    typing = {"task_id": task, "keys": ["1 + 1", "Enter"]}
    for stranger in (again, other):
        refused = stranger.refused("tool.task_write_stdin", **typing)
        assert "another connection of this client, as ada" in refused["message"]
    again("agents.heartbeat", **ada)
    again("tool.task_write_stdin", **typing)
    assert again("tool.task_status", task_id=task)["task"]["yours"]
    assert not other("tool.task_status", task_id=task)["task"]["yours"]
    nobody = client(lh, "four")("tool.task_spawn", **spawn)["task_id"]
    refused = other.refused("tool.task_cancel", task_id=nobody)
    assert "nobody in particular" in refused["message"]
