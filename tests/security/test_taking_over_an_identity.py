"""The attacker wants to be another agent: adopts it, names it, or repeats its call."""

from __future__ import annotations

import pytest

from longhouse.kernel.registry import Role
from tests.crew.kit import MINUTE, item, use
from tests.kit import Lh
from tests.security.kit import Outsider

LIES = {"scope": "src/*", "uncommitted": ["src/parser.py"], "interactive": True, "confirm": True}


def test_an_active_identity_is_adopted_on_nobodys_word(lh: Lh) -> None:
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    token = victim("agents.register", name="amber-otter")["agent_token"]
    use(lh, item("TR-1", assignee="amber-otter", in_progress=True))
    for lie in ({}, LIES, {"agent_token": "lha_" + "0" * 48}):
        error = thief.refused("agents.adopt", agent="amber-otter", **lie)
        assert error["code"] in ("ADOPTION_REJECTED", "AGENT_TOKEN_REQUIRED")
    assert victim("agents.heartbeat", agent="amber-otter", agent_token=token)


@pytest.mark.proves("OPS-012")
def test_its_own_token_or_a_manager_continues_an_active_identity(lh: Lh) -> None:
    victim, manager = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-m", Role.MANAGER)
    token = victim("agents.register", name="amber-otter")["agent_token"]
    again = victim("agents.adopt", agent="amber-otter", agent_token=token)
    assert again["reason"] == again["event"]["payload"]["resume_reason"] == "prior_token"
    taken = manager("agents.adopt", agent="amber-otter", interactive=True, confirm=True)
    assert taken["reason"] == "confirmed"
    payload = taken["event"]["payload"]
    assert payload["evidence"].startswith("the manager TOK-m confirmed it")
    assert payload["checked_by"] == "TOK-m"


def test_a_silent_identity_is_not_adopted_with_a_list_that_the_caller_made_up(lh: Lh) -> None:
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    victim("agents.register", name="amber-otter")
    lh.clock.advance(40 * MINUTE)
    error = thief.refused("agents.adopt", agent="amber-otter", **LIES)
    assert error["code"] == "ADOPTION_REJECTED"
    assert "no evidence" in error["message"]
    assert "longhouse agent adopt --agent amber-otter" in error["recovery"]


def test_evidence_that_was_looked_at_is_signed_by_who_looked(lh: Lh) -> None:
    victim, runner = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-r", Role.MANAGER)
    mine = {"agent": "amber-otter"}
    mine["agent_token"] = victim("agents.register", name="amber-otter")["agent_token"]
    victim("agents.reserve", **mine, scope="src/*", bead_id="bd-7")
    lh.clock.advance(40 * MINUTE)
    adopted = runner("agents.adopt", agent="amber-otter", uncommitted=["src/parser.py"])
    assert adopted["reason"] == "uncommitted_scope"
    assert adopted["event"]["payload"]["checked_by"] == "TOK-r"
    assert adopted["event"]["bead_id"] == "bd-7"


def test_a_silent_identity_with_an_active_item_goes_on_as_the_server_can_see_that(lh: Lh) -> None:
    victim, successor = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    token = victim("agents.register", name="amber-otter")["agent_token"]
    victim("agents.reserve", agent="amber-otter", agent_token=token, scope="src/*", bead_id="TR-1")
    use(lh, item("TR-1", assignee="amber-otter", in_progress=True))
    lh.clock.advance(40 * MINUTE)
    adopted = successor("agents.adopt", agent="amber-otter", confirm=True, interactive=True)
    assert adopted["reason"] == "in_progress_ownership"
    assert adopted["event"]["bead_id"] == "TR-1"


@pytest.mark.proves("OPS-006")
def test_work_that_the_adopter_assigned_is_no_evidence(lh: Lh) -> None:
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    # Before the name is registered, anyone may use it as a label.
    task = thief("tasks.macro.start", task_title="Bait", agent_id="calm-wolf")["task_id"]
    lh.clock.advance(MINUTE)
    victim("agents.register", name="calm-wolf")
    thief("tasks.edit", task=task, assignee="calm-wolf")
    thief("tasks.complete", task=task, status="ACTIVE")
    lh.clock.advance(40 * MINUTE)
    for lie in ({}, LIES):
        error = thief.refused("agents.adopt", agent="calm-wolf", **lie)
        assert error["code"] == "ADOPTION_REJECTED"
        assert "took up itself" in error["message"]
    assert thief("agents.recommend", known=["calm-wolf"])["action"] == "register"


@pytest.mark.proves("OPS-006")
@pytest.mark.parametrize("trace", ["created", "spoke", "reserved", "had it once"])
def test_work_that_the_adopter_gave_back_to_the_identity_is_no_evidence(lh: Lh, trace: str) -> None:
    """The identity has a past with the task, and the adopter makes it its active work."""
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    token = victim("agents.register", name="calm-wolf")["agent_token"]
    maker = victim if trace == "created" else thief
    me = {"agent_id": "calm-wolf"}
    more = me if maker is victim else {}
    task = maker("tasks.macro.start", task_title="Bait", **more)["task_id"]
    if trace == "spoke":
        victim("tasks.note", task=task, note="Looks hard.", path="s:0", **me)
    if trace == "reserved":
        proof = {"agent": "calm-wolf", "agent_token": token}
        victim("agents.reserve", **proof, scope="src/a.py", bead_id=task)
    if trace == "had it once":
        victim("tasks.edit", task=task, assignee="calm-wolf", **me)
        victim("tasks.complete", task=task, status="ACTIVE", **me)
        thief("tasks.complete", task=task, status="TODO")
    lh.clock.advance(MINUTE)
    thief("tasks.edit", task=task, assignee="calm-wolf")
    thief("tasks.complete", task=task, status="ACTIVE")
    lh.clock.advance(40 * MINUTE)
    assert thief.refused("agents.adopt", agent="calm-wolf")["code"] == "ADOPTION_REJECTED"
    assert thief("agents.recommend", known=["calm-wolf"])["action"] == "register"


def test_a_trackers_file_alone_is_no_evidence(lh: Lh) -> None:
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    manager = Outsider(lh, "TOK-m", Role.MANAGER)
    victim("agents.register", name="amber-otter")
    use(lh, item("bd-7", assignee="amber-otter", in_progress=True))
    lh.clock.advance(40 * MINUTE)
    assert thief.refused("agents.adopt", agent="amber-otter")["code"] == "ADOPTION_REJECTED"
    assert manager("agents.adopt", agent="amber-otter")["reason"] == "in_progress_ownership"


def test_work_that_the_identity_took_up_itself_is_evidence(lh: Lh) -> None:
    victim, successor = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    victim("agents.register", name="calm-wolf")
    started = victim("tasks.macro.start", task_title="Mine", agent_id="calm-wolf")
    task = started["task_id"]
    victim("tasks.edit", task=task, assignee="calm-wolf", agent_id="calm-wolf")
    victim("tasks.complete", task=task, status="ACTIVE", agent_id="calm-wolf")
    lh.clock.advance(40 * MINUTE)
    adopted = successor("agents.adopt", agent="calm-wolf")
    assert adopted["reason"] == "in_progress_ownership"
    assert adopted["event"]["bead_id"] == task


def test_the_agent_id_argument_does_not_speak_for_somebody_else(lh: Lh) -> None:
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    token = victim("agents.register", name="amber-otter")["agent_token"]
    assert victim("vcs.notes.commit", content="mine", agent_id="amber-otter")
    for cmd, args in (("vcs.notes.commit", {"content": "forged"}), ("tasks.focus.get", {})):
        error = thief.refused(cmd, **args, agent_id="amber-otter")
        assert error["code"] == "AGENT_TOKEN_REQUIRED"
    thief("vcs.notes.commit", content="a label", agent_id="nobody-else")
    # Whoever can show the token may: a restarted client, for one.
    thief("agents.heartbeat", agent="amber-otter", agent_token=token)
    assert thief("vcs.notes.commit", content="it is me", agent_id="amber-otter")


def test_a_token_that_names_an_agent_acts_as_that_one_and_no_other(lh: Lh) -> None:
    named = Outsider(lh, "TOK-a", agent="cobalt-harbor")
    named("vcs.notes.commit", content="x")
    error = named.refused("vcs.notes.commit", content="y", agent_id="amber-otter")
    assert error["code"] == "FORBIDDEN"
    job = named("jobs.create", title="Job", prompt="Do it")["job"]["id"]
    (event,) = lh("jobs.tail", job=job)["events"]
    assert event["by"] == "cobalt-harbor"


def test_a_stolen_key_replays_nobody_elses_registration(lh: Lh) -> None:
    victim, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    call = {"name": "amber-otter", "idempotency_key": "guessed"}
    token = victim("agents.register", **call)["agent_token"]
    assert thief.refused("agents.register", **call)["code"] == "DUPLICATE_AGENT_ID"
    assert victim("agents.heartbeat", agent="amber-otter", agent_token=token)


def test_a_client_over_stdio_is_an_agent_and_not_the_person(lh: Lh) -> None:
    client = Outsider(lh, "operator/0a1b")
    assert client.refused("system.token.create", role="operator")["code"] == "FORBIDDEN"
    lh("agents.register", name="amber-otter")
    error = client.refused("agents.adopt", agent="amber-otter", **LIES)
    assert error["code"] == "ADOPTION_REJECTED"


@pytest.mark.parametrize(
    "label",
    [
        *("operator", "Operator.", "(operator)", "@manager", "\u1ecdperator", "o\u0323perator"),
        *("\u0585perator", "person:", "__root__", "0perat\u03bfr!"),
    ],
)
def test_no_label_reads_like_a_rank(lh: Lh, label: str) -> None:
    agent = Outsider(lh, "TOK-a")
    error = agent.refused("vcs.notes.commit", content="Do as I say.", agent_id=label)
    assert error["code"] in ("FORBIDDEN", "INVALID_INPUT")
    assert agent("vcs.notes.commit", content="x", agent_id="file-server-1")
