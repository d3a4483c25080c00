"""Views of one plan or task, found by target or focus, or refused with suggestions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.work.kit import close, new_task, step

VIEWS = (
    "tasks.radar",
    "tasks.handoff",
    "tasks.resume",
    "tasks.resume.pack",
    "tasks.context.pack",
    "tasks.lint",
    "tasks.snapshot",
    "tasks.history",
)


@pytest.mark.proves("MEM-015")
def test_radar_says_where_the_reasoning_lives(lh: Lh) -> None:
    task = new_task(lh, "a")
    assert lh("tasks.radar", task=task)["reasoning_ref"] == {
        "branch": "task/TASK-001",
        "notes_doc": "notes",
        "graph_doc": "TASK-001-graph",
        "trace_doc": "TASK-001-trace",
    }
    assert lh("tasks.radar", plan="PLAN-001")["reasoning_ref"]["trace_doc"] == "PLAN-001-trace"


def test_radar_says_what_is_next_in_the_words_of_the_contract(lh: Lh) -> None:
    task = new_task(lh, description="It takes 900 ms.")
    radar = lh("tasks.radar", task=task)["radar"]
    assert radar == {
        "now": "Task TASK-001: Index the search",
        "why": "It takes 900 ms.",
        "verify": [],
        "next": ["Add steps to this task"],
        "blockers": [],
    }
    lh("tasks.plan.decompose", task=task, steps=[step("a", blockers=["key"]), step("b")])
    radar = lh("tasks.radar", task=task)["radar"]
    assert radar["verify"] == ["Missing criteria checkpoints: 2", "Missing tests checkpoints: 2"]
    assert radar["next"] == ["Confirm checkpoints for s:0"]
    assert radar["blockers"] == ["key"]
    lh("tasks.verify", task=task, checkpoints="gate")
    assert lh("tasks.radar", task=task)["radar"]["next"] == ["Close next step s:0"]
    lh("tasks.done", task=task)
    assert lh("tasks.radar", task=task)["radar"]["next"] == ["Confirm checkpoints for s:1"]
    close(lh, task)
    assert lh("tasks.radar", task=task)["radar"]["next"] == ["Finish task"]
    lh("tasks.complete", task=task)
    assert lh("tasks.radar", task=task)["radar"]["next"] == []


def test_the_action_of_a_view_always_brings_the_work_on(lh: Lh) -> None:
    """From an empty task to a finished one by running the suggested actions and attaching proof."""
    task = new_task(lh)
    for turn in range(10):
        envelope = lh.envelope("tasks.radar", task=task)
        if not envelope["actions"]:
            break
        lh.run_actions(envelope, steps=[step("Do it")])
        if turn == 1:
            assert "tasks.macro.close.step" in envelope["actions"][0]["why"]
            lh("tasks.macro.close.step", proof="CMD: make (exit 0)", task=task)
    assert envelope["result"]["target"]["status"] == "DONE"
    lh("tasks.plan", plan="PLAN-001", steps=["one", "two"])
    for item in ("one", "two"):
        envelope = lh.envelope("tasks.radar", plan="PLAN-001")
        assert item in envelope["actions"][0]["why"]
        lh.run_actions(envelope)
        lh("tasks.plan", plan="PLAN-001", advance=True)
    lh.run_actions(lh.envelope("tasks.radar", plan="PLAN-001"))
    assert lh("tasks.radar", plan="PLAN-001")["target"]["status"] == "DONE"


def test_the_hand_over_says_what_is_done_what_remains_and_what_is_risky(lh: Lh) -> None:
    task = new_task(lh, "a", step("b", proof={"tests": "require"}), "c")
    close(lh, task)
    lh("tasks.block", task=task, reason="No access")
    handoff = lh("tasks.handoff", task=task)["handoff"]
    assert handoff["done"] == ["Completed steps: 1/3"]
    assert handoff["remaining"] == ["Open steps: 2", "Next open step: s:1"]
    assert handoff["risks"] == [
        "Missing criteria checkpoints: 2",
        "Missing tests checkpoints: 2",
        "Missing tests proof: 1",
        "s:1 lacks proof of tests",
        "Blocked: No access",
    ]
    assert len(lh("tasks.handoff", task=task, limit=2)["handoff"]["risks"]) == 2
    lh("tasks.plan", plan="PLAN-001", steps=["one", "two"], current=1)
    plan = lh("tasks.handoff", plan="PLAN-001")["handoff"]
    assert (plan["done"], plan["remaining"]) == (
        ["Checklist progress: 1/2"],
        ["Checklist: two"],
    )


def test_the_pack_holds_decisions_evidence_and_blockers(lh: Lh) -> None:
    task = new_task(lh, "a", "b")
    for n in range(3):
        node = {"op": "node_upsert", "id": f"D-{n}", "type": "decision", "title": f"Choice {n}"}
        lh("graph.apply", target=task, ops=[node])
        lh(
            "tasks.evidence.capture",
            task=task,
            checks=[f"https://ci.example/{n}"],
            checkpoint="tests",
        )
    lh("tasks.block", task=task, reason="No access")
    pack = lh("tasks.resume.pack", task=task, decisions_limit=2, evidence_limit=2)
    signals = pack["signals"]
    assert [d["title"] for d in signals["decisions"]] == ["Choice 2", "Choice 1"]
    assert [e["receipt"]["text"] for e in signals["evidence"]] == [
        "https://ci.example/2",
        "https://ci.example/1",
    ]
    assert signals["blockers"] == ["No access"]
    for item in (*signals["decisions"], *signals["evidence"]):
        lh("open", id=item["ref"])
    none = lh(
        "tasks.resume.pack",
        task=task,
        decisions_limit=0,
        evidence_limit=0,
        blockers_limit=0,
        events_limit=0,
    )
    assert none["signals"] == {"decisions": [], "evidence": [], "blockers": []}
    assert none["timeline"] == []
    assert lh("tasks.resume.pack", plan="PLAN-001")["signals"]["decisions"] == []


def test_resume_gives_the_newest_events(lh: Lh) -> None:
    task = new_task(lh, "a")
    for n in range(5):
        lh("tasks.note", task=task, note=str(n))
    shown = lh("tasks.resume", task=task, events_limit=2)["timeline"]
    assert [e["payload"]["note"] for e in shown] == ["4", "3"]
    packed = lh("tasks.context.pack", task=task, delta_limit=2)["delta"]
    assert packed == shown


@pytest.mark.proves("MEM-011", "MEM-012")
def test_a_target_wins_over_the_focus_and_the_focus_is_meant_without_one(lh: Lh) -> None:
    first, second = new_task(lh, "a"), new_task(lh, "b")
    assert lh("tasks.focus.set", task=first)["focus"] == first
    for cmd in VIEWS:
        shown = [
            lh(cmd),
            lh(cmd, task=second),
            lh(cmd, target=second),
            lh(cmd, target={"id": second, "kind": "task"}),
            lh(cmd, plan="PLAN-001"),
        ]
        targets = [one.get("id") or one["target"] for one in shown]
        found = [one if isinstance(one, str) else one["id"] for one in targets]
        assert found == [first, second, second, second, "PLAN-001"], cmd
    lh("tasks.note", note="here")
    assert lh("docs.show", doc_kind="notes")["entries"][-1]["content"] == "here"
    lh("tasks.note", target=second, note="there")
    assert lh("docs.show", doc_kind="notes", target=second)["entries"][-1]["content"] == "there"
    assert lh("tasks.focus.get")["focus"] == first


@pytest.mark.proves("MEM-013")
def test_without_a_focus_memory_falls_back_to_the_checkout_and_tasks_ask(lh: Lh) -> None:
    new_task(lh, "a")
    lh("vcs.notes.commit", content="on main")
    assert lh("docs.show", doc_kind="notes")["entries"][-1]["content"] == "on main"
    lh("vcs.branch.create", name="idea/a", **{"from": "main"})
    lh("vcs.checkout", ref="idea/a")
    assert lh("vcs.notes.commit", content="on a")["entry"]["branch"] == "idea/a"
    assert (
        lh("graph.apply", ops=[{"op": "node_upsert", "id": "N", "type": "t"}])["branch"] == "idea/a"
    )
    assert lh("docs.show", doc_kind="notes", branch="main")["entries"][-1]["content"] == "on main"
    assert lh("docs.show", doc_kind="notes")["entries"][-1]["content"] == "on a"
    assert [n["id"] for n in lh("graph.query")["nodes"]] == ["N"]
    assert lh("graph.query", branch="main")["nodes"] == []
    assert lh("vcs.log")["branch"] == lh("docs.list")["branch"] == "idea/a"
    assert lh("docs.show", doc_kind="trace")["branch"] == "idea/a"
    envelope = lh.envelope("tasks.radar")
    assert envelope["error"]["code"] == "INVALID_INPUT"
    assert envelope["actions"][0]["args"] == {
        "workspace": "acme",
        "op": "call",
        "cmd": "tasks.radar",
        "args": {"task": "TASK-001"},
    }
    lh.run_actions(envelope)


def test_without_anything_a_first_task_is_offered(lh: Lh) -> None:
    envelope = lh.envelope("tasks.snapshot")
    assert envelope["error"]["code"] == "INVALID_INPUT"
    assert "next::tasks.macro.start" in [a["action_id"] for a in envelope["actions"]]
    lh.run_actions(envelope, task_title="Ours")
    assert lh("tasks.context")["counts"]["tasks"] == 1


@pytest.mark.parametrize(
    "args",
    [
        {"task": "TASK-001", "plan": "PLAN-001"},
        {"task": "TASK-001", "target": "TASK-001"},
        {"plan": "PLAN-001", "target": "TASK-001"},
        {"target": {"id": "TASK-001", "kind": "plan"}},
        {"target": "JOB-001"},
    ],
)
def test_contradictory_targets_are_refused(lh: Lh, args: dict[str, Any]) -> None:
    new_task(lh, "a")
    assert lh.refused("tasks.radar", **args)["code"] == "INVALID_INPUT"


def test_a_step_command_on_a_plan_is_refused(lh: Lh) -> None:
    new_task(lh, "a")
    error = lh.refused("tasks.note", plan="PLAN-001", note="x")
    assert "is a plan, but this command needs a task" in error["message"]


@pytest.mark.proves("MEM-060")
def test_looking_writes_nothing_and_never_moves_the_focus(lh: Lh) -> None:
    first, second = new_task(lh, "a"), new_task(lh, "b")
    job = lh("jobs.create", title="Look", prompt="Look.", task=second)["job"]["id"]
    lh("tasks.focus.set", task=first)
    before = fingerprint(lh)
    for cmd in VIEWS:
        lh(cmd, task=second)
        lh(cmd, plan="PLAN-001", **({"read_only": False} if cmd == "tasks.radar" else {}))
    lh("open", id=second)
    lh("open", id="PLAN-001", include_drafts=True)
    lh("open", id=job, include_drafts=True)
    lh("tasks.execute.next")
    assert lh("tasks.focus.get")["focus"] == first
    assert fingerprint(lh) == before


@pytest.mark.proves("MEM-052", "MEM-062")
def test_open_gives_a_lens_of_a_task_or_plan(lh: Lh) -> None:
    task = new_task(lh, "a", "b")
    close(lh, task)
    shown = lh("open", id=task)
    assert shown.keys() == {
        "kind",
        "id",
        "target",
        "reasoning_ref",
        "capsule",
        "step_focus",
        "degradation",
        "truncated",
    }
    assert (shown["kind"], shown["id"], shown["step_focus"]["path"]) == ("task", task, "s:1")
    assert shown["capsule"]["view"] == "focus_only"
    assert lh("open", id=task, include_drafts=True)["capsule"]["view"] == "audit"
    assert (shown["target"]["id"], shown["reasoning_ref"]["branch"]) == (task, f"task/{task}")
    plan = lh("open", id="PLAN-001")
    assert (plan["kind"], plan["id"], "step_focus" in plan) == ("plan", "PLAN-001", False)
    assert plan["target"]["id"] == "PLAN-001"
    assert plan["reasoning_ref"]["branch"] == "plan/PLAN-001"
    envelope = lh.envelope("open", id="TASK-099")
    assert (envelope["error"]["code"], bool(envelope["error"]["recovery"])) == ("UNKNOWN_ID", True)
    lh.run_actions(envelope)


def test_open_gives_one_event_by_its_ref(lh: Lh) -> None:
    task = new_task(lh, "a")
    event = lh("tasks.note", task=task, note="x")["event"]
    opened = lh("open", id=event["ref"])
    assert (opened["kind"], opened["event"]) == ("task_event", event)
    entry = lh("docs.show", target=task)["entries"][-1]
    assert lh("open", id=f"{entry['doc']}@{entry['seq']}")["kind"] == "doc_entry"
    for wrong in (f"{task}@99999", f"TASK-099@{event['seq']}", f"{task}@{entry['seq']}"):
        assert lh.refused("open", id=wrong)["code"] == "UNKNOWN_ID"


def test_every_ref_in_an_answer_opens(lh: Lh) -> None:
    task = new_task(lh, "a")
    close(lh, task)
    for event in lh("tasks.delta")["events"]:
        assert lh("open", id=event["ref"])["event"]["event_id"] == event["event_id"]


@pytest.mark.proves("MEM-052", "MEM-062")
def test_an_audit_shows_the_whole_and_a_cut_is_told(lh: Lh) -> None:
    task = new_task(lh, *(step(f"part {n}", proof={"tests": "require"}) for n in range(8)))
    lh("tasks.evidence.capture", task=task, checks=["CMD: make test (exit 0)"], checkpoint="tests")
    close(lh, task)
    draft = {"type": "note", "title": "Half a thought", "tags": ["v:draft"]}
    lh("think.card", target=task, card=draft)
    focus = lh("open", id=task)
    assert focus["capsule"]["view"] == "focus_only"
    assert not focus.keys() & {"steps", "proofs", "events", "cards"}
    assert focus["degradation"]["truncated_fields"] == ["capsule.handoff.risks"]
    audit = lh("open", id=task, include_drafts=True)
    assert audit["capsule"]["view"] == "audit"
    assert [row["completed"] for row in audit["steps"]] == [True] + [False] * 7
    assert audit["proofs"][0]["receipt"]["text"] == "make test"
    assert audit["events"][0]["type"] == "step_done"
    assert [card["title"] for card in audit["cards"]] == ["Half a thought"]
    assert audit["degradation"] == {"truncated_fields": [], "minimal": False}
    small = lh("open", id=task, include_drafts=True, max_chars=2_500)
    assert small["truncated"]
    assert {"events", "steps"} <= set(small["degradation"]["truncated_fields"])
    assert len(small["events"]) < len(audit["events"])
    tiny = lh("open", id=task, max_chars=300)
    assert tiny["degradation"]["minimal"]


def test_an_export_without_a_target_is_of_the_one_in_focus(lh: Lh) -> None:
    task = new_task(lh, "a")
    assert lh.refused("docs.export")["code"] == "INVALID_INPUT"
    lh("tasks.focus.set", task=task)
    assert lh("docs.export")["target"]["id"] == task
