"""The attacker is an agent in a slice: it may report on its own job, and on nothing else."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from longhouse.kernel.registry import Role
from tests.kit import Lh
from tests.runner.processes import Desk, desk
from tests.security.kit import Outsider

__all__ = ["desk"]

DIGEST = "5" * 64


class Slice:
    """A runner's claim, and the agent that works on it under a token of its own."""

    def __init__(self, lh: Lh) -> None:
        self.runner = Outsider(lh, "TOK-a")
        self.agent = Outsider(lh, DIGEST)
        lh("jobs.create", title="Job", prompt="Do it")
        lh("jobs.create", title="Another", prompt="Do it")
        mine = self.runner("jobs.claim", runner_id="r1", agent_digest=DIGEST)["job"]
        other = self.runner("jobs.claim", runner_id="r1", agent_digest="7" * 64)["job"]
        self.mine, self.other = _known(mine), _known(other)


def _known(claim: dict[str, Any]) -> dict[str, Any]:
    return {"job": claim["id"], "runner_id": "r1", "claim_revision": claim["revision"]}


def test_an_agent_reports_on_its_own_job_without_renewing_its_runners_lease(lh: Lh) -> None:
    at_work = Slice(lh)
    before = lh("jobs.open", job=at_work.mine["job"])["job"]["claim_expires_at_ms"]
    lh.clock.advance(5_000)
    told = at_work.agent("jobs.report", **at_work.mine, kind="question", message="Which one?")
    assert told["event"]["kind"] == "question"
    assert told["job"]["claim_expires_at_ms"] == before
    assert lh("jobs.open", job=at_work.mine["job"])["attention"]["needs_manager"]


@pytest.mark.parametrize(
    "cmd, more",
    [
        ("jobs.report", {"message": "m", "kind": "heartbeat"}),
        ("jobs.report", {"message": "m", "usage": {"input_tokens": 9}}),
        ("jobs.report", {"message": "m", "meta": {"session": {"id": "x"}}}),
        ("jobs.report", {"message": "m", "changed": {"paths": ["x"], "alone": True}}),
        ("jobs.complete", {"status": "DONE", "summary": "forged"}),
        ("jobs.release", {"reason": "forged"}),
    ],
)
def test_an_agent_neither_ends_its_job_nor_writes_its_runners_notes(
    lh: Lh, cmd: str, more: dict[str, Any]
) -> None:
    at_work = Slice(lh)
    error = at_work.agent.refused(cmd, **at_work.mine, **more)
    assert error["code"] == "CONFLICT"
    assert "come from its runner" in error["message"]
    assert at_work.runner(cmd, **at_work.mine, **more)


def test_an_agent_does_not_report_on_another_job_of_its_runner(lh: Lh) -> None:
    at_work = Slice(lh)
    error = at_work.agent.refused("jobs.report", **at_work.other, message="forged")
    assert "with another token" in error["message"]


def test_an_agents_word_ends_with_the_claim(lh: Lh) -> None:
    at_work = Slice(lh)
    lh.clock.advance(400_000)
    thief = Outsider(lh, "TOK-b")
    again = _known(
        thief("jobs.claim", job=at_work.mine["job"], runner_id="r1", allow_stale=True)["job"]
    )
    assert (
        at_work.agent.refused("jobs.report", **at_work.mine, message="late")["code"] == "CONFLICT"
    )
    assert at_work.agent.refused("jobs.report", **again, message="late")["code"] == "CONFLICT"


def test_an_agent_in_a_slice_reports_over_the_entry_that_its_runner_wrote(desk: Desk) -> None:
    other = desk.job("go_on()")
    taken = desk("jobs.claim", job=other, runner_id="by-hand")["job"]["revision"]
    forged = f"job={other!r}, runner_id='by-hand', claim_revision={taken}"
    ref = desk.note()
    job = desk.job(
        f"report('half done'); report('x', kind='heartbeat'); report('x', {forged}); done({ref!r})"
    )
    desk.runner("r1")
    desk.await_status(job, "DONE")
    assert desk.trace(job) == ["told", "CONFLICT", "CONFLICT"]
    told = [e for e in desk("jobs.tail", job=job)["events"] if e["message"] == "half done"]
    assert [event["kind"] for event in told] == ["progress"]
    assert "x" not in [event["message"] for event in desk("jobs.tail", job=other)["events"]]


REFUSALS = ("FORBIDDEN", "AGENT_TOKEN_REQUIRED", "INVALID_INPUT")
STORES: list[tuple[str, dict[str, Any]]] = [
    ("docs.artifact.add", {"name": "report.md", "content": "forged"}),
    (
        "docs.artifact.join",
        {
            "name": "all",
            "parts": ["ART-001"],
            "digest": hashlib.sha256(b"a part").hexdigest(),
            "media_type": "text/plain",
        },
    ),
]


@pytest.mark.parametrize("cmd, what", STORES, ids=[cmd for cmd, _ in STORES])
def test_only_who_works_on_a_job_stores_what_it_made(
    lh: Lh, cmd: str, what: dict[str, Any]
) -> None:
    at_work = Slice(lh)
    lh("docs.artifact.add", name="part", content="a part")
    lh("jobs.create", title="Nobody's yet", prompt="Do it")
    stranger = Outsider(lh, "TOK-b")
    for thief, job in (
        (stranger, at_work.mine["job"]),
        (stranger, "JOB-003"),
        (stranger, "JOB-999"),
        (at_work.agent, at_work.other["job"]),
    ):
        error = thief.refused(cmd, **what, owner=job)
        assert error["code"] == "FORBIDDEN", job
        assert job in error["message"]
    assert lh("docs.artifact.list")["count"] == 1
    manager = Outsider(lh, "TOK-m", Role.MANAGER)
    for rightful in (at_work.agent, at_work.runner, manager):
        rightful(cmd, **what, owner=at_work.mine["job"])
    stranger(cmd, **what, owner="my own label")
    for alike in ("job-002", "JOB-002 ", "JOB-2", "Job 002", "JOB-\u0660\u0660\u0662"):
        assert stranger.refused(cmd, **what, owner=alike)["code"] in REFUSALS, alike
    for alike in ("\uff2a\uff2f\uff22-002", "J\u041eB-002", "JOB\u200b-002", "JOB-0\u03020\u00b2"):
        assert stranger.refused(cmd, **what, owner=alike)["code"] in REFUSALS, alike


@pytest.mark.parametrize("rank", ["operator", "Person", "MANAGER ", "\u043eperator", "0wner"])
def test_an_agent_does_not_pose_as_a_rank(lh: Lh, rank: str) -> None:
    stranger = Outsider(lh, "TOK-b")
    said = Outsider(lh, "TOK-b", said=rank)
    for error in (
        stranger.refused("vcs.notes.commit", content="x", agent_id=rank),
        said.refused("vcs.notes.commit", content="x"),
        stranger.refused("docs.artifact.add", name="a", content="x", owner=rank),
    ):
        assert error["code"] == "FORBIDDEN" or "agent_id" in error["message"]
    assert stranger.refused("agents.register", name=rank.lower())["code"] == "INVALID_AGENT_ID"
    manager = Outsider(lh, "TOK-m", Role.MANAGER)
    manager("vcs.notes.commit", content="x", agent_id="manager")


@pytest.mark.parametrize(
    "alike", ["Amber-Otter", "amber-otter ", "\u0430mber-otter", "amber\u200b-otter"]
)
def test_a_label_is_not_another_spelling_of_an_identity(lh: Lh, alike: str) -> None:
    Outsider(lh, "TOK-a")("agents.register", name="amber-otter")
    thief = Outsider(lh, "TOK-b")
    for cmd, what in (
        ("vcs.notes.commit", {"content": "x", "agent_id": alike}),
        ("docs.artifact.add", {"name": "a", "content": "x", "owner": alike}),
    ):
        assert thief.refused(cmd, **what)["code"] in REFUSALS


def test_a_runner_stores_the_transcript_of_a_job_that_was_canceled_meanwhile(lh: Lh) -> None:
    at_work = Slice(lh)
    lh("jobs.cancel", job=at_work.mine["job"], reason="Enough.")
    at_work.runner("docs.artifact.add", name="t", content="late", owner=at_work.mine["job"])
    lh("jobs.requeue", job=at_work.mine["job"], reason="Again.")
    again = {"name": "t", "content": "later", "owner": at_work.mine["job"]}
    assert at_work.runner.refused("docs.artifact.add", **again)["code"] == "FORBIDDEN"


def test_nobody_stores_in_the_name_of_another_agent(lh: Lh) -> None:
    Outsider(lh, "TOK-a")("agents.register", name="amber-otter", role="coder")
    forged = {"name": "report.md", "content": "forged", "owner": "amber-otter"}
    error = Outsider(lh, "TOK-b").refused("docs.artifact.add", **forged)
    assert error["code"] == "AGENT_TOKEN_REQUIRED"
    assert Outsider(lh, "TOK-a")("docs.artifact.add", **forged)["created"]
