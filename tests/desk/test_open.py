"""`open` with what is not there: every refusal names a next call, and that call works."""

from __future__ import annotations

import pytest

from tests.jobs.kit import claimed, new_job
from tests.kit import Lh
from tests.processes.kit import allow, spawned
from tests.work.kit import close, new_task, step

NOT_THERE = [
    "ART-099",
    "artifact:0123456789ab",
    "notes@99",
    "CONFLICT-" + "0" * 32,
    "TASK-099",
    "PLAN-099",
    "TASK-001@99",
    "evt_0000000000000099",
    "STEP-000000FF",
    "JOB-099",
    "JOB-001@99",
    "PROC-099",
    "runner:nobody",
    "SUB-099",
    "dispatch:0a1b2c",
    "msg_99",
    "res_99",
    "CARD-999",
    "a:nowhere",
]


def test_every_kind_of_id_is_tried(lh: Lh) -> None:
    openers = lh.house.registry.openers
    untried = [one.what for one in openers if not any(one.pattern.match(id_) for id_ in NOT_THERE)]
    assert untried == []


@pytest.mark.proves("MEM-063")
@pytest.mark.parametrize("wanted", [*NOT_THERE, "zzz", "@", "artifact:abc", "job-1", "x" * 300])
def test_what_is_not_there_comes_with_a_call_that_finds_what_is(lh: Lh, wanted: str) -> None:
    lh("jobs.create", title="Look", prompt="Look at it.")
    lh("tasks.bootstrap", plan_title="Plan", task_title="Look", steps=[])
    refused = lh.envelope("open", id=wanted)
    assert refused["error"]["code"] == "UNKNOWN_ID"
    assert refused["error"]["recovery"]
    assert lh.run_actions(refused)


def test_a_step_is_opened_with_the_texts_of_its_criteria_and_tests(lh: Lh) -> None:
    wanted = step(
        "Measure",
        success_criteria=["The slow query is named"],
        tests=["make bench prints it"],
        blockers=["No access to the log"],
    )
    task = new_task(lh, step("Prepare", wanted))
    lh("tasks.evidence.capture", task=task, path="s:0.s:0", checks=["CMD: make (exit 2)"])
    lh("tasks.step.lease.claim", task=task, path="s:0.s:0", agent_id="amber-otter")
    envelope = lh.envelope("open", id="STEP-00000002")
    opened = envelope["result"]
    assert (opened["kind"], opened["task"], opened["path"]) == ("step", task, "s:0.s:0")
    assert opened["step"]["detail"] == {
        "success_criteria": ["The slow query is named"],
        "tests": ["make bench prints it"],
        "blockers": ["No access to the log"],
    }
    assert opened["missing"] == ["criteria", "tests"]
    assert opened["lease"]["holder"] == "amber-otter"
    assert opened["proofs"][0]["receipt"]["exit_code"] == 2
    lh.run_actions(envelope)
    for max_chars in (2, 100, 500, 20_000):
        assert lh("open", id="STEP-00000002", max_chars=max_chars)["id"] == "STEP-00000002"


def test_an_event_is_opened_by_the_id_that_status_shows(lh: Lh) -> None:
    new_task(lh, "a")
    shown = lh("status")["last_task_event"]["event_id"]
    assert lh("open", id=shown)["event"]["event_id"] == shown


def test_an_audit_of_a_task_shows_as_many_events_as_were_asked_for(lh: Lh) -> None:
    task = new_task(lh, "a", "b", "c")
    close(lh, task)
    close(lh, task)
    opened = lh("open", id=task, include_drafts=True, limit=2)
    assert len(opened["events"]) == 2
    assert len(lh("open", id=task, include_drafts=True)["events"]) > 2


def world(lh: Lh) -> dict[str, str]:
    """One of every kind of id, and what `open` calls it."""
    task = new_task(lh, "Measure")
    note = lh("vcs.notes.commit", content="A note.")["ref"]
    close(lh, task, proof="CMD: make test (exit 0)")
    for card, tags in (("CARD-1", []), ("CARD-2", ["v:draft", "a:loose"])):
        made = {"id": card, "type": "decision", "title": card, "tags": tags}
        lh("think.card", card=made, target=task)
    published = lh("think.publish", card_id="CARD-1", target=task)["published_card_id"]
    lh("think.anchor.bootstrap", anchors=[{"id": "a:core", "title": "Core", "kind": "component"}])
    job = new_job(lh, "Look")
    claimed(lh, job)
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle")
    event = lh("jobs.open", job=job)["job"]["last_ref"]
    allow(lh)
    process = spawned(lh)
    token = lh("agents.register", name="amber-otter", role="dev")["agent_token"]
    me = {"agent": "amber-otter", "agent_token": token}
    lh("agents.register", name="cobalt-harbor", role="dev")
    lh("agents.send", **me, to="cobalt-harbor", bead_id=task, subject="S", body="B")
    held = lh("agents.reserve", **me, bead_id=task, scope="src/*")["reservation"]
    (mail,) = lh("agents.inbox", agent="cobalt-harbor")["messages"]
    return {
        task: "task",
        "PLAN-001": "plan",
        "STEP-00000001": "step",
        lh("status")["last_task_event"]["event_id"]: "task_event",
        note: "doc_entry",
        "CARD-1": "card",
        "CARD-2": "card",
        published: "card",
        "a:core": "anchor",
        "a:loose": "anchor",
        job: "job",
        event: "job_event",
        process: "process",
        mail["message_id"]: "message",
        held["reservation_id"]: "reservation",
        "runner:r1": "runner",
    }


def test_every_kind_of_id_opens_within_any_budget_and_leads_on(lh: Lh) -> None:
    for id_, kind in world(lh).items():
        for more in ({}, {"max_chars": 2}, {"limit": 1}, {"include_drafts": True}):
            envelope = lh.envelope("open", id=id_, **more)
            assert envelope["success"], (id_, more, envelope["error"])
            assert envelope["result"].get("kind", kind) == kind, id_
            lh.run_actions(envelope)


def test_an_audit_of_a_task_shows_its_cards_with_drafts(lh: Lh) -> None:
    task = new_task(lh, "a")
    for card, tags in (("CARD-1", []), ("CARD-2", ["v:draft"])):
        lh("think.card", card={"id": card, "title": card, "tags": tags}, target=task)
    assert "cards" not in lh("open", id=task)
    shown = lh("open", id=task, include_drafts=True)["cards"]
    assert sorted(one["id"] for one in shown) == ["CARD-1", "CARD-2"]
