"""Whoever created a job may answer and cancel it; a name that anyone can type proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.registry import Role
from longhouse.store.queries import Query
from tests.jobs.kit import claimed
from tests.kit import Lh
from tests.security.kit import Outsider
from tests.store.upkeep_kit import call_of


@pytest.fixture
def maker(lh: Lh) -> Outsider:
    return Outsider(lh, "TOK-1/one")


def asking(lh: Lh, maker: Outsider, **args: Any) -> str:
    """A job of the maker, running and with an open question."""
    job: str = maker("jobs.create", title="x", prompt="y", **args)["job"]["id"]
    fence = claimed(lh, job, "r1")
    lh("jobs.report", **fence, message="which?", kind="question")
    return job


@pytest.mark.parametrize("owner", ["TOK-1/two", "TOK-1", "TOK-2/one", "", "TOK-1/one "])
def test_only_the_token_that_created_a_job_answers_and_cancels_it_besides_managers(
    lh: Lh, maker: Outsider, owner: str
) -> None:
    job = asking(lh, maker)
    other = Outsider(lh, owner)
    for call in (
        {"cmd": "jobs.message", "job": job, "message": "a"},
        {"cmd": "jobs.cancel", "job": job},
        {"cmd": "jobs.radar", "reply_job": job, "reply_message": "a"},
    ):
        cmd = call.pop("cmd")
        refused = other.refused(cmd, **call)
        assert refused["code"] == "FORBIDDEN", call
        assert "only a manager, or whoever created it may" in refused["message"]
    assert maker("jobs.radar", reply_job=job, reply_message="a")["reply"]["kind"] == "manager"
    assert maker("jobs.message", job=job, message="b")["job"]["status"] == "RUNNING"
    assert maker("jobs.cancel", job=job)["job"]["status"] == "CANCELED"
    assert maker.refused("jobs.requeue", job=job)["code"] == "FORBIDDEN"


def test_a_job_that_nobody_here_created_is_led_only_by_managers(lh: Lh, maker: Outsider) -> None:
    """One that was imported, for instance: an empty owner is nobody, not everybody."""
    job = asking(lh, maker)
    text = "UPDATE jobs SET creator = '', creator_agent = NULL WHERE ws = :ws"
    lh.house.db.write("acme", lambda tx: tx.run(Query("x", text, text)), call_of(lh.house))
    for owner in ("", "TOK-1/one"):
        assert Outsider(lh, owner).refused("jobs.cancel", job=job)["code"] == "FORBIDDEN"


def test_a_job_says_whether_it_is_the_callers_to_lead(lh: Lh, maker: Outsider) -> None:
    job = asking(lh, maker)
    for who, yours in ((maker, True), (Outsider(lh, "TOK-2"), False)):
        (row,) = who("jobs.radar")["jobs"]
        assert row.get("yours", True) is yours
        assert who("jobs.open", job=job).get("yours", True) is yours


def test_an_agent_under_the_persons_own_token_does_not_lead_the_persons_jobs(lh: Lh) -> None:
    job = lh("jobs.create", title="x", prompt="y")["job"]["id"]
    agent = Outsider(lh, "operator")
    assert agent.refused("jobs.cancel", job=job)["code"] == "FORBIDDEN"
    assert agent.refused("jobs.message", job=job, message="a")["code"] == "FORBIDDEN"


def test_a_manager_answers_and_cancels_every_job(lh: Lh, maker: Outsider) -> None:
    job = asking(lh, maker)
    boss = Outsider(lh, "TOK-9", Role.MANAGER)
    assert boss("jobs.message", job=job, message="a")
    assert boss("jobs.cancel", job=job)["job"]["status"] == "CANCELED"


def test_an_identity_answers_its_job_in_its_next_session_and_a_stranger_cannot_take_its_name(
    lh: Lh,
) -> None:
    first = Outsider(lh, "TOK-1/one", agent="amber-otter")
    job = asking(lh, first)
    again = Outsider(lh, "TOK-1/two", agent="amber-otter")
    stranger = Outsider(lh, "TOK-2/one")
    typed = stranger.refused("jobs.message", job=job, message="a", agent_id="amber-otter")
    assert typed["code"] == "FORBIDDEN"
    told = stranger.refused("jobs.message", job=job, message="a")
    assert "only amber-otter, who created it, or a manager may answer it" in told["message"]
    assert told["recovery"].startswith("ask amber-otter")
    assert again("jobs.message", job=job, message="a")


def test_status_and_radar_ask_only_those_who_may_answer(lh: Lh, maker: Outsider) -> None:
    job = asking(lh, maker)
    other = Outsider(lh, "TOK-2")

    def asked(who: Outsider) -> tuple[bool, dict[str, Any]]:
        actions = who.envelope("status")["actions"]
        (row,) = who("jobs.radar")["jobs"]
        return any("asks you" in one["why"] for one in actions), row["question"]

    mine, question = asked(maker)
    assert mine
    assert question["reply"] == {
        "tool": "jobs",
        "args": {"op": "radar", "args": {"reply_job": job}},
        "missing": ["reply_message"],
    }
    assert "ask" not in question
    theirs, question = asked(other)
    assert not theirs
    assert "reply" not in question
    assert question["ask"] == "a manager, or whoever created it"
