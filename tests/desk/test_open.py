"""`open` with every kind of id: existing records open in full and cut, others give suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longhouse.kernel.registry import Role
from longhouse.ledger.writing import START_EXAMPLE
from tests.contracts.world import fingerprint
from tests.jobs.kit import claimed, new_job
from tests.kit import Lh
from tests.memory.world import clash, conflict_id
from tests.processes.kit import Runner, allow, out, spawned
from tests.work.kit import close, new_task, step

PAGE = Path(__file__).parents[2] / "docs" / "desk.md"
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
    "proto_20270115_099",
    "bb-7@99",
    "res_99",
    "CARD-999",
    "a:nowhere",
]


def test_the_page_names_every_kind_of_id(lh: Lh) -> None:
    table = (
        PAGE.read_text(encoding="utf-8").partition("| id | what it opens |")[2].partition("\n\n")[0]
    )
    named = re.findall(r"`([^`]+)`", table)
    openers = lh.house.registry.openers
    assert [one.ref.kind for one in openers if not any(map(one.pattern.match, named))] == []
    unknown = [id_ for id_ in named if not any(one.pattern.match(id_) for one in openers)]
    assert unknown == ["acme:TASK-001"], "which is TASK-001 of the workspace acme"


def test_every_kind_of_id_is_tried(lh: Lh) -> None:
    openers = lh.house.registry.openers
    untried = [
        one.ref.kind for one in openers if not any(one.pattern.match(id_) for id_ in NOT_THERE)
    ]
    assert untried == []


@pytest.mark.proves("MEM-063")
@pytest.mark.parametrize(
    "wanted",
    [*NOT_THERE, "elsewhere:TASK-001", "zzz", "@", "artifact:abc", "job-1", "x" * 300],
)
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
    shown = lh("status", view="full")["last_task_event"]["event_id"]
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
    note = lh("vcs.notes.commit", content="A note.\n\nERROR: of two lines.")["ref"]
    closed = close(lh, task, proof="CMD: make test (exit 0)")["events"][-1]
    for card, tags in (("CARD-1", []), ("CARD-2", ["v:draft", "a:loose"])):
        made = {"id": card, "type": "decision", "title": card, "tags": tags}
        version = lh("think.card", card=made, target=task)["graph_ref"]
    published = lh("think.publish", card_id="CARD-1", target=task)["published_card_id"]
    lh("think.anchor.bootstrap", anchors=[{"id": "a:core", "title": "Core", "kind": "component"}])
    clash(lh)
    job = new_job(lh, "Look")
    claimed(lh, job)
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle")
    event = lh("jobs.open", job=job)["job"]["last_ref"]
    allow(lh)
    process = spawned(lh)
    frame = lh("open", id=process)["frames"][0]["id"].partition("@")[2]
    dispatched = lh("jobs.subagent.start", **msgspec.to_builtins(START_EXAMPLE))["subagent"]
    stored = lh("docs.artifact.add", name="report.md", content="# All pass")["ref"]
    token = lh("agents.register", name="amber-otter", role="dev")["agent_token"]
    me = {"agent": "amber-otter", "agent_token": token}
    lh("agents.register", name="cobalt-harbor", role="dev")
    lh("agents.send", **me, to="cobalt-harbor", bead_id=task, subject="S", body="B")
    held = lh("agents.reserve", **me, bead_id=task, scope="src/*")["reservation"]
    (mail,) = lh("agents.inbox", agent="cobalt-harbor")["messages"]
    asked = {"subject": "S", "summary": "Half done", "next_action": "Finish it"}
    passed = lh("agents.handoff", **me, to="cobalt-harbor", bead_id="bb-7", **asked)["event"]
    return {
        task: "task",
        f"acme:{task}": "task",
        "PLAN-001": "plan",
        "acme:PLAN-001": "plan",
        "STEP-00000001": "step",
        closed["ref"]: "task_event",
        closed["event_id"]: "task_event",
        note: "doc_entry",
        version: "doc_entry",
        "CARD-1": "card",
        "CARD-2": "card",
        published: "card",
        "a:core": "anchor",
        "a:loose": "anchor",
        conflict_id(lh): "conflict",
        job: "job",
        event: "job_event",
        "runner:r1": "runner",
        process: "process",
        f"{process}@{frame}": "process",
        dispatched["ref"]: "subagent",
        f"dispatch:{dispatched['dispatch_id']}": "subagent",
        stored: "artifact",
        "ART-001": "artifact",
        mail["message_id"]: "message",
        mail["ref"]: "moment",
        passed["ref"]: "moment",
        passed["id"]: "moment",
        held["reservation_id"]: "reservation",
        held["ref"]: "moment",
    }


VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"max_chars": 2},
    {"max_chars": 300},
    {"max_chars": 80_000, "budget_profile": "audit"},
    {"limit": 1},
    {"include_drafts": True},
    {"include_content": False},
)


def test_every_kind_of_id_opens_within_any_budget_and_leads_on(lh: Lh) -> None:
    made = world(lh)
    shapes = lh.house.registry.openers
    assert [one.ref.kind for one in shapes if not any(one.pattern.match(id_) for id_ in made)] == []
    for id_, kind in made.items():
        for more in VARIANTS:
            answer = lh.portal("open", id=id_, **more)
            assert answer.success, (id_, more, answer.envelope["error"])
            result = answer.envelope["result"]
            assert result.get("kind", kind) == kind, id_
            assert more or (result["kind"], result["truncated"]) == (kind, False)
            budget = result.get("budget", {"used_chars": 0, "max_chars": 0})
            assert budget["used_chars"] <= budget["max_chars"]
            lh.run_actions(answer.envelope)


def refs_in(value: Any) -> Iterator[str]:
    """Every string in an answer that is labeled as a ref."""
    for name, item in value.items() if isinstance(value, dict) else ():
        if name in ("ref", "last_ref", "event_id", "message_id", "reservation_id", "qualified_id"):
            yield item
        for inside in item if isinstance(item, list) else [item]:
            yield from refs_in(inside)


def test_every_ref_inside_what_was_opened_opens_too(lh: Lh) -> None:
    found = {ref for id_ in world(lh) for ref in refs_in(lh("open", id=id_, include_drafts=True))}
    assert len(found) > 20
    closed = {ref: lh.envelope("open", id=ref)["error"] for ref in sorted(found)}
    assert {ref: error["message"] for ref, error in closed.items() if error} == {}


def test_the_lines_tell_what_it_is_and_quote_what_it_says(lh: Lh) -> None:
    made = world(lh)
    for id_, kind in made.items():
        state, *rest = lh.lines("open", id=id_, include_drafts=True)
        assert state.startswith(f"{kind} ")
        assert lh("open", id=state.rpartition(" | ref=")[2])["kind"] == kind
        assert not [line for line in rest if line.startswith(("ERROR:", "{", "["))]
        assert lh.lines("open", id=id_, max_chars=60)[0].startswith(f"{kind} ")
    argv = {"argv": ["make", "-j2", "the tests"]}
    process = lh("tool.task_spawn", tool="exec", args=argv)["task_id"]
    assert " | argv=make -j2 'the tests' | " in lh.lines("open", id=process)[0]
    note = next(id_ for id_ in made if id_.startswith("notes@"))
    assert lh.lines("open", id=note)[1:] == ["> A note.", "> ERROR: of two lines."]


def test_what_it_says_is_left_out_on_request(lh: Lh) -> None:
    made = world(lh)
    for kind, holder, text in (
        ("doc_entry", "entry", "content"),
        ("card", "card", "text"),
        ("message", "message", "body"),
    ):
        id_ = next(one for one, is_ in made.items() if is_ == kind)
        assert not lh("open", id=id_, include_content=False)[holder].get(text)
    moments = [one for one, is_ in made.items() if is_ == "moment"]
    mail = [one for one in moments if lh("open", id=one)["moment"].get("message")]
    assert mail
    for id_ in mail:
        less = lh("open", id=id_, include_content=False)["moment"]
        assert (less["message"]["subject"], less["message"]["body"]) == ("S", "")
        assert not less["event"]["payload"], "which begins with the same"
    runner = Runner(lh)
    runner.append(runner.start("PROC-001"), out(0, "A secret plan."))
    assert "A secret plan." in str(lh("open", id="PROC-001")["frames"])
    silent = lh("open", id="PROC-001", include_content=False)
    assert [one["type"] for one in silent["frames"]].count("tool_stdout") == 1
    assert "A secret plan." not in str(silent)
    assert lh("open", id="ART-001")["parts"]
    assert lh("open", id="ART-001", include_content=False)["parts"] == []


def test_what_another_workspace_holds_is_not_opened_here(lh: Lh) -> None:
    for id_ in world(lh):
        refused = lh.envelope("open", id=id_, workspace="elsewhere")
        assert refused["error"]["code"] == "UNKNOWN_ID", id_
        lh.run_actions(refused)
    error = lh.refused("open", id="elsewhere:TASK-001")
    assert error["message"] == "id: TASK-001 belongs to the workspace 'elsewhere', not to 'acme'"
    assert error["recovery"] == "pass workspace=elsewhere and id=TASK-001"
    error = lh.refused("open", id="elsewhere:TASK-001@5")
    assert error["recovery"] == "pass workspace=elsewhere and id=TASK-001@5"


def test_a_viewer_opens_everything_and_changes_nothing(lh: Lh) -> None:
    made = world(lh)
    before = fingerprint(lh)
    viewer = lh.as_role(Role.VIEWER)
    for id_ in made:
        for more in ({}, {"include_drafts": True}):
            assert lh.house.dispatcher.call("open", {"id": id_, **more}, viewer).success, id_
    assert fingerprint(lh) == before


ALMOST = {
    "task-1": "TASK-001",
    "job1": "JOB-001",
    "JOB-1": "JOB-001",
    "plan/PLAN-001": "PLAN-001",
    "bead:TASK-001": "TASK-001",
    "r1": "runner:r1",
    "core": "a:core",
    "PROC-001/stdout": "PROC-001",
    "task-1@{at}": "TASK-001@{at}",
    "acme:TASK-001@{at}": "TASK-001@{at}",
}


def test_what_is_written_almost_right_is_answered_with_what_was_meant(lh: Lh) -> None:
    at = next(one for one in world(lh) if one.startswith("TASK-001@")).partition("@")[2]
    for written, meant in ALMOST.items():
        refused = lh.envelope("open", id=written.format(at=at))
        assert refused["error"]["recovery"] == f"did you mean {meant.format(at=at)}?"
        (opened,) = lh.run_actions(refused)
        assert opened.envelope["intent"] == "open"
    for wrong in ("task-99", "task-1@999999"):
        assert "did you mean" not in lh.refused("open", id=wrong)["recovery"]


@pytest.mark.proves("MEM-063")
def test_a_digest_and_the_name_of_an_agent_are_known_for_what_they_are(lh: Lh) -> None:
    world(lh)
    digest = lh("open", id="ART-001")["artifact"]["digest"]
    error = lh.refused("open", id=digest)
    assert error["recovery"] == f"did you mean artifact:{digest}?"
    refused = lh.envelope("open", id="amber-otter")
    assert error["code"] == refused["error"]["code"] == "UNKNOWN_ID"
    (shown,) = lh.run_actions(refused)
    assert shown.envelope["result"]["agent"]["agent_id"] == "amber-otter"


@pytest.mark.proves("MEM-047")
def test_an_audit_of_a_task_shows_its_cards_with_drafts(lh: Lh) -> None:
    task = new_task(lh, "a")
    for card, tags in (("CARD-1", []), ("CARD-2", ["v:draft"])):
        lh("think.card", card={"id": card, "title": card, "tags": tags}, target=task)
    assert "cards" not in lh("open", id=task)
    shown = lh("open", id=task, include_drafts=True)["cards"]
    assert sorted(one["id"] for one in shown) == ["CARD-1", "CARD-2"]
