"""`tasks.resume.super`: what an agent without context finds again in one call."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.desk.project import Project, planted
from tests.kit import Lh
from tests.work.kit import close, new_task, step

PAGE = Path(__file__).parents[2] / "docs" / "desk.md"
RESUME = "tasks.resume.super"


def found(project: Project, text: str) -> int:
    return sum(fact in text for fact in project.facts.values())


def measured(lh: Lh, project: Project, max_chars: int) -> tuple[int, int]:
    """How many of the facts an answer of that size holds, as JSON and as lines."""
    args = {"task": project.task, "max_chars": max_chars, **project.me}
    envelope = lh.envelope(RESUME, **args)
    whole = json.dumps(envelope["result"], ensure_ascii=False, separators=(",", ":"))
    around = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    assert envelope["result"]["budget"]["used_chars"] <= max_chars
    assert len(around) - len(whole) <= 700, "the envelope adds at most 700 characters"
    lines = "\n".join(lh.lines(RESUME, **args))
    assert len(lines) <= max_chars
    return found(project, whole), found(project, lines)


def test_a_lost_context_is_found_again_in_one_call(lh: Lh) -> None:
    project = planted(lh, tasks=500)
    total = len(project.facts)
    rows = []
    for max_chars, share in ((2_000, 0.6), (6_000, 1.0)):
        as_json, as_lines = measured(lh, project, max_chars)
        assert min(as_json, as_lines) >= share * total, (max_chars, as_json, as_lines)
        rows.append(f"| {max_chars:,} | {as_json} of {total} | {as_lines} of {total} |")
    page = re.findall(r"^\| [0-9,]+ \| .*$", PAGE.read_text(), re.MULTILINE)
    assert page == rows, "docs/desk.md has other figures"


def small(lh: Lh) -> str:
    task = new_task(
        lh, step("Measure", tests=["make bench"], next_action="Run it"), "Mend", description="Slow."
    )
    lh("tasks.focus.set", task=task)
    return task


def test_mail_is_for_the_agent_that_shows_its_token(lh: Lh) -> None:
    task = small(lh)
    tokens = {
        name: lh("agents.register", name=name, role="dev")["agent_token"]
        for name in ("amber-otter", "cobalt-harbor")
    }
    lh(
        "agents.send",
        agent="cobalt-harbor",
        agent_token=tokens["cobalt-harbor"],
        to="amber-otter",
        bead_id=task,
        subject="Look here",
        body="The log is in docs.",
    )
    asked = {"agent": "amber-otter", "agent_token": tokens["amber-otter"]}
    for about in ({}, {"plan": "PLAN-001"}):
        mail = lh(RESUME, **asked, **about)["records"]["mail"]
        assert [one["subject"] for one in mail] == ["Look here"]
        assert any("Look here" in line for line in lh.lines(RESUME, **asked, **about))
    for other in ({}, {"agent": "amber-otter"}):
        envelope = lh.envelope(RESUME, **other)
        assert "Look here" not in json.dumps(envelope)
        codes = [one["code"] for one in envelope["warnings"]]
        assert codes == (["AGENT_TOKEN_MISSING"] if other else [])
    wrong = {"agent": "amber-otter", "agent_token": tokens["cobalt-harbor"]}
    assert lh.refused(RESUME, **wrong)["code"] == "AGENT_TOKEN_REQUIRED"
    assert lh("agents.inbox", agent="amber-otter")["messages"][0]["state"] == "unread"


def test_it_resumes_the_focus_of_the_agent_that_asks(lh: Lh) -> None:
    task = small(lh)
    token = lh("agents.register", name="amber-otter", role="dev")["agent_token"]
    other = new_task(lh, "Elsewhere")
    lh("tasks.focus.set", task=other, agent_id="amber-otter")
    assert lh(RESUME)["ref"] == task
    assert lh(RESUME, agent="amber-otter", agent_token=token)["ref"] == other


@pytest.mark.parametrize("max_chars", [2, 40, 150, 400, 900, 3_000, 20_000, 80_000])
@pytest.mark.parametrize("view", ["full", "smart", "explore", "audit", "focus_only"])
def test_ref_target_and_the_next_call_survive_any_budget(lh: Lh, view: str, max_chars: int) -> None:
    task = new_task(lh, *[step("s" * 90) for _ in range(12)], description="why " * 900)
    for number in range(6):
        lh("vcs.notes.commit", target=task, content=f"{number} " * 500)
    args: dict[str, Any] = {"task": task, "view": view, "max_chars": max_chars}
    envelope = lh.envelope(RESUME, **args, budget_profile="audit")
    result = envelope["result"]
    assert result["ref"] == result["capsule"]["target"]["id"] == task
    action = result["capsule"]["action"]
    assert lh.portal(action["tool"], **action["args"]).success
    assert result["budget"]["used_chars"] <= result["budget"]["max_chars"]
    state, *rest = lh.lines(RESUME, **args, budget_profile="audit")
    assert "| ref=TASK-001 |" in state
    assert max_chars < 400 or rest[-1].startswith("tasks cmd=tasks.radar ")
    lh.run_actions(envelope)


def test_what_a_budget_cuts_is_named_records_before_facts(lh: Lh) -> None:
    task = small(lh)
    lh("vcs.notes.commit", target=task, content="x " * 4_000)
    whole = lh(RESUME)
    assert whole["degradation"] == {"truncated_fields": [], "minimal": False}
    some = lh(RESUME, max_chars=4_000)
    assert some["facts"] == whole["facts"]
    assert some["degradation"] == {"truncated_fields": ["target", "records"], "minimal": False}
    least = lh(RESUME, max_chars=10)
    assert least.keys() == {"ref", "capsule", "degradation", "truncated", "budget"}


@pytest.mark.proves("MEM-280")
def test_the_engine_says_what_the_cards_of_the_task_ask_for(lh: Lh) -> None:
    task = small(lh)
    card = {"id": "CARD-H1", "type": "hypothesis", "title": "The cache is stale"}
    lh("think.card", card=card, target=task)
    engine = lh(RESUME)["engine"]
    assert "BM4_HYPOTHESIS_NO_TEST" in [one["code"] for one in engine["signals"]]
    assert engine["actions"][0]["calls"]
    assert "engine" not in lh(RESUME, engine_signals_limit=0, engine_actions_limit=0)


def test_an_audit_shows_drafts_and_the_narrow_view_only_the_step(lh: Lh) -> None:
    task = small(lh)
    draft = {"id": "CARD-D1", "type": "note", "title": "A draft", "tags": ["v:draft"]}
    lh("think.card", card=draft, target=task)
    here = {"id": "CARD-S1", "type": "question", "title": "Here?"}
    lh("think.card", card=here, target=task, step="focus")
    there = {"id": "CARD-S2", "type": "question", "title": "There?"}
    lh("think.card", card=there, target=task, step="s:1")

    def shown(view: str) -> set[str]:
        return {card["id"] for card in lh(RESUME, view=view)["records"]["cards"]}

    assert shown("full") == {"CARD-S1", "CARD-S2"}
    assert shown("audit") == {"CARD-S1", "CARD-S2", "CARD-D1"}
    assert shown("focus_only") == {"CARD-S1"}


def test_limits_follow_the_view_and_what_the_call_names(lh: Lh) -> None:
    task = small(lh)
    for number in range(30):
        lh("vcs.notes.commit", target=task, content=f"note {number}")

    def notes(**args: Any) -> int:
        return len(lh(RESUME, **args, budget_profile="audit")["records"].get("notes", []))

    assert notes() == 10
    assert notes(view="focus_only") == 0, "they are about no step"
    assert notes(view="audit") == notes(context_budget=15_000) == 12
    assert notes(context_budget=6_000) == notes(view="explore", context_budget=6_000) == 8
    assert notes(notes_limit=3) == 3


def test_a_plan_and_a_finished_task_are_resumed_as_well(lh: Lh) -> None:
    task = new_task(lh, "a")
    plan = lh.envelope(RESUME, plan="PLAN-001")
    assert plan["result"]["capsule"]["target"]["id"] == "PLAN-001"
    lh.run_actions(plan)
    close(lh, task)
    lh("tasks.complete", task=task)
    done = lh.envelope(RESUME, task=task)
    assert done["result"]["next"] == "done"
    lh.run_actions(done)


def test_without_a_focus_or_with_a_deleted_one_it_says_what_to_do(lh: Lh) -> None:
    refused = lh.envelope(RESUME)
    assert refused["error"]["code"] == "INVALID_INPUT"
    assert lh.run_actions(refused)
    task = small(lh)
    lh("tasks.focus.clear")
    assert lh.envelope(RESUME)["error"]["code"] == "INVALID_INPUT"
    for wrong in ({"task": "TASK-099"}, {"plan": "PLAN-099"}, {"target": "TASK-099"}):
        refused = lh.envelope(RESUME, **wrong)
        assert refused["error"]["code"] == "UNKNOWN_ID"
        assert lh.run_actions(refused)
    assert lh.envelope(RESUME, task="PLAN-001")["warnings"][-1]["code"] == "UNDERSTOOD"
    widest = lh.envelope(RESUME, task=task, max_chars=200_000, budget_profile="audit")
    assert "BUDGET_MAX_CLAMPED" in [one["code"] for one in widest["warnings"]]
    assert widest["result"]["budget"]["max_chars"] == 80_000


def test_resuming_writes_nothing_and_moves_no_focus(lh: Lh) -> None:
    task = small(lh)
    other = new_task(lh, "Elsewhere")
    before = lh("status")
    for view in ("full", "audit", "focus_only"):
        lh(RESUME, task=other, view=view)
    assert lh("status") == before
    assert before["focus"] == task


def test_the_small_resumption_points_to_the_whole_one(lh: Lh) -> None:
    small(lh)
    offered = [one["action_id"] for one in lh.envelope("tasks.resume.pack")["actions"]]
    assert f"next::{RESUME}" in offered


def test_the_lines_of_a_resumption_are_these(lh: Lh) -> None:
    project = planted(lh, tasks=10)
    said = "\n".join(lh.lines(RESUME, task=project.task, **project.me, max_chars=2_000)) + "\n"
    golden = Path(__file__).parents[1] / "golden" / "tasks_resume.txt"
    assert said == golden.read_text(encoding="utf-8"), f"{golden} is not what is said now"


def test_branches_with_unmerged_notes_show_their_cards_where_that_is_asked_for(lh: Lh) -> None:
    task = small(lh)
    lh("think.card", card={"id": "CARD-H1", "type": "hypothesis", "title": "Old"}, target=task)
    lh("vcs.branch.create", name="idea/warm", **{"from": f"task/{task}"})
    lh("vcs.notes.commit", branch="idea/warm", content="Warm it first.")
    doc = f"{task}-graph"
    node = {"op": "node_upsert", "id": "CARD-W1", "type": "hypothesis", "title": "Warm"}
    lh("graph.apply", branch="idea/warm", doc=doc, ops=[node])
    assert "graph_diff" not in lh(RESUME)["records"]
    (apart,) = lh(RESUME, graph_diff=True)["records"]["graph_diff"]
    assert (apart["from"], apart["to"], apart["has_more"]) == (f"task/{task}", "idea/warm", False)
    assert [one["id"] for one in apart["changes"]] == ["CARD-W1"]


def test_where_drafts_are_shown_it_is_told_whose_they_are(lh: Lh) -> None:
    task = small(lh)
    for who in ("amber", "cobalt"):
        card = {"id": f"CARD-{who}", "type": "note", "title": "x", "tags": [f"lane:agent:{who}"]}
        lh("think.card", card=card, target=task)
    assert "lane_summary" not in lh(RESUME)
    told = lh(RESUME, view="audit")["lane_summary"]
    assert told == lh(RESUME, include_drafts=True)["lane_summary"]
    assert [one["lane"] for one in told["lanes"]] == ["agent:amber", "agent:cobalt"]
    assert told["drafts"] == 2
    whole = lh(RESUME, view="audit")
    cut = lh(RESUME, view="audit", max_chars=whole_chars(lh, view="audit") - 1)
    assert "lane_summary" not in cut, "it goes before any record"
    assert cut["records"] == whole["records"]


def whole_chars(lh: Lh, **args: Any) -> int:
    """The length of an uncut answer."""
    chars: int = lh(RESUME, **args, max_chars=20_000)["budget"]["used_chars"]
    return chars


LIMITS = {
    ("full", None): (20, 5, 5, 10, 20, 20, 6, 6),
    ("focus_only", None): (12, 3, 3, 3, 8, 40, 6, 2),
    ("audit", None): (14, 6, 6, 12, 24, 60, 8, 2),
    ("smart", 2_000): (6, 3, 3, 4, 10, 18, 5, 2),
    ("smart", 6_000): (10, 4, 4, 8, 16, 26, 6, 2),
    ("smart", 12_000): (14, 5, 5, 12, 24, 40, 6, 2),
    ("smart", None): (14, 5, 5, 12, 24, 40, 6, 2),
    ("smart", 12_001): (20, 6, 6, 12, 30, 60, 8, 2),
    ("explore", 2_000): (6, 3, 3, 4, 10, 26, 5, 2),
    ("explore", 6_000): (10, 4, 4, 8, 16, 40, 6, 2),
    ("explore", 12_000): (14, 5, 5, 12, 24, 70, 6, 2),
    ("explore", 12_001): (20, 6, 6, 12, 30, 100, 8, 2),
}
"""Events, decisions, evidence, notes, trace, cards, signals and actions of each view."""


def test_each_view_shows_as_much_of_each_kind_as_it_says(lh: Lh) -> None:
    from longhouse.desk.lenses import limits_of

    names = ("events", "decisions", "evidence", "notes", "trace", "cards", "signals", "actions")
    for (view, chars), wanted in LIMITS.items():
        limits = limits_of(view, chars)  # type: ignore[arg-type]
        assert tuple(getattr(limits, name) for name in names) == wanted, (view, chars)
    task = small(lh)
    for number in range(9):
        shown = [f"CMD: make test-{number} (exit 0)"]
        lh("tasks.evidence.capture", task=task, checks=shown)
        decision = {"id": f"CARD-D{number}", "type": "decision", "title": f"Do {number}"}
        lh("think.card", card=decision, target=task, step="focus")
    for number in range(60):
        lh("vcs.notes.commit", target=task, content=f"note {number}", meta={"step": "s:0"})
        guess = {"id": f"CARD-H{number}", "type": "hypothesis", "title": f"Guess {number}"}
        lh("think.card", card=guess, target=task, step="focus")
    lists = ("timeline", "decisions", "evidence", "notes", "trace", "cards")
    for view in ("full", "audit", "focus_only"):
        whole = lh(RESUME, view=view, max_chars=80_000, budget_profile="audit")
        assert "degradation" in whole
        assert whole["degradation"]["truncated_fields"] == [], view
        found = tuple(len(whole["records"].get(name, ())) for name in lists)
        wanted = LIMITS[view, None]
        assert found == (min(wanted[0], 12), *wanted[1:6]), view
        assert len(whole["engine"]["signals"]) == wanted[6]
        assert len(whole["engine"]["actions"]) == wanted[7]


def test_a_cut_takes_the_oldest_of_the_least_weighty_records_first(lh: Lh) -> None:
    task = small(lh)
    lh("tasks.edit", task=task, description="why " * 300)
    for number in range(12):
        lh("vcs.notes.commit", target=task, content=f"note {number} " * 20)
    whole = lh(RESUME, budget_profile="audit")
    assert whole["records"]["timeline"]
    order = []
    for max_chars in range(len(json.dumps(whole)), 3_000, -150):
        some = lh(RESUME, max_chars=max_chars, budget_profile="audit")
        records = some.get("records", {})
        gone = {
            "why": len(records.get("radar", {}).get("why", "")) < 900,
            "description": "description" not in some.get("target", {}),
            "timeline": not records.get("timeline"),
            "notes": not records.get("notes"),
            "trace": not records.get("trace"),
            "records": not records,
            "target": "target" not in some,
        }
        order += [name for name, is_gone in gone.items() if is_gone and name not in order]
        assert len(some["facts"]) == len(whole["facts"]), "facts go last"
        for name in ("notes", "trace"):
            kept = [one["seq"] for one in records.get(name, [])]
            newest = [one["seq"] for one in whole["records"][name]][-len(kept) :]
            assert kept in ([], newest), "the oldest go first"
    assert order == ["description", "why", "timeline", "notes", "trace", "records", "target"]


def test_a_cut_plan_loses_its_contract_before_anything_else(lh: Lh) -> None:
    plan = lh("tasks.plan.create", title="P", kind="plan", contract="Fast. " * 400)["id"]
    whole = lh(RESUME, plan=plan)
    assert whole["target"]["contract"]
    cut = lh(RESUME, plan=plan, max_chars=len(json.dumps(whole)) - 1_000)
    assert "contract" not in cut["target"]
    assert {name: len(rows) for name, rows in cut["records"].items()} == {
        name: len(rows) for name, rows in whole["records"].items()
    }


def test_what_failed_once_and_passes_now_does_not_fail(lh: Lh) -> None:
    task = small(lh)
    for code in (3, 0):
        lh("tasks.evidence.capture", task=task, checks=[f"CMD: make bench (exit {code})"])
    abouts = [one["about"] for one in lh(RESUME)["facts"]]
    assert "failing" not in abouts
    assert "evidence" in abouts
    lh("tasks.evidence.capture", task=task, checks=["CMD: make bench (exit 4)"])
    (failing,) = [one for one in lh(RESUME)["facts"] if one["about"] == "failing"]
    assert failing["text"] == "CMD: make bench (exit 4) of s:0"


def test_a_note_of_that_kind_is_a_decision_and_what_was_rejected_is_told_too(lh: Lh) -> None:
    task = small(lh)
    lh("vcs.notes.commit", target=task, content="We swap by alias.", meta={"kind": "decision"})
    lh("vcs.notes.commit", target=task, content="We had lunch.")
    lh("think.card", target=task, card={"id": "CARD-R1", "type": "decision", "title": "Write both"})
    lh("think.set.status", target=task, status="rejected", targets=["CARD-R1"])
    facts = {(one["about"], one["text"]) for one in lh(RESUME)["facts"]}
    assert ("decision", "We swap by alias.") in facts
    assert ("rejected", "Write both") in facts
    assert ("note", "We had lunch.") in facts


def test_what_shows_nothing_is_not_called_evidence(lh: Lh) -> None:
    task = small(lh)
    lh("tasks.evidence.capture", task=task, checks=["CMD: make test (exit 0)", "CMD: make it"])
    about = {one["text"]: one["about"] for one in lh(RESUME)["facts"]}
    assert about["CMD: make test (exit 0) of s:0"] == "evidence"
    assert about["CMD: make it of s:0"] == "unproved"


def test_a_resume_names_what_was_written_elsewhere_about_the_same(lh: Lh) -> None:
    made = lh("tasks.plan.create", title="Shorten the cookie lifetime", kind="task")["id"]
    lh("vcs.notes.commit", content="The cookie lifetime is set by the proxy.", branch="main")
    card = {"id": "D-7", "type": "decision", "status": "accepted", "title": "A cookie lasts a day"}
    lh("think.card", card=card, branch="main")
    lh("vcs.notes.commit", content="Cookie lifetime: my own note.", target=made)
    facts = lh("tasks.resume.super", task=made, max_chars=20_000)["facts"]
    related = [fact for fact in facts if fact["about"] == "related"]
    assert related[0]["ref"] == "D-7"
    assert "proxy" in related[1]["text"]
    assert len(related) == 2
