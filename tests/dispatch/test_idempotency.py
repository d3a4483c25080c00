"""Idempotency keys: one key, one effect, the same answer again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.contracts.world import fingerprint
from tests.kit import Lh


def test_the_same_call_twice_has_one_effect_and_says_so(lh: Lh) -> None:
    first = lh.envelope("vcs.notes.commit", content="x", idempotency_key="k")
    again = lh.envelope("vcs.notes.commit", content="x", idempotency_key="k")
    assert again["result"] == first["result"]
    assert again["context"]["replayed"] is True
    assert [w["code"] for w in again["warnings"]] == ["ALREADY_DONE"]
    assert "replayed" not in first["context"]
    assert lh("status")["seq"] == 1


def test_the_same_meaning_is_the_same_call_however_it_is_written(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x", title="t", idempotency_key="k")
    again = lh.envelope(
        "vcs.notes.commit",
        title="t",
        doc=None,
        content="x",
        idempotency_key="k",
        max_chars=900,
        agent_id="someone",
    )
    assert again["context"]["replayed"] is True


@pytest.mark.parametrize(
    "cmd, args",
    [("vcs.notes.commit", {"content": "y"}), ("jobs.create", {"title": "t", "prompt": "p"})],
)
def test_another_call_under_the_same_key_is_refused(lh: Lh, cmd: str, args: dict[str, str]) -> None:
    lh("vcs.notes.commit", content="x", idempotency_key="k")
    error = lh.refused(cmd, **args, idempotency_key="k")
    assert error["code"] == "CONFLICT"
    assert "new key" in error["recovery"]
    assert lh("status")["seq"] == 1


def test_keys_belong_to_a_workspace(lh: Lh) -> None:
    lh("vcs.notes.commit", content="x", idempotency_key="k")
    lh("vcs.notes.commit", content="y", idempotency_key="k", workspace="other")
    assert lh("docs.show", doc_kind="notes", workspace="other")["entries"][0]["content"] == "y"


def test_a_refused_call_is_not_remembered(lh: Lh) -> None:
    claim = {"job": "JOB-001", "runner_id": "r1", "idempotency_key": "k"}
    assert lh.refused("jobs.claim", **claim)["code"] == "UNKNOWN_ID"
    lh("jobs.create", title="t", prompt="p")
    assert lh("jobs.claim", **claim)["job"]["status"] == "RUNNING"


def test_a_read_takes_no_key(lh: Lh) -> None:
    assert lh.refused("docs.show", idempotency_key="k")["code"] == "INVALID_INPUT"


def test_many_at_once_have_exactly_one_effect(lh: Lh) -> None:
    def commit(_: int) -> bool:
        envelope = lh.envelope("vcs.notes.commit", content="x", idempotency_key="k")
        assert envelope["result"]["ref"] == "notes@1"
        return bool(envelope["context"].get("replayed"))

    with ThreadPoolExecutor(8) as pool:
        replayed = list(pool.map(commit, range(40)))
    assert replayed.count(False) == 1
    assert lh("status")["seq"] == 1


def test_a_repeated_call_gets_a_working_credential_and_the_one_before_is_void(lh: Lh) -> None:
    first = lh("agents.register", name="amber-otter", idempotency_key="k")
    again = lh("agents.register", name="amber-otter", idempotency_key="k")
    third = lh("agents.register", name="amber-otter", idempotency_key="k")
    assert again["agent"] == first["agent"]
    for void in (first, again):
        error = lh.refused("agents.heartbeat", agent="amber-otter", agent_token=void["agent_token"])
        assert error["code"] == "AGENT_TOKEN_REQUIRED"
    assert lh("agents.heartbeat", agent="amber-otter", agent_token=third["agent_token"])


def test_a_repeated_call_takes_no_identity_back_from_who_adopted_it(lh: Lh) -> None:
    lh("agents.register", name="amber-otter", idempotency_key="k")
    adopted = lh("agents.adopt", agent="amber-otter", interactive=True, confirm=True)
    error = lh.refused("agents.register", name="amber-otter", idempotency_key="k")
    assert error["code"] == "CONFLICT"
    assert "adopted" in error["message"]
    mine = {"agent": "amber-otter", "agent_token": adopted["agent_token"]}
    assert lh("agents.heartbeat", **mine)


def test_a_token_is_made_once_and_its_credential_kept_nowhere(lh: Lh) -> None:
    first = lh("system.token.create", role="viewer", idempotency_key="k")
    again = lh("system.token.create", role="viewer", idempotency_key="k")
    assert again["id"] == first["id"]
    assert again["token"] not in ("<redacted>", first["token"])
    assert lh("system.token.list")["count"] == 1
    kept = str(fingerprint(lh))
    assert first["token"] not in kept
    assert again["token"] not in kept
    lh("system.token.revoke", id=first["id"])
    error = lh.refused("system.token.create", role="viewer", idempotency_key="k")
    assert "which has been revoked" in error["message"]


def test_a_key_belongs_to_the_caller_that_used_it(lh: Lh) -> None:
    one, other = (Caller(Role.AGENT, owner=f"TOK-{n}") for n in "ab")
    args = {"title": "A", "idempotency_key": "k"}
    made = [lh.house.call("tasks.plan.create", args, who).envelope for who in (one, other, one)]
    plans = [envelope["result"]["id"] for envelope in made]
    assert plans[0] == plans[2] != plans[1]
    assert [bool(envelope["context"].get("replayed")) for envelope in made] == [False, False, True]
