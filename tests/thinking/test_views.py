"""What reads show: pins, what is open, drafts, steps, budgets and capsules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.memory.kit import note, trace
from tests.thinking.kit import card, ids, run_call, shown, task
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
    assert set(shown(lh, limit_cards=200)) == wanted
    assert set(shown(lh, limit_cards=200, view="smart")) == wanted


@pytest.mark.proves("MEM-005", "MEM-192", "MEM-293", "MEM-003")
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


@pytest.mark.proves("MEM-191")
@pytest.mark.parametrize("cmd", READS)
def test_who_asks_does_not_decide_what_is_shown(lh: Lh, cmd: str) -> None:
    lh("think.card", card={"id": "CARD-H1", "type": "hypothesis", "title": "x"}, agent_id="ann")
    assert seen(lh, cmd, agent_id="bob") == seen(lh, cmd, agent_id="ann") == {"CARD-H1"}


@pytest.mark.proves("MEM-168", "MEM-169", "MEM-174")
def test_pins_come_first_then_what_is_open_then_the_newest(lh: Lh) -> None:
    card(lh, "CARD-PIN", "evidence", status="closed", tags=["pinned"])
    card(lh, "CARD-T", "test")
    card(lh, "CARD-S", "question", tags=["subgoal"])
    card(lh, "CARD-Q", "question")
    card(lh, "CARD-H", "hypothesis")
    card(lh, "CARD-E1", "evidence")
    card(lh, "CARD-E2", "evidence", status="closed")
    lh("graph.apply", ops=[{"op": "node_upsert", "id": "N-1", "type": "service", "status": "open"}])
    result = lh("think.context")
    assert result.keys() >= {"branch", "graph_doc", "stats", "cards", "truncated"}
    assert ids(result["cards"]) == [
        "CARD-PIN",
        "CARD-H",
        "CARD-Q",
        "CARD-S",
        "CARD-T",
        "CARD-E2",
        "CARD-E1",
    ]
    assert result["stats"] == {
        "cards": 7,
        "by_type": {"evidence": 3, "hypothesis": 1, "question": 2, "test": 1},
    }
    for number in range(40):
        card(lh, f"CARD-N{number}", "evidence")
    assert len(lh("think.context")["cards"]) == 30
    assert shown(lh, limit_cards=3) == ["CARD-PIN", "CARD-H", "CARD-Q"]


@pytest.mark.proves("MEM-170", "MEM-171", "MEM-172", "MEM-173")
def test_smart_is_cold_explore_is_warm_and_audit_shows_drafts(lh: Lh) -> None:
    card(lh, "CARD-OPEN", "evidence")
    card(lh, "CARD-DONE", "evidence", status="done")
    card(lh, "CARD-DRAFT", "evidence", tags=["v:draft"])
    card(lh, "CARD-DRAFT-DONE", "evidence", tags=["v:draft"], status="done")
    assert set(shown(lh, view="smart")) == {"CARD-OPEN"}
    assert set(shown(lh, view="explore")) == {"CARD-OPEN", "CARD-DONE"}
    assert set(shown(lh, view="audit")) == {"CARD-OPEN", "CARD-DRAFT"}
    assert shown(lh) == shown(lh, view="explore")
    assert shown(lh, context_budget=4000) == shown(lh, view="smart")
    for cmd in ("think.pack", "think.watch", "think.context.pack"):
        assert lh(cmd)["view"] == "explore"
        assert lh(cmd, context_budget=20_000)["view"] == "smart"


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


@pytest.mark.proves("MEM-177", "MEM-189", "MEM-194", "MEM-201", "MEM-241", "MEM-266")
@pytest.mark.parametrize("cmd", READS)
def test_with_a_step_only_its_cards_count(lh: Lh, cmd: str) -> None:
    made = task(lh)
    target = made["id"]
    card(lh, "CARD-H1", "hypothesis", target=target, step="s:0")
    card(lh, "CARD-D1", "decision", target=target, step="s:0")
    card(lh, "CARD-H2", "hypothesis", target=target, step="s:1")
    card(lh, "CARD-H3", "hypothesis", target=target, tags=["pinned"])
    found = seen(lh, cmd, target=target, step="focus")
    assert {"CARD-H1"} <= found <= {"CARD-H1", "CARD-D1"}
    assert seen(lh, cmd, target=target, step="s:1") == {"CARD-H2"}
    for override in ({"ref": "main"}, {"graph_doc": "g"}):
        assert lh.refused(cmd, step="s:0", **override)["code"] == "INVALID_INPUT"
        assert lh.refused(cmd, target=target, **override)["code"] == "INVALID_INPUT"


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
    assert query(tags_any=["slow"]) == ["CARD-2", "CARD-1"]
    assert query(tags_all=["slow", "a:cache"]) == ["CARD-1"]
    assert query(text="cache") == ["CARD-3", "CARD-1"]
    first = lh("think.query", limit=2)
    assert first["pagination"]["has_more"]
    assert query(cursor=first["pagination"]["next_cursor"]) == ["CARD-1"]
    assert lh.refused("think.query", types=["thing"])["code"] == "INVALID_INPUT"
    assert lh.refused("think.query", status="perhaps")["code"] == "INVALID_INPUT"


@pytest.mark.proves("MEM-190")
@pytest.mark.parametrize("cmd", [cmd for cmd in READS if cmd != "think.next"])
def test_the_smaller_of_the_two_budgets_wins(lh: Lh, cmd: str) -> None:
    for number in range(10):
        card(lh, f"CARD-H{number}", "hypothesis", text="x" * 500)
    for budget in ({"context_budget": 1500}, {"context_budget": 1500, "max_chars": 9000}):
        assert lh(cmd, **budget)["budget"]["max_chars"] == 1500
    assert lh(cmd, context_budget=9000, max_chars=1500)["budget"]["max_chars"] == 1500


@pytest.mark.proves("MEM-240")
def test_the_frontier_is_what_is_open_and_next_is_what_was_touched_last(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-Q1", "question")
    card(lh, "CARD-H2", "hypothesis", status="closed")
    card(lh, "CARD-T1", "test")
    frontier = lh("think.frontier", limit_hypotheses=5, view="smart")["frontier"]
    assert {kind: ids(cards) for kind, cards in frontier.items()} == {
        "hypotheses": ["CARD-H1"],
        "questions": ["CARD-Q1"],
        "subgoals": [],
        "tests": ["CARD-T1"],
    }
    assert lh("think.next")["candidate"]["id"] == "CARD-T1"
    lh("think.pin", targets=["CARD-H1"])
    assert lh("think.next")["candidate"]["id"] == "CARD-H1"
    lh("think.set.status", status="done", targets=["CARD-H1", "CARD-T1", "CARD-Q1"])
    assert lh("think.next")["candidate"] is None


@pytest.mark.proves("MEM-242", "MEM-243")
@pytest.mark.parametrize("cmd", ["think.frontier", "think.next"])
@pytest.mark.parametrize("max_chars", [0, 2, 40, 200, 400])
def test_under_the_smallest_budgets_something_is_left(lh: Lh, cmd: str, max_chars: int) -> None:
    for number in range(6):
        card(lh, f"CARD-H{number}", "hypothesis", text="x" * 300)
    cut = lh(cmd, max_chars=max_chars)
    assert cut["budget"]["used_chars"] > 0
    assert cut["truncated"] is True
    assert cut.keys() - {"budget", "truncated"}


CAPSULES = {
    "think.pack": "think_pack_capsule",
    "think.watch": "watch_capsule",
    "think.context.pack": "context_pack_capsule",
}


@pytest.mark.proves("MEM-196", "MEM-209", "MEM-268")
@pytest.mark.parametrize("cmd", CAPSULES)
@pytest.mark.parametrize("max_chars", [0, 2, 100, 400, 800, 1200, 2000, 3000, 5000, 9000])
def test_a_capsule_survives_any_budget(lh: Lh, cmd: str, max_chars: int) -> None:
    made = task(lh)
    for number in range(8):
        card(lh, f"CARD-H{number}", "hypothesis", text="x" * 300, target=made["id"], step="s:0")
    note(lh, "a note " * 60, branch=f"task/{made['id']}")
    answer = lh.envelope(cmd, target=made["id"], step="focus", max_chars=max_chars)
    result = answer["result"]
    capsule = result["capsule"]
    assert (capsule["type"], capsule["version"]) == (CAPSULES[cmd], 1)
    assert capsule["where"]["workspace"] == "acme"
    assert capsule["where"]["branch"] == f"task/{made['id']}"
    assert capsule["where"]["step_focus"]["path"] == "s:0"
    assert lh("open", id=capsule["ref"])["kind"] == "card"
    run_call(lh, capsule["next"]["primary"]["call"])
    used = len(msgspec.json.encode({k: v for k, v in result.items() if k != "budget"}).decode())
    codes = [one["code"] for one in answer["warnings"]]
    assert used <= max_chars or "BUDGET_MIN_CLAMPED" in codes


@pytest.mark.proves("MEM-196")
def test_a_whole_capsule_says_where_why_and_what_next(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-H2", "hypothesis")
    capsule = lh("think.pack")["capsule"]
    assert capsule["where"] == {
        "workspace": "acme",
        "branch": "main",
        "docs": {"notes": "notes", "trace": "trace", "graph": "graph"},
        "lane": "shared",
    }
    assert [why["code"] for why in capsule["why"]] == ["BM4_HYPOTHESIS_NO_TEST"] * 2
    assert capsule["next"].keys() == {"primary", "backup"}
    for one in capsule["next"].values():
        run_call(lh, one["call"])


@pytest.mark.proves("MEM-193", "MEM-197")
def test_a_pack_holds_cards_what_is_open_and_the_documents_to_write_to(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    pack = lh("think.pack", limit_candidates=5)
    assert pack["trace_doc"] == "trace"
    assert ids(pack["candidates"]) == ["CARD-H1"]
    assert ids(pack["frontier"]["hypotheses"]) == ["CARD-H1"]
    assert pack["stats"] == {"cards": 1, "by_type": {"hypothesis": 1}}


@pytest.mark.proves("MEM-195")
@pytest.mark.parametrize("cmd", CAPSULES)
def test_with_drafts_the_lanes_are_summed_up(lh: Lh, cmd: str) -> None:
    card(lh, "CARD-H1", "hypothesis", tags=["pinned"])
    card(lh, "CARD-H2", "hypothesis", tags=["lane:agent:ann"])
    assert "lane_summary" not in lh(cmd)
    summary = lh(cmd, include_drafts=True)["lane_summary"]
    assert [(one["lane"], one["cards"], one["open"]) for one in summary["lanes"]] == [
        ("agent:ann", 1, 1),
        ("shared", 1, 1),
    ]
    assert summary["lanes"][1]["top_pinned"] == "CARD-H1"


@pytest.mark.proves("MEM-262", "MEM-263", "MEM-267")
def test_a_watch_shows_what_is_open_and_what_was_thought_last(lh: Lh) -> None:
    made = task(lh)
    card(lh, "CARD-H1", "hypothesis", target=made["id"])
    watch = lh("think.watch", target=made["id"])
    assert ids(watch["frontier"]["hypotheses"]) == ["CARD-H1"]
    assert watch["trace_doc"] == f"{made['id']}-trace"
    assert watch["trace"]["entries"][-1]["meta"]["card_id"] == "CARD-H1"
    assert lh("think.watch", target=made["id"], trace_limit_steps=0)["trace"]["entries"] == []
    for override in ({"ref": "main"}, {"graph_doc": "g"}, {"trace_doc": "t"}):
        assert lh.refused("think.watch", target=made["id"], **override)["code"] == "INVALID_INPUT"


@pytest.mark.proves("MEM-198", "MEM-199", "MEM-206")
def test_a_context_pack_holds_notes_trace_and_cards(lh: Lh) -> None:
    for number in range(25):
        note(lh, f"note {number}")
    for number in range(26):
        card(lh, f"CARD-D{number}", "decision")
        card(lh, f"CARD-E{number}", "evidence", blocks=[f"CARD-D{number}"])
    pack = lh("think.context.pack", budget_profile="audit", max_chars=80_000)
    assert pack.keys() >= {
        "requested",
        "branch",
        "docs",
        "capsule",
        "notes",
        "trace",
        "cards",
        "signals",
        "stats",
        "truncated",
    }
    assert pack["requested"].keys() <= {"target", "ref"}
    assert {"entries", "pagination"} <= pack["trace"].keys()
    assert (len(pack["cards"]), pack["branch"]) == (30, "main")
    assert "stats" in pack["signals"]
    assert pack["docs"] == {"notes": "notes", "trace": "trace", "graph": "graph"}
    assert (len(pack["notes"]["entries"]), len(pack["trace"]["entries"])) == (20, 50)
    assert pack["notes"]["entries"][-1]["content"] == "note 24"
    counts = {key: len(pack["signals"][key]) for key in ("blockers", "decisions", "evidence")}
    assert counts == {"blockers": 5, "decisions": 5, "evidence": 5}
    made = task(lh)
    for override in ("ref", "notes_doc", "trace_doc", "graph_doc"):
        args = {override: "main" if override == "ref" else "x"}
        assert lh.refused("think.context.pack", target=made["id"], **args)


@pytest.mark.proves("MEM-200", "MEM-204", "MEM-205")
def test_drafts_and_limits_cover_entries_too(lh: Lh) -> None:
    note(lh, "for all")
    note(lh, "for me", meta={"tags": ["v:draft"]})
    card(lh, "CARD-N1", "note", text="a remark")
    card(lh, "CARD-H1", "hypothesis", title="It is so")

    def said(**args: Any) -> tuple[list[str], list[str], list[str]]:
        pack = lh("think.context.pack", **args)
        notes = [entry["content"] for entry in pack["notes"]["entries"]]
        trace = [entry["content"] for entry in pack["trace"]["entries"]]
        return notes, trace, sorted(ids(pack["cards"]))

    assert said() == (["for all"], ["It is so"], ["CARD-H1"])
    everything = (["for all", "for me"], ["a remark", "It is so"], ["CARD-H1", "CARD-N1"])
    assert said(view="audit") == said(all_lanes=True) == everything
    assert said(notes_limit=0, trace_limit=0)[:2] == ([], [])


@pytest.mark.proves("MEM-202", "MEM-203")
def test_with_a_step_entries_are_those_of_the_step(lh: Lh) -> None:
    made = task(lh)
    target = made["id"]
    lh("tasks.note", task=target, path="s:0", note="on the first")
    lh("tasks.note", task=target, path="s:1", note="on the second")
    card(lh, "CARD-H1", "hypothesis", target=target, step="s:0", title="first")
    card(lh, "CARD-H2", "hypothesis", target=target, step="s:1", title="second")
    pack = lh("think.context.pack", target=target, step="s:0")
    assert [entry["content"] for entry in pack["notes"]["entries"]] == ["on the first"]
    for entry in pack["trace"]["entries"]:
        meta = entry["meta"]
        assert meta.get("path", "s:0") == "s:0"
        assert meta.get("step", {"path": "s:0"})["path"] == "s:0"
    kinds = {entry["kind"] for entry in pack["trace"]["entries"]}
    assert kinds == {"note", "event"}
    watch = lh("think.watch", target=target, step="s:1")
    assert "CARD-H1" not in str(watch["trace"])
    assert "CARD-H2" in str(watch["trace"])


@pytest.mark.proves("MEM-207", "MEM-208")
def test_an_empty_target_is_bridged_to_the_checkout(lh: Lh) -> None:
    made = task(lh)
    before = lh.envelope("think.context.pack", target=made["id"])
    assert "bridge" not in before["result"], "the checkout has nothing either"
    note(lh, "on main")
    rows = fingerprint(lh)
    answer = lh.envelope("think.context.pack", target=made["id"], read_only=True)
    bridge = answer["result"]["bridge"]
    assert (bridge["checkout"], bridge["has"]) == (
        "main",
        {"notes": True, "trace": False, "cards": False},
    )
    assert bridge["docs"]["graph"] == "graph"
    assert "CONTEXT_EMPTY_FOR_TARGET" in [one["code"] for one in answer["warnings"]]
    assert answer["result"]["docs"]["graph"] == f"{made['id']}-graph"
    assert fingerprint(lh) == rows
    card(lh, target=made["id"], kind="question")
    assert "bridge" not in lh("think.context.pack", target=made["id"])


@pytest.mark.proves("MEM-046")
def test_thoughts_in_sequence_become_a_graph_in_the_views(lh: Lh) -> None:
    made = task(lh)
    for number in (1, 2):
        lh(
            "think.trace.sequential.step",
            target=made["id"],
            thought=f"thought {number}",
            thoughtNumber=number,
            totalThoughts=3,
            nextThoughtNeeded=True,
            **({"branchFromThought": 1, "branchId": "b"} if number == 2 else {}),
        )
    for result in (
        lh("think.context.pack", target=made["id"])["trace"],
        lh("docs.show", target=made["id"], doc_kind="trace"),
        lh("docs.export", target=made["id"])["trace"],
        lh("think.trace.hydrate", target=made["id"]),
    ):
        nodes = result["sequential"]["nodes"]
        assert [one["thoughtNumber"] for one in nodes] == [1, 2]
        assert result["sequential"]["edges"] == [{"rel": "branch", "from": 1, "to": 2}]


def test_a_trace_entry_of_another_task_is_not_mine(lh: Lh) -> None:
    made = task(lh)
    trace(lh, made["id"], "evt_9", "x", meta={"task_id": "TASK-999", "path": "s:0"})
    pack = lh("think.context.pack", target=made["id"], step="s:0")
    assert all(e["meta"].get("task_id") != "TASK-999" for e in pack["trace"]["entries"])


@pytest.mark.parametrize("cmd", CAPSULES)
def test_the_capsule_of_a_known_scene_is_the_golden_one(lh: Lh, cmd: str) -> None:
    """At the smallest budget and whole: what an agent that has little room gets to read."""
    card(lh, "CARD-H1", "hypothesis", title="The database is slow")
    card(lh, "CARD-E1", "evidence", title="Queries take 700 ms", supports=["CARD-H1"])
    card(lh, "CARD-E2", "evidence", title="Staging is fast", blocks=["CARD-H1"])
    told = {"whole": lh(cmd)["capsule"], "smallest": lh(cmd, max_chars=0)["capsule"]}
    text = msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n"
    golden = Path(__file__).parent / "golden" / f"{cmd}.json"
    assert text == golden.read_text(encoding="utf-8")


def test_a_small_pack_keeps_its_cards_longer_than_its_trace(lh: Lh) -> None:
    made = task(lh)
    for number in range(3):
        card(lh, f"CARD-{number}", "hypothesis", title=f"Guess {number}", target=made["id"])
    pack = lh("think.context.pack", target=made["id"], max_chars=2_400)
    assert [one["id"] for one in pack["cards"]] == ["CARD-2", "CARD-1", "CARD-0"]
    assert "trace" not in pack


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
    used = len(msgspec.json.encode({k: v for k, v in result.items() if k != "budget"}).decode())
    clamped = "BUDGET_MIN_CLAMPED" in [one["code"] for one in answer["warnings"]]
    assert used == result["budget"]["used_chars"]
    assert clamped or used <= max_chars
    assert result.keys() - {"budget", "truncated"}
    if "capsule" in lh(cmd, **args):
        assert result["capsule"]["next"]["primary"]["call"]["tool"]
