"""What reads show: pins, open cards, drafts, steps, filters and budgets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.test_budgets import measured
from tests.kit import Lh
from tests.thinking.kit import card, ids, shown, task
from tests.thinking.world import build

READS = (
    "think.context",
    "think.query",
    "think.pack",
    "think.context.pack",
    "think.frontier",
    "think.next",
    "think.watch",
)


def seen(lh: Lh, cmd: str, **args: Any) -> set[str]:
    """The ids of all cards that an answer shows."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if "last_seq" in value and "type" in value:
                found.add(value["id"])
            for inner in value.values():
                look(inner)
        elif isinstance(value, list):
            for inner in value:
                look(inner)

    look(lh(cmd, **args))
    return found


@pytest.mark.proves("MEM-004", "MEM-006", "MEM-007", "MEM-008")
def test_tags_decide_who_sees_a_card_and_else_its_type(lh: Lh) -> None:
    canon = ("decision", "evidence", "test", "hypothesis", "question", "update")
    for kind in (*canon, "note", "frame", "knowledge"):
        card(lh, f"CARD-{kind}", kind, tags=[])
        card(lh, f"CARD-{kind}-C", kind, tags=["v:canon"])
        card(lh, f"CARD-{kind}-D", kind, tags=["v:draft"])
    wanted = {f"CARD-{kind}" for kind in canon}
    wanted |= {f"CARD-{kind}-C" for kind in (*canon, "note", "frame", "knowledge")}
    for view in ({}, {"view": "smart"}):
        assert set(shown(lh, limit_cards=200, **view)) == wanted
        assert set(ids(lh("think.pack", limit_candidates=200, **view)["candidates"])) == wanted
    assert seen(lh, "think.query") == wanted


@pytest.mark.proves("MEM-005", "MEM-192", "MEM-293", "MEM-003", "MEM-240")
@pytest.mark.parametrize("cmd", READS)
def test_drafts_are_shown_to_who_asks_for_them(lh: Lh, cmd: str) -> None:
    card(lh, "CARD-H1", "hypothesis")
    for tag in ("v:draft", "lane:agent:ann"):
        lh.clock.advance(1)
        card(lh, "CARD-H2", "hypothesis", tags=[tag])
        assert seen(lh, cmd) == {"CARD-H1"}
        assert lh("open", id="CARD-H2")["card"]["tags"] == [tag]
        for args in ({"all_lanes": True}, {"include_drafts": True}):
            assert "CARD-H2" in seen(lh, cmd, **args)
        if cmd != "think.query":
            assert "CARD-H2" in seen(lh, cmd, view="audit")


@pytest.mark.proves("MEM-011", "MEM-012", "MEM-013")
def test_a_read_looks_where_it_is_told_else_at_the_focus_else_at_the_checkout(lh: Lh) -> None:
    first, second = task(lh)["id"], task(lh)["id"]
    card(lh, "CARD-MAIN", "hypothesis", branch="main")
    lh("vcs.branch.create", name="idea/a", **{"from": "main"})
    lh("vcs.checkout", ref="idea/a")
    card(lh, "CARD-IDEA", "hypothesis")
    for name, target in (("CARD-1", first), ("CARD-2", second)):
        card(lh, name, "hypothesis", target=target)
    lh("tasks.focus.set", task=first)
    for cmd in READS:
        assert seen(lh, cmd) == {"CARD-1"}, cmd
        assert seen(lh, cmd, target=second) == {"CARD-2"}, cmd
        assert seen(lh, cmd, branch="main") == {"CARD-MAIN"}, cmd
    lh("tasks.focus.clear")
    for cmd in READS:
        assert seen(lh, cmd) == {"CARD-MAIN", "CARD-IDEA"}, cmd
        assert seen(lh, cmd, target=second) == {"CARD-2"}, cmd


@pytest.mark.proves("MEM-191")
@pytest.mark.parametrize("cmd", READS)
def test_who_asks_does_not_decide_what_is_shown(lh: Lh, cmd: str) -> None:
    lh("think.card", card={"id": "CARD-H1", "type": "hypothesis", "title": "x"}, agent_id="ann")
    assert seen(lh, cmd, agent_id="bob") == seen(lh, cmd, agent_id="ann") == {"CARD-H1"}


@pytest.mark.proves("MEM-168", "MEM-169", "MEM-170", "MEM-172", "MEM-174")
def test_pins_come_first_then_what_is_open_then_the_newest(lh: Lh) -> None:
    card(lh, "CARD-PIN", "evidence", status="closed", tags=["pinned"])
    card(lh, "CARD-T", "test")
    card(lh, "CARD-S", "question", tags=["subgoal"])
    card(lh, "CARD-Q", "question")
    card(lh, "CARD-H", "hypothesis")
    card(lh, "CARD-E1", "evidence")
    card(lh, "CARD-E2", "evidence", status="closed")
    service = {"type": "service", "status": "open", "tags": ["v:canon"]}
    lh("graph.apply", ops=[{"op": "node_upsert", "id": "N-1", **service}])
    lh("graph.apply", ops=[{"op": "node_upsert", "id": "N-2", **service, "tags": ["pinned"]}])
    result = lh("think.context")
    assert (result["branch"], result["graph_doc"]) == ("main", "graph")
    assert (result["truncated"], "step_focus" in result) == (False, False)
    first = ["CARD-PIN", "CARD-H", "CARD-Q", "CARD-S", "CARD-T"]
    assert ids(result["cards"]) == [*first, "CARD-E2", "CARD-E1"]
    assert shown(lh, include_drafts=True) == [*first, "CARD-E2", "CARD-E1"]
    assert shown(lh, agent_id="ann") == shown(lh), "who asks narrows nothing"
    assert shown(lh, view="smart") == shown(lh, view="audit") == [*first, "CARD-E1"]
    assert result["stats"] == {
        "cards": 7,
        "by_type": {"evidence": 3, "hypothesis": 1, "question": 2, "test": 1},
    }
    for number in range(40):
        card(lh, f"CARD-N{number}", "evidence")
    assert len(lh("think.context")["cards"]) == 30
    assert shown(lh, limit_cards=3) == ["CARD-PIN", "CARD-H", "CARD-Q"]
    assert shown(lh, branch="main", graph_doc="elsewhere") == []


@pytest.mark.proves("MEM-171", "MEM-172", "MEM-173", "MEM-193", "MEM-200", "MEM-262")
@pytest.mark.parametrize(
    "cmd", ["think.context", "think.pack", "think.context.pack", "think.watch"]
)
def test_smart_is_cold_explore_is_warm_and_audit_shows_drafts(lh: Lh, cmd: str) -> None:
    card(lh, "CARD-OPEN", "evidence")
    card(lh, "CARD-DONE", "evidence", status="done")
    card(lh, "CARD-REJECTED", "evidence", status="rejected")
    card(lh, "CARD-DRAFT", "evidence", tags=["v:draft"])
    card(lh, "CARD-DRAFT-DONE", "evidence", tags=["v:draft"], status="done")

    def cards(**args: Any) -> tuple[str, set[str]]:
        answer = lh(cmd, **args)
        return answer["view"], set(ids(answer.get("candidates") or answer["cards"]))

    smart = ("smart", {"CARD-OPEN"})
    explore = ("explore", {"CARD-OPEN", "CARD-DONE", "CARD-REJECTED"})
    assert cards(view="smart") == cards(context_budget=20_000) == smart
    assert cards(view="explore") == cards() == cards(max_chars=20_000) == explore
    assert cards(view="explore", context_budget=20_000) == explore
    assert cards(view="audit") == ("audit", {"CARD-OPEN", "CARD-DRAFT"})


@pytest.mark.proves("MEM-175")
def test_under_a_budget_the_oldest_cards_go_first(lh: Lh) -> None:
    for number in range(20):
        card(lh, f"CARD-E{number:02d}", "evidence", text="x" * 300)
    cut = lh("think.context", max_chars=3000)
    assert cut["truncated"] is True
    kept = ids(cut["cards"])
    assert 0 < len(kept) < 20
    assert kept == [f"CARD-E{number:02d}" for number in range(19, 19 - len(kept), -1)]


@pytest.mark.proves("MEM-176")
@pytest.mark.parametrize("where", [{"target": "TASK-999"}, {"branch": "idea/none"}])
def test_an_unknown_place_is_refused_with_one_way_on(lh: Lh, where: dict[str, str]) -> None:
    refused = lh.envelope("think.context", **where)
    assert refused["error"]["code"] == "UNKNOWN_ID"
    assert len(refused["actions"]) == 1
    lh.run_actions(refused)


@pytest.mark.parametrize("cmd", [*READS, "think.card"])
def test_only_a_task_has_steps_to_look_at(lh: Lh, cmd: str) -> None:
    made = task(lh)
    args = {"card": {"text": "x"}} if cmd == "think.card" else {}
    for step in ("focus", "s:0", made["steps"][0]["step_id"]):
        refused = lh.refused(cmd, target="PLAN-001", step=step, **args)
        assert refused["code"] in ("INVALID_INPUT", "UNKNOWN_ID")
    assert lh(cmd, target=made["id"], step="s:0", **args)


@pytest.mark.proves("MEM-169")
def test_a_context_tells_the_step_that_it_is_about_and_no_other(lh: Lh) -> None:
    made = task(lh)
    card(lh, "CARD-H1", "hypothesis", target=made["id"], step="s:1")
    step = made["steps"][1]["step_id"]
    place = {"task_id": made["id"], "step_id": step, "path": "s:1"}
    for asked in ("s:1", step):
        told = lh("think.context", target=made["id"], step=asked)
        assert told["step_focus"] == place
        assert told["stats"] == {"cards": 1, "by_type": {"hypothesis": 1}}
    assert "step_focus" not in lh("think.context", target=made["id"])
    assert "step_focus" not in lh("think.context", branch="main")


@pytest.mark.proves("MEM-177", "MEM-189", "MEM-194", "MEM-201", "MEM-241", "MEM-266")
@pytest.mark.parametrize("cmd", READS)
def test_with_a_step_only_its_cards_count(lh: Lh, cmd: str) -> None:
    made = task(lh)
    target = made["id"]
    card(lh, "CARD-H1", "hypothesis", target=target, step="s:0")
    card(lh, "CARD-D1", "decision", target=target, step="s:0")
    card(lh, "CARD-H2", "hypothesis", target=target, step="s:1")
    card(lh, "CARD-T2", "test", target=target, step="s:1")
    card(lh, "CARD-H3", "hypothesis", target=target, tags=["pinned"])
    card(lh, "CARD-S1", "question", target=target, step="s:0", tags=["subgoal"])
    card(lh, "CARD-E1", "evidence", target=target, step="s:0", blocks=["CARD-H1"])
    found = seen(lh, cmd, target=target, step="focus")
    own = {"CARD-H1", "CARD-S1"}
    assert own <= found <= {*own, "CARD-D1", "CARD-E1"}
    assert seen(lh, cmd, target=target, step="s:1") == {"CARD-H2", "CARD-T2"}
    first = made["steps"][0]
    assert lh(cmd, target=target, step="s:0")["step_focus"] == {
        "task_id": target,
        "step_id": first["step_id"],
        "path": "s:0",
    }
    if cmd == "think.query":
        tag = f"step:{first['step_id'].lower()}"
        assert seen(lh, cmd, target=target, tags_all=[tag]) == found
        assert seen(lh, cmd, target=target, step="s:0", tags_all=["subgoal"]) == {"CARD-S1"}
    takes = lh.house.registry.get(cmd).request.__struct_fields__
    for name in {"branch", "ref", "graph_doc", "trace_doc", "notes_doc"} & {*takes}:
        error = lh.refused(cmd, step="s:0", **{name: "main"})
        assert "a step belongs to a task" in error["message"]


@pytest.mark.proves("MEM-188")
def test_cards_are_found_by_every_filter(lh: Lh) -> None:
    card(lh, "CARD-1", "hypothesis", title="The cache is stale", tags=["slow", "a:cache"])
    card(lh, "CARD-2", "test", title="Read after write", tags=["slow"], status="done")
    card(lh, "CARD-3", "question", title="Why the cache?")

    def query(**args: Any) -> list[str]:
        return ids(lh("think.query", **args)["cards"])

    assert query() == ["CARD-3", "CARD-2", "CARD-1"]
    assert query(ids=["CARD-1", "CARD-9"]) == ["CARD-1"]
    assert query(types=["test", "question"]) == ["CARD-3", "CARD-2"]
    assert query(status="done") == ["CARD-2"]
    assert query(status=["done", "accepted", "open"]) == ["CARD-3", "CARD-2", "CARD-1"]
    assert query(tags_any=["slow"]) == ["CARD-2", "CARD-1"]
    assert query(tags_any=["a:cache", "fast"]) == ["CARD-1"]
    assert query(tags_all=["slow", "a:cache"]) == ["CARD-1"]
    assert query(text="cache") == ["CARD-3", "CARD-1"]
    first = lh("think.query", limit=2)
    assert first["pagination"]["has_more"]
    assert query(cursor=first["pagination"]["next_cursor"]) == ["CARD-1"]
    assert query(graph_doc="elsewhere") == query(target=task(lh)["id"]) == []
    assert query(ref="main", graph_doc="graph", status="done", text="write") == ["CARD-2"]
    assert lh.refused("think.query", types=["thing"])["code"] == "INVALID_INPUT"
    assert lh.refused("think.query", status="perhaps")["code"] == "INVALID_INPUT"


@pytest.mark.proves("MEM-190")
@pytest.mark.parametrize("cmd", [cmd for cmd in READS if cmd != "think.next"])
def test_the_smaller_of_the_two_budgets_wins(lh: Lh, cmd: str) -> None:
    for number in range(10):
        card(lh, f"CARD-H{number}", "hypothesis", text="x" * 500)
    for budget in ({"context_budget": 1500}, {"context_budget": 1500, "max_chars": 9000}):
        held = lh(cmd, **budget)["budget"]
        assert (held["max_chars"], held["truncated"]) == (1500, True)
        assert held["used_chars"] <= 1500
    assert lh(cmd, context_budget=9000, max_chars=1500)["budget"]["max_chars"] == 1500


@pytest.mark.proves("MEM-240")
def test_the_frontier_is_what_is_open_and_next_is_what_was_touched_last(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-Q1", "question")
    card(lh, "CARD-H2", "hypothesis", status="closed")
    card(lh, "CARD-T1", "test")
    card(lh, "CARD-Q2", "question", tags=["subgoal"])
    card(lh, "CARD-H3", "hypothesis")
    card(lh, "CARD-T2", "test")

    def frontier(**args: Any) -> dict[str, list[str]]:
        found = lh("think.frontier", **args)["frontier"]
        return {kind: ids(cards) for kind, cards in found.items()}

    assert frontier(view="smart") == {
        "hypotheses": ["CARD-H3", "CARD-H1"],
        "questions": ["CARD-Q1"],
        "subgoals": ["CARD-Q2"],
        "tests": ["CARD-T2", "CARD-T1"],
    }
    limits = {"limit_hypotheses": 1, "limit_questions": 0, "limit_subgoals": 0, "limit_tests": 1}
    assert frontier(**limits) == {
        "hypotheses": ["CARD-H3"],
        "questions": [],
        "subgoals": [],
        "tests": ["CARD-T2"],
    }
    following = lh("think.next")
    assert (following["candidate"]["id"], following["backup"]["id"]) == ("CARD-T2", "CARD-H3")
    assert lh("think.next", limit_tests=0)["candidate"]["id"] == "CARD-H3"
    lh("think.pin", targets=["CARD-H1"])
    assert lh("think.next")["candidate"]["id"] == "CARD-H1"
    every = [f"CARD-{one}" for one in ("H1", "H3", "T1", "T2", "Q1", "Q2")]
    lh("think.set.status", status="done", targets=every)
    assert lh("think.next")["candidate"] is None


@pytest.mark.proves("MEM-242", "MEM-243")
@pytest.mark.parametrize("cmd", ["think.frontier", "think.next"])
@pytest.mark.parametrize("max_chars", [0, 2, 40, 200, 400])
def test_under_the_smallest_budgets_something_is_left(lh: Lh, cmd: str, max_chars: int) -> None:
    for number in range(6):
        card(lh, f"CARD-H{number}", "hypothesis", text="x" * 300)
    cut = lh(cmd, max_chars=max_chars)
    assert cut["budget"]["used_chars"] == len(measured(cut).decode())
    assert cut["truncated"] is True
    assert "CARD-H5" in str(cut), "the next card is the last to be cut"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_read_holds_every_size_of_budget(lh: Lh, data: st.DataObject) -> None:
    if not lh("think.pins")["pins"]:
        build(lh)
    cmd = data.draw(st.sampled_from([*READS, "think.pins", "think.blast", "think.anchor.list"]))
    args: dict[str, Any] = {"card": "CARD-H1"} if cmd == "think.blast" else {}
    max_chars = data.draw(st.integers(0, 6000))
    answer = lh.envelope(cmd, max_chars=max_chars, **args)
    result = answer["result"]
    used = len(measured(result).decode())
    clamped = "BUDGET_MIN_CLAMPED" in [one["code"] for one in answer["warnings"]]
    assert used == result["budget"]["used_chars"]
    assert clamped or used <= max_chars
    assert result.keys() - {"budget", "truncated"}
    if "capsule" in lh(cmd, **args):
        assert result["capsule"]["next"]["primary"]["call"]["tool"]
