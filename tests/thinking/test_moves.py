"""Pipelines, links, statuses, pins, publishing, merging, playbooks, subgoals, ideas, knowledge."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.thinking.vocabulary import TYPES
from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.memory.kit import state
from tests.thinking.kit import card, ids, shown, task

STAGES = ("frame", "hypothesis", "test", "evidence", "decision")


def edges(lh: Lh, card_id: str) -> dict[str, Any]:
    opened: dict[str, Any] = lh("open", id=card_id)
    return opened["edges"]


@pytest.mark.proves("MEM-161", "MEM-162", "MEM-163", "MEM-164", "MEM-165", "MEM-167")
def test_a_pipeline_writes_five_linked_cards_and_a_note(lh: Lh) -> None:
    made = task(lh)
    step = made["steps"][0]
    written = lh(
        "think.reasoning.pipeline",
        target=made["id"],
        agent_id="agent-1",
        step="focus",
        **{stage: f"the {stage}" for stage in STAGES},
        status={"hypothesis": "open", "decision": "accepted"},
        note_decision=True,
        note_title="Decision",
        note_format="text",
    )
    assert [one["stage"] for one in written["cards"]] == list(STAGES)
    before = None
    for one in written["cards"]:
        opened = lh("open", id=one["card_id"])
        assert opened["card"]["type"] == one["stage"]
        assert opened["card"]["text"] == f"the {one['stage']}"
        assert opened["card"]["tags"] == [f"step:{step['step_id'].lower()}"]
        assert opened["card"]["meta"]["step"] == {
            "task_id": made["id"],
            "step_id": step["step_id"],
            "path": "s:0",
        }
        assert opened["edges"]["supports"] == ([before] if before else [])
        before = one["card_id"]
    assert lh("open", id=before)["card"]["status"] == "accepted"
    assert lh("open", id=written["cards"][1]["card_id"])["card"]["status"] == "open"
    (note,) = lh("docs.show", target=made["id"], doc_kind="notes")["entries"]
    assert (note["title"], note["format"]) == ("Decision", "text")
    assert "the decision" in note["content"]
    assert note["meta"]["step"] == {
        "task_id": made["id"],
        "step_id": step["step_id"],
        "path": "s:0",
    }
    lh("think.reasoning.pipeline", decision="unsaid")
    assert lh("docs.show", branch="main", doc="notes")["entries"] == []
    lh("think.reasoning.pipeline", decision="said", note_decision=True)
    (plain,) = lh("docs.show", branch="main", doc="notes")["entries"]
    assert plain["content"].startswith("said")
    assert "step" not in plain["meta"]


@pytest.mark.proves("MEM-161", "MEM-163", "MEM-166")
def test_a_pipeline_may_leave_stages_out_but_not_all(lh: Lh) -> None:
    written = lh("think.reasoning.pipeline", frame="f", test="t")
    frame, test = (one["card_id"] for one in written["cards"])
    assert edges(lh, test)["supports"] == [frame]
    before = state(lh)
    for wrong in (
        {},
        {"frame": "f", "status": {"decision": "accepted"}},
        {"frame": "f", "status": {"guess": "open"}},
        {"frame": "f", "status": {"frame": "perhaps"}},
        {"frame": "f", "note_decision": True},
        {"frame": "f", "step": "s:0", "branch": "main"},
        {"frame": "f", "step": "s:0", "graph_doc": "graph"},
        {"frame": "f", "step": "s:0"},
    ):
        assert lh.refused("think.reasoning.pipeline", **wrong)["code"] == "INVALID_INPUT"
    assert state(lh) == before


@pytest.mark.proves("MEM-244")
def test_a_link_is_an_edge_and_is_made_once(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-T1", "test")
    args = {"from": "CARD-T1", "rel": "supports", "to": "CARD-H1"}
    made = lh("think.link", **args)
    assert made["applied"] == {"nodes_upserted": 0, "edges_upserted": 1}
    assert lh("open", id=made["graph_ref"])["ref"] == made["graph_ref"]
    assert edges(lh, "CARD-H1")["supported_by"] == ["CARD-T1"]
    lh("think.link", **{**args, "rel": "refines"}, message="why", meta={"k": 1})
    found = lh("graph.query", ids=["CARD-T1", "CARD-H1"])["edges"]
    assert {(one["from"], one["rel"], one["to"]): one.get("meta") for one in found} == {
        ("CARD-T1", "supports", "CARD-H1"): None,
        ("CARD-T1", "refines", "CARD-H1"): {"k": 1, "message": "why"},
    }
    before = state(lh)
    again = lh("think.link", **args)
    assert (again["applied"]["edges_upserted"], again.get("graph_ref")) == (0, None)
    assert state(lh) == before
    assert lh.refused("think.link", **{**args, "to": "CARD-T1"})["code"] == "INVALID_INPUT"
    assert lh.refused("think.link", **{**args, "to": "CARD-H2"})["code"] == "UNKNOWN_ID"


@pytest.mark.proves("MEM-245")
def test_a_status_is_set_for_all_cards_or_for_none(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", tags=["x"])
    card(lh, "CARD-H2", "hypothesis")
    assert lh.refused("think.set.status", status="done", targets=["CARD-H1", "CARD-NO"])
    assert lh("open", id="CARD-H1")["card"]["status"] == "open"
    card(lh, "CARD-H3", "hypothesis")
    lh("think.set.status", status="Done", targets=["CARD-H1", "CARD-H2"])
    assert ids(lh("think.query", status="open")["cards"]) == ["CARD-H3"]
    opened = lh("open", id="CARD-H1")["card"]
    assert (opened["status"], opened["tags"]) == ("done", ["x"])
    again = lh("think.set.status", status="done", targets=["CARD-H1"])
    assert [one["changed"] for one in again["cards"]] == [False]


def test_a_card_of_another_graph_is_refused_with_the_arguments_that_reach_it(lh: Lh) -> None:
    made = task(lh)
    card(lh, "CARD-H1", "hypothesis", target=made["id"])
    closed = {"targets": ["CARD-H1"], "status": "closed"}
    error = lh.refused("think.set.status", **closed)
    assert error["code"] == "UNKNOWN_ID"
    assert "CARD-H1 is in TASK-001-graph on task/TASK-001" in error["message"]
    _, _, passed = error["recovery"].partition(" or pass ")
    where = dict(one.split("=") for one in passed.split())
    assert lh("think.set.status", **closed, **where)["cards"][0]["changed"] is True


@pytest.mark.proves("MEM-246")
def test_a_pin_is_set_and_taken_away(lh: Lh) -> None:
    card(lh, "CARD-N1", "note")
    assert shown(lh) == []
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-D1", "decision", tags=["v:draft", "slow"], status="accepted")
    lh("think.pin", targets=["CARD-N1", "CARD-D1"])
    (kept,) = lh("think.query", ids=["CARD-D1"], include_drafts=True)["cards"]
    assert (kept["status"], kept["tags"]) == ("accepted", ["pinned", "slow", "v:draft"])
    assert shown(lh) == ["CARD-N1", "CARD-H1"]
    assert ids(lh("think.pins")["pins"]) == ["CARD-D1", "CARD-N1"], "drafts, too"
    lh("think.pin", targets=["CARD-N1"], pinned=False)
    assert shown(lh) == ["CARD-H1"]
    assert ids(lh("think.pins")["pins"]) == ["CARD-D1"]


@pytest.mark.proves("MEM-247", "MEM-248", "MEM-249", "MEM-250", "MEM-251", "MEM-252")
def test_publishing_makes_one_copy_that_everybody_sees(lh: Lh) -> None:
    made = task(lh)
    where = {"target": made["id"]}
    tags = ["lane:agent:ann", "v:draft", "slow"]
    card(lh, "CARD-E1", "evidence", **where)
    said = {"supports": ["CARD-E1"], "text": "Ask the cache first."}
    card(lh, "CARD-D1", "decision", tags=tags, step="s:0", **said, **where)
    assert "CARD-D1" not in shown(lh, **where)
    first = lh("think.publish", card_id="CARD-D1", pin=True, agent_id="bob", **where)
    assert first["published_card_id"] == "CARD-PUB-CARD-D1"
    assert (first["inserted"], first["pinned"]) == (True, True)
    copy = lh("open", id="CARD-PUB-CARD-D1")
    step = made["steps"][0]["step_id"].lower()
    assert copy["card"]["tags"] == ["lane:shared", "pinned", "slow", f"step:{step}", "v:canon"]
    assert copy["card"]["meta"]["published_from"] == {
        "card_id": "CARD-D1",
        "lane": "agent:ann",
        "agent_id": "bob",
    }
    assert copy["edges"]["supports"] == ["CARD-E1"]
    assert copy["card"]["text"] == "Ask the cache first."
    assert shown(lh, view="smart", **where)[0] == "CARD-PUB-CARD-D1"
    card(lh, "CARD-D1", "decision", title="Another", **where)
    again = lh("think.publish", card_id="CARD-D1", **where)
    assert (again["inserted"], again["pinned"]) == (False, True)
    assert lh("open", id="CARD-PUB-CARD-D1")["card"]["title"] == "Another"
    published = [one for one in shown(lh, **where) if one.startswith("CARD-PUB")]
    assert published == ["CARD-PUB-CARD-D1"]
    named = {"graph_doc": "g", "trace_doc": "t"}
    card(lh, "CARD-E2", "evidence", branch="main", tags=["pinned"], **named)
    elsewhere = lh("think.publish", card_id="CARD-E2", ref="main", **named)
    assert (elsewhere["branch"], elsewhere["graph_doc"]) == ("main", "g")
    assert elsewhere["pinned"] is False
    assert lh("open", id=elsewhere["trace_ref"])["entry"]["doc"] == "t"
    assert lh("open", id="CARD-PUB-CARD-E2")["card"]["tags"] == ["lane:shared", "v:canon"]
    twice = lh("think.publish", card_id="CARD-PUB-CARD-E2", ref="main", **named)
    assert twice["published_card_id"] == "CARD-PUB-CARD-PUB-CARD-E2"


@pytest.mark.proves("MEM-253")
def test_cards_that_say_the_same_are_merged_into_the_oldest(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-E1", "evidence", title="The cache is stale.", tags=["a"])
    card(lh, "CARD-E2", "evidence", title="the cache  is STALE", tags=["b"], supports=["CARD-H1"])
    card(lh, "CARD-E3", "evidence", title="The cache is small")
    merged = lh("think.nominal.merge")
    assert merged["merged_groups"] == [{"canonical_id": "CARD-E1", "merged_ids": ["CARD-E2"]}]
    canonical = lh("open", id="CARD-E1")
    assert canonical["card"]["tags"] == ["a", "b"]
    assert canonical["edges"]["supports"] == ["CARD-H1"]
    assert lh("open", id="CARD-E2")["card"]["status"] == "superseded"
    before = state(lh)
    again = lh("think.nominal.merge", candidate_ids=["CARD-E1", "CARD-E2", "CARD-E3"])
    assert (again["merged_groups"], state(lh)) == ([], before)


BOOKS = {
    "default": ["frame", "hypothesis", "test", "evidence", "decision"],
    "strict": [
        "counter-hypothesis",
        "minimal falsifying test",
        "stop criteria",
        "simplest viable solution",
        "10x lever",
        "decisive test",
    ],
    "breakthrough": [
        "tension",
        "inversion",
        "assumptions",
        "extremes",
        "analogy",
        "10x lever",
        "decisive test",
        "stop criteria",
    ],
    "debug": ["reproduce", "bisect"],
    "bisect": ["commits", "flags", "configuration", "halve"],
    "criteria_matrix": ["A vs B", "criteria", "weights", "sensitivity"],
    "experiment": ["one decisive experiment"],
    "contradiction": ["supports", "blocks", "decisive test"],
}


@pytest.mark.proves("MEM-254", "MEM-255", "MEM-256", "MEM-257", "MEM-258")
@pytest.mark.parametrize("name", BOOKS)
def test_a_playbook_holds_its_steps_in_order_and_writes_nothing(lh: Lh, name: str) -> None:
    before = fingerprint(lh)
    book = lh("think.playbook", name=name)
    assert (book["name"], book["known"]) == (name, True)
    said = str(book["template"]).lower()
    places = [said.find(word.lower()) for word in BOOKS[name]]
    assert all(place >= 0 for place in places), BOOKS[name]
    if name in ("default", "strict", "breakthrough"):
        steps = [step["name"] for step in book["template"]["steps"]]
        assert [step.removesuffix(" (optional)") for step in steps] == BOOKS[name]
        optional = BOOKS[name][4:] if name == "strict" else []
        assert [step for step in steps if "(optional)" in step] == [
            f"{step} (optional)" for step in optional
        ]
    assert lh("think.playbook", name=name) == book
    assert fingerprint(lh) == before


STEPS = {
    "debug": ["reproduce", "narrow", "cause", "confirm", "fix"],
    "bisect": ["order", "check", "halve", "name"],
    "criteria_matrix": ["options", "criteria", "weights", "scores", "sensitivity", "decision"],
    "experiment": ["claim", "prediction", "run", "conclusion"],
    "contradiction": ["both sides", "difference", "decisive test", "outcome", "resolution"],
}


@pytest.mark.proves("MEM-258")
@pytest.mark.parametrize("name", BOOKS)
def test_the_steps_of_a_playbook_say_what_to_do_and_which_card_to_write(lh: Lh, name: str) -> None:
    template = lh("think.playbook", name=name)["template"]
    steps = template["steps"]
    assert len(steps) >= 3
    assert name not in STEPS or [step["name"] for step in steps] == STEPS[name]
    assert template["purpose"]
    assert template["stop"].startswith("Stop ")
    for step in steps:
        assert step["do"].endswith((".", "?", ")"))
        assert step["card"]["type"] in TYPES
    assert len({step["name"] for step in steps}) == len(steps)


@pytest.mark.proves("MEM-259")
def test_an_unknown_playbook_is_answered_with_the_generic_one(lh: Lh) -> None:
    book = lh("think.playbook", name="no such thing")
    assert book["known"] is False
    assert book["template"] == lh("think.playbook", name="default")["template"]


@pytest.mark.proves("MEM-261")
def test_a_subgoal_is_opened_under_a_question_and_closed_with_its_answer(lh: Lh) -> None:
    card(lh, "CARD-Q1", "question", title="Why is it slow?")
    opened = lh("think.subgoal.open", question_id="CARD-Q1", title="Which page?")
    subgoal = opened["subgoal_id"]
    assert ids(lh("think.frontier")["frontier"]["subgoals"]) == [subgoal]
    assert lh("open", id=opened["trace_ref"])["entry"]["meta"]["card_id"] == subgoal
    again = lh("think.subgoal.open", question_id="CARD-Q1", title="Which page?")
    assert (again["subgoal_id"], again["inserted"]) == (subgoal, False)
    closed = lh("think.subgoal.close", subgoal_id=subgoal, return_card="The search page.")
    assert closed["question_id"] == "CARD-Q1"
    assert lh("open", id=closed["return_card_id"])["card"]["text"] == "The search page."
    assert lh("open", id=subgoal)["card"]["status"] == "closed"
    assert lh("think.frontier")["frontier"]["subgoals"] == []
    by_id = lh("think.subgoal.close", subgoal_id=subgoal, return_card=closed["return_card_id"])
    assert (by_id["return_card_id"], by_id["changed"]) == (closed["return_card_id"], False)
    assert lh.refused("think.subgoal.close", subgoal_id=subgoal, return_card="CARD-NONE")
    assert lh.refused("think.subgoal.close", subgoal_id="CARD-Q1")["code"] == "INVALID_INPUT"


def test_subgoals_in_a_circle_are_refused(lh: Lh) -> None:
    card(lh, "CARD-Q1", "question", title="?")
    inner = lh("think.subgoal.open", question_id="CARD-Q1", title="inner")["subgoal_id"]
    lh("think.link", **{"from": "CARD-Q1", "rel": "subgoal_of", "to": inner})
    error = lh.refused("think.subgoal.open", question_id=inner, title="more")
    assert error["code"] == "CONFLICT"
    assert "subgoal of itself" in error["message"]


@pytest.mark.proves("MEM-120", "MEM-121", "MEM-122", "MEM-123", "MEM-124", "MEM-125")
def test_an_idea_is_a_note_on_a_branch_of_its_own(lh: Lh) -> None:
    lh("system.init")

    def idea(**args: Any) -> tuple[str, bool, dict[str, Any]]:
        made = lh("think.idea.branch.create", **{"content": "an idea", **args})
        assert made.keys() >= {"workspace", "branch", "checkout", "note"}
        assert made["workspace"] == "acme"
        name = made["branch"]["name"]
        assert made["checkout"]["current"] == lh("status")["checkout"] == name
        assert lh("open", id=made["ref"])["entry"]["branch"] == made["note"]["branch"] == name
        return name, made["branch"]["created"], made

    assert idea()[:2] == ("main", False)
    said = {"doc": "ideas", "title": "T", "format": "md", "meta": {"k": 1}, "content": "said"}
    name, created, made = idea(name="idea/a", **{"from": "main"}, **said)
    assert (name, created, made["branch"]["base_branch"]) == ("idea/a", True, "main")
    assert made["checkout"]["previous"] == "main"
    assert {key: made["note"][key] for key in said} == said
    name, created, made = idea(name="idea/b")
    assert (name, created, made["branch"]["base_branch"]) == ("idea/b", True, "idea/a")
    assert idea()[:2] == ("idea/b", False), "the checkout, whatever it is"
    assert idea(name="idea/a", **{"from": "nowhere"})[:2] == ("idea/a", False)
    name, created, made = idea(**{"from": "main"})
    assert (name, created) == ("main", False)
    assert made["checkout"]["previous"] == "idea/a"
    _, _, by_template = idea(content=None, template="decision", goal="SQLite or not?")
    assert "SQLite or not?" in by_template["note"]["content"]
    assert lh.refused("think.idea.branch.create")["code"] == "INVALID_INPUT"
    assert lh.refused("think.idea.branch.create", **{"from": "no/such"}, content="x")
    other = {"workspace": "other", "agent_id": "ann"}
    assert lh("think.idea.branch.create", content="x", **other)["workspace"] == "other"


def test_an_idea_goes_back_with_its_notes_and_its_cards(lh: Lh) -> None:
    lh("system.init")
    card(lh, "CARD-H1", "hypothesis", title="as it was")
    lh("think.idea.branch.create", name="idea/a", content="an idea")
    card(lh, "CARD-H1", "hypothesis", title="as the idea has it")
    card(lh, "CARD-E1", "evidence", supports=["CARD-H1"])
    dry = lh("think.idea.branch.merge", **{"from": "idea/a"}, dry_run=True)
    assert (dry["notes"]["merged"], dry["graph"]["merged"]) == (1, 3)
    merged = lh("think.idea.branch.merge", **{"from": "idea/a"})
    assert (merged["into"], merged["conflict_ids"]) == ("main", [])
    assert set(shown(lh, branch="main")) == {"CARD-H1", "CARD-E1"}
    assert lh("think.query", branch="main", ids=["CARD-H1"])["cards"][0]["title"] == (
        "as the idea has it"
    )
    again = lh("think.idea.branch.merge", **{"from": "idea/a"})
    assert (again["notes"]["merged"], again["graph"]["merged"]) == (0, 0)
    assert lh.refused("think.idea.branch.merge", **{"from": "idea/a"}, into="task/TASK-001")


def test_knowledge_is_found_by_its_title_and_renewed(lh: Lh) -> None:
    said = {"title": "Deploys empty the cache", "text": "Always."}
    first = lh("think.knowledge.upsert", card=said, anchor="a:cache")
    assert first["card_id"].startswith("CARD-KN-")
    again = lh(
        "think.knowledge.upsert",
        card={**said, "title": "deploys  empty the CACHE"},
        anchor="a:cache",
    )
    assert again["card_id"] == first["card_id"]
    lh("think.knowledge.upsert", card={**said, "text": "Not since May."}, anchor="a:cache")
    lh("think.knowledge.upsert", card={"title": "Other"})
    (found,) = lh("think.knowledge.query", anchor="a:cache")["cards"]
    assert found["text"] == "Not since May."
    assert len(lh("think.knowledge.query")["cards"]) == 2
    card(lh, "CARD-DRAFT", "knowledge", tags=["v:draft"])
    assert len(lh("think.knowledge.query")["cards"]) == 2
    for drafts in ({"all_lanes": True}, {"include_drafts": True}):
        assert len(lh("think.knowledge.query", **drafts)["cards"]) == 3
    lint = lh("think.knowledge.lint")
    assert [issue["code"] for issue in lint["issues"]] == ["KNOWLEDGE_NO_ANCHOR"]
    for number in range(20):
        lh("think.knowledge.upsert", card={"title": f"Fact {number}"})
    answer = lh.envelope("think.knowledge.lint")
    assert "KNOWLEDGE_TOO_MUCH" in [issue["code"] for issue in answer["result"]["issues"]]
    lh.run_actions(answer)
