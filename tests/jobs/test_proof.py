"""Proof: what salvage finds, and when DONE needs something to show."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.jobs.completion_proof import salvage
from longhouse.kernel.delegation import MAX_REFS
from tests.jobs.kit import attention, claimed, ended, new_job, note, running, seq_now
from tests.kit import Lh


@pytest.mark.proves("DEL-129", "DEL-130")
@pytest.mark.parametrize(
    "text, found",
    [
        ("CMD: pytest -q", ["CMD: pytest -q"]),
        ("- link:   https://ci.example/run/7", ["LINK: https://ci.example/run/7"]),
        ("See https://ci.example/1.", ["LINK: https://ci.example/1"]),
        ("$ cargo test --all", ["CMD: cargo test --all"]),
        ("1. `make test`", ["CMD: make test"]),
        ("make the tests pass", []),
        ("git history is long.", []),
        ("CMD: <fill: command you ran>", []),
        ("LINK:", []),
        (
            "done: CARD-7, TASK-012, PLAN-003, JOB-004@9, notes@12 and a:core.",
            ["CARD-7", "TASK-012", "PLAN-003", "JOB-004@9", "notes@12", "a:core"],
        ),
        ("mail bob@example.com about data:core", []),
        ("", []),
    ],
)
def test_salvage_finds_receipts_commands_and_ids(text: str, found: list[str]) -> None:
    assert salvage(text) == found


@pytest.mark.proves("DEL-130")
@given(st.text() | st.from_regex(r"(CMD: \w+ |JOB-\d{3} |https://a/\w+ |\n)*"))
def test_what_is_salvaged_is_bounded_and_the_same_each_time(text: str) -> None:
    found = salvage(text)
    assert found == salvage(text)
    assert len(found) <= MAX_REFS
    assert all(len(ref) <= 256 for ref in found)


@pytest.mark.proves("DEL-130", "DEL-131")
def test_of_many_pointers_the_first_are_salvaged_and_a_long_one_is_cut(lh: Lh) -> None:
    many = " ".join(f"a:part-{n:02d}" for n in range(60))
    assert salvage(many) == many.split()[:MAX_REFS]
    (cut,) = salvage("CMD: " + "x" * 500)
    assert cut == "CMD: " + "x" * 250 + "…"
    job = new_job(lh)
    receipts = [f"CMD: make part-{n:02d}" for n in range(60)]
    event = lh("jobs.message", job=job, message="\n".join(receipts))["event"]
    assert event["refs"] == receipts[:32]


@pytest.mark.proves("DEL-129")
def test_completion_without_refs_takes_them_from_the_summary(lh: Lh) -> None:
    ref = note(lh)
    fence = running(lh)
    lh("think.card", card={"id": "CARD-cause", "type": "evidence", "title": "It expired"})
    summary = f"Fixed it, see {ref}, CARD-cause and CARD-fake1.\nCMD: pytest -q tests/x"
    job = lh("jobs.complete", **fence, status="DONE", summary=summary)["job"]
    assert job["refs"] == ["CMD: pytest -q tests/x", ref, "CARD-cause"]


def test_a_salvaged_id_that_does_not_exist_is_dropped(lh: Lh) -> None:
    fence = running(lh)
    job = lh("jobs.complete", **fence, status="DONE", summary="see notes@77")["job"]
    assert "refs" not in job


@pytest.mark.proves("DEL-131")
def test_a_message_without_refs_takes_them_from_its_text(lh: Lh) -> None:
    ref, job = note(lh), new_job(lh)
    event = lh("jobs.message", job=job, message=f"the proof is {ref}")["event"]
    assert event["refs"] == [ref]
    event = lh("jobs.message", job=job, message=f"not {ref}", refs=["CMD: ls"])["event"]
    assert event["refs"] == ["CMD: ls"]
    said = f"see {ref}, notes@999 and CARD-none1.\nCMD: make test"
    event = lh("jobs.message", job=job, message=said)["event"]
    assert event["refs"] == ["CMD: make test", ref], "an id that opens nothing is dropped"
    reply = lh("jobs.radar", reply_job=job, reply_message=said)["reply"]
    assert reply["refs"] == event["refs"]


@pytest.mark.proves("DEL-132", "DEL-133")
def test_a_proof_gate_asks_for_proof_and_not_for_the_manager(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="no refs", kind="proof_gate")
    now = attention(lh, fence["job"])
    assert (now["needs_proof"], now["needs_manager"], now["marker"]) == (True, False, "!")
    lh("jobs.message", job=fence["job"], message="found it", refs=[note(lh)])
    assert not attention(lh, fence["job"])["needs_proof"]
    lh("jobs.report", **fence, message="again", kind="proof_gate")
    assert attention(lh, fence["job"])["needs_proof"]


@pytest.mark.proves("DEL-132")
@pytest.mark.parametrize("own", [[], ["{job}"], ["{job}@1"], ["CMD: pytest -q"], ["a:core"]])
def test_a_message_without_a_ref_of_its_own_does_not_satisfy_the_proof_gate(
    lh: Lh, own: list[str]
) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="no refs", kind="proof_gate")
    lh("think.macro.anchor.note", anchor="a:core", title="Core", kind="component", content="Here.")
    refs = [ref.format(job=fence["job"]) for ref in own]
    lh("jobs.message", job=fence["job"], message=f"fine by me, {fence['job']}", refs=refs)
    assert attention(lh, fence["job"])["needs_proof"]


@pytest.mark.proves("DEL-132")
def test_a_checkpoint_satisfies_the_proof_gate_only_with_a_ref(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="no refs", kind="proof_gate")
    lh("jobs.report", **fence, message="slice 2 started", kind="checkpoint")
    lh("jobs.report", **fence, message="with a ref", kind="progress", refs=[note(lh)])
    assert attention(lh, fence["job"])["needs_proof"]
    lh("jobs.report", **fence, message="proof", kind="checkpoint", refs=[note(lh)])
    assert not attention(lh, fence["job"])["needs_proof"]


@pytest.mark.proves("DEL-132")
def test_completion_ends_the_proof_gate(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="no refs", kind="proof_gate")
    lh("jobs.complete", **fence, status="DONE")
    assert not attention(lh, fence["job"])["needs_proof"]


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"summary": "looks fine"},
        {"refs": ["CMD: pytest -q"]},
        {"refs": ["JOB-001"]},
        {"refs": ["JOB-001@1"]},
        {"refs": ["JOB-0001"]},
        {"summary": "see JOB-001"},
    ],
)
def test_where_proof_is_required_done_needs_a_ref_to_something_else(
    lh: Lh, args: dict[str, Any]
) -> None:
    fence = running(lh, require_proof=True)
    before = seq_now(lh)
    answer = lh.envelope("jobs.complete", **fence, status="DONE", **args)
    assert answer["error"]["code"] == "PROOF_REQUIRED"
    assert seq_now(lh) == before
    assert answer["actions"][0].get("missing") == (None if "summary" in args else ["content"])
    ref = lh.run_actions(answer, content="what we saw")[0].envelope["result"]["ref"]
    assert lh("jobs.complete", **fence, status="DONE", refs=[ref])["job"]["status"] == "DONE"


def test_another_job_is_proof_and_a_failure_needs_none(lh: Lh) -> None:
    other = ended(lh)
    fence = running(lh, require_proof=True)
    assert lh("jobs.complete", **fence, status="DONE", refs=[other])["job"]["status"] == "DONE"
    fence = running(lh, require_proof=True)
    assert lh("jobs.complete", **fence, status="FAILED")["job"]["status"] == "FAILED"


def test_a_runner_that_lost_its_claim_hears_that_and_not_of_proof(lh: Lh) -> None:
    fence = running(lh, require_proof=True)
    lh("jobs.cancel", job=fence["job"])
    assert lh.refused("jobs.complete", **fence, status="DONE")["code"] == "CONFLICT"


def test_elsewhere_done_without_proof_is_accepted_with_a_warning(lh: Lh) -> None:
    answer = lh.envelope("jobs.complete", **running(lh), status="DONE", summary="trust me")
    assert [w["code"] for w in answer["warnings"]] == ["PROOF_WEAK"]
    answer = lh.envelope("jobs.complete", **running(lh), status="DONE", refs=[note(lh)])
    assert answer["warnings"] == []


def test_asking_for_a_ref_leaves_no_traces_of_opening_it(lh: Lh) -> None:
    fence = claimed(lh, new_job(lh))
    answer = lh.envelope("jobs.report", **fence, message="m", refs=[note(lh), fence["job"]])
    assert answer["warnings"] == []
    assert answer["actions"] == []
