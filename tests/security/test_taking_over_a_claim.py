"""The attacker wants another runner's job, and knows its runner_id and revision."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.security.kit import Outsider

ACTS: dict[str, dict[str, Any]] = {
    "heartbeat": {"cmd": "jobs.report", "kind": "heartbeat", "message": "still here"},
    "report": {"cmd": "jobs.report", "message": "forged"},
    "complete": {"cmd": "jobs.complete", "status": "DONE", "summary": "forged"},
    "complete unproved": {"cmd": "jobs.complete", "status": "DONE", "summary": "forged"},
    "complete but for changes": {"cmd": "jobs.complete", "status": "DONE", "changes": "forged"},
    "fail": {"cmd": "jobs.complete", "status": "FAILED", "summary": "forged"},
    "fail for now": {"cmd": "jobs.complete", "status": "FAILED", "summary": "forged"},
    "release": {"cmd": "jobs.release", "reason": "forged"},
}
JOBS: dict[str, dict[str, Any]] = {
    "complete unproved": {"require_proof": True},
    "fail for now": {"max_attempts": 3},
}


@pytest.mark.parametrize("role", [Role.AGENT, Role.MANAGER, Role.OPERATOR])
@pytest.mark.parametrize("act", ACTS)
def test_a_claim_answers_only_to_the_token_that_made_it(lh: Lh, act: str, role: Role) -> None:
    runner, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b", role)
    lh("jobs.create", title="Job", prompt="Do it", **JOBS.get(act, {}))
    claim = runner("jobs.claim", runner_id="r1")["job"]
    known = {"job": claim["id"], "runner_id": "r1", "claim_revision": claim["revision"]}
    args = {**ACTS[act], **known}
    cmd = args.pop("cmd")
    error = thief.refused(cmd, **args)
    assert error["code"] == "CONFLICT"
    assert "with another token" in error["message"]
    assert lh("jobs.open", job=claim["id"])["job"]["status"] == "RUNNING"
    assert runner("jobs.report", **known, message="mine")


def test_a_lapsed_claim_is_taken_under_the_new_token(lh: Lh) -> None:
    first, second = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    lh("jobs.create", title="Job", prompt="Do it")
    first("jobs.claim", runner_id="r1", lease_ttl_ms=1_000)
    lh.clock.advance(2_000)
    taken = second("jobs.claim", runner_id="r2", allow_stale=True)["job"]
    known = {"job": taken["id"], "runner_id": "r2", "claim_revision": taken["revision"]}
    assert first.refused("jobs.report", **known, message="mine?")["code"] == "CONFLICT"
    assert second("jobs.report", **known, message="mine")


def test_nobody_speaks_as_another_tokens_runner(lh: Lh) -> None:
    runner, thief = Outsider(lh, "TOK-a"), Outsider(lh, "TOK-b")
    runner("jobs.runner.heartbeat", runner_id="r1", status="idle", lease_ttl_ms=60_000)
    lh("jobs.create", title="Job", prompt="Do it")
    beat = {"runner_id": "r1", "status": "idle"}
    assert "another token" in thief.refused("jobs.runner.heartbeat", **beat)["message"]
    assert "another token" in thief.refused("jobs.claim", runner_id="r1")["message"]
    wait = thief.refused("jobs.wait", runner_id="r1", timeout_ms=0)
    assert "another token" in wait["message"]
    lh.clock.advance(61_000)
    assert thief("jobs.runner.heartbeat", **beat)  # its lease ran out: the name is free


def test_a_session_is_shown_only_to_the_token_that_wrote_it(lh: Lh) -> None:
    planter, runner = Outsider(lh, "TOK-b"), Outsider(lh, "TOK-a")
    lh("jobs.create", title="Job", prompt="Do it")
    claim = planter("jobs.claim", runner_id="by-hand")["job"]
    known = {"job": claim["id"], "runner_id": "by-hand", "claim_revision": claim["revision"]}
    planted = {"session": {"executor": "codex", "id": "somebody-elses", "host": "h"}}
    planter("jobs.report", **known, message="x", meta={**planted, "note": "kept"})
    planter("jobs.release", **known, reason="now you")
    mine = planter("jobs.open", job=claim["id"], include_meta=True)["runtime"]
    assert mine == {**planted, "note": "kept"}
    for other in (runner, Outsider(lh, "operator", Role.OPERATOR)):
        assert other("jobs.open", job=claim["id"], include_meta=True)["runtime"] == {"note": "kept"}


@pytest.mark.parametrize("session", ["somebody-elses", ["somebody-elses"], 7], ids=repr)
def test_a_session_that_says_not_who_wrote_it_is_shown_to_nobody(lh: Lh, session: object) -> None:
    planter = Outsider(lh, "TOK-b")
    lh("jobs.create", title="Job", prompt="Do it")
    claim = planter("jobs.claim", runner_id="by-hand")["job"]
    known = {"job": claim["id"], "runner_id": "by-hand", "claim_revision": claim["revision"]}
    planter("jobs.report", **known, message="x", meta={"session": session, "note": "kept"})
    seen = Outsider(lh, "TOK-a")("jobs.open", job=claim["id"], include_meta=True)["runtime"]
    assert seen == {"note": "kept"}
