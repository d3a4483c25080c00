"""What packs hold: notes, trace, cards, lanes, the bridge for an empty target, capsules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.contracts.test_budgets import measured
from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.memory.kit import note, trace
from tests.thinking.kit import card, ids, run_call, task

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
    assert capsule["where"]["target"] == made["id"]
    assert capsule["where"]["step_focus"]["path"] == "s:0"
    assert lh("open", id=capsule["ref"])["kind"] == "card"
    run_call(lh, capsule["next"]["primary"]["call"])
    used = len(measured(result).decode())
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
    for number in range(4):
        card(lh, f"CARD-X{number}", "hypothesis", tags=["lane:agent:ann", "v:canon"])
    lane = lh("think.pack")["capsule"]
    assert (lane["where"]["lane"], len(lane["why"])) == ("agent:ann", 3)


@pytest.mark.proves("MEM-193", "MEM-197")
def test_a_pack_holds_cards_what_is_open_and_the_documents_to_write_to(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    pack = lh("think.pack", limit_candidates=5)
    assert pack["trace_doc"] == "trace"
    made = task(lh)
    assert lh("think.pack", target=made["id"])["trace_doc"] == f"{made['id']}-trace"
    assert ids(pack["candidates"]) == ["CARD-H1"]
    assert ids(pack["frontier"]["hypotheses"]) == ["CARD-H1"]
    assert pack["stats"] == {"cards": 1, "by_type": {"hypothesis": 1}}
    for number in range(3):
        card(lh, f"CARD-E{number}", "evidence")
    cut = lh("think.pack", limit_candidates=2)
    assert ids(cut["candidates"]) == ["CARD-H1", "CARD-E2"]
    assert cut["stats"] == {"cards": 2, "by_type": {"evidence": 1, "hypothesis": 1}}


@pytest.mark.proves("MEM-195")
@pytest.mark.parametrize("cmd", CAPSULES)
def test_with_drafts_the_lanes_are_summed_up(lh: Lh, cmd: str) -> None:
    card(lh, "CARD-H1", "hypothesis", tags=["pinned"])
    card(lh, "CARD-H2", "hypothesis", tags=["lane:agent:ann"])
    assert "lane_summary" not in lh(cmd)
    ann = {"lane": "agent:ann", "cards": 1, "pinned": 0, "open": 1, "top_open": "CARD-H2"}
    shared = {"lane": "shared", "cards": 1, "pinned": 1, "open": 1}
    tops = {"top_pinned": "CARD-H1", "top_open": "CARD-H1"}
    for drafts in ({"include_drafts": True}, {"all_lanes": True}, {"view": "audit"}):
        summary = lh(cmd, **drafts)["lane_summary"]
        assert summary["lanes"] == [ann, {**shared, **tops}]
    limit = "limit_cards" if cmd == "think.context.pack" else "limit_candidates"
    cut = lh(cmd, include_drafts=True, **{limit: 1})["lane_summary"]
    assert [one["lane"] for one in cut["lanes"]] == ["shared"], "of the slice alone"


@pytest.mark.proves("MEM-262", "MEM-263", "MEM-267")
def test_a_watch_shows_what_is_open_and_what_was_thought_last(lh: Lh) -> None:
    made = task(lh)
    card(lh, "CARD-H1", "hypothesis", target=made["id"])
    watch = lh("think.watch", target=made["id"])
    assert ids(watch["frontier"]["hypotheses"]) == ["CARD-H1"]
    assert (watch["branch"], watch["graph_doc"], watch["trace_doc"]) == (
        f"task/{made['id']}",
        f"{made['id']}-graph",
        f"{made['id']}-trace",
    )
    assert watch["trace"]["entries"][-1]["meta"]["card_id"] == "CARD-H1"
    for number in range(14):
        lh("think.trace.step", step=f"step {number}", target=made["id"])
    last = lh("think.watch", target=made["id"])["trace"]
    assert [one["content"] for one in last["entries"]] == [f"step {n}" for n in range(2, 14)]
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
    assert {"entries", "pagination"} <= pack["trace"].keys() & pack["notes"].keys()
    assert (len(pack["cards"]), pack["branch"]) == (30, "main")
    assert pack["stats"]["cards"] == 30
    assert pack["signals"]["stats"] == {"blockers": 5, "decisions": 5, "evidence": 5}
    assert pack["docs"] == {"notes": "notes", "trace": "trace", "graph": "graph"}
    assert (len(pack["notes"]["entries"]), len(pack["trace"]["entries"])) == (20, 50)
    assert pack["notes"]["entries"][-1]["content"] == "note 24"
    counts = {key: len(pack["signals"][key]) for key in ("blockers", "decisions", "evidence")}
    assert counts == {"blockers": 5, "decisions": 5, "evidence": 5}
    made = task(lh)
    note(lh, "of the task", branch=f"task/{made['id']}")
    own = lh("think.context.pack", target=made["id"])
    assert own["requested"].get("target") == made["id"]
    assert [entry["content"] for entry in own["notes"]["entries"]] == ["of the task"]
    named = {"notes_doc": "n", "trace_doc": "t", "graph_doc": "g"}
    note(lh, "elsewhere", doc="n")
    card(lh, "CARD-H1", "hypothesis", branch="main", trace_doc="t", graph_doc="g")
    there = lh("think.context.pack", ref="main", **named)
    assert there["requested"].get("ref") == there["branch"] == "main"
    assert there["docs"] == {"notes": "n", "trace": "t", "graph": "g"}
    assert [entry["content"] for entry in there["notes"]["entries"]] == ["elsewhere"]
    assert [entry["meta"]["card_id"] for entry in there["trace"]["entries"]] == ["CARD-H1"]
    assert ids(there["cards"]) == ["CARD-H1"]
    for name in ("ref", *named):
        error = lh.refused("think.context.pack", target=made["id"], **{name: "main"})
        assert f"pass either target or {name}" in error["message"]
    lh("vcs.branch.create", name="idea/a")
    lh("vcs.checkout", ref="idea/a")
    note(lh, "on the checkout", branch="idea/a")
    assert lh("think.context.pack")["notes"]["entries"][-1]["content"] == "on the checkout"


@pytest.mark.proves("MEM-200", "MEM-204", "MEM-205")
def test_drafts_and_limits_cover_entries_too(lh: Lh) -> None:
    note(lh, "for all")
    note(lh, "for me", meta={"tags": ["v:draft"]})
    note(lh, "for ann", meta={"tags": ["lane:agent:ann"]})
    card(lh, "CARD-N1", "note", text="a remark")
    card(lh, "CARD-H1", "hypothesis", title="It is so")
    hidden = {"tags": ["v:draft"], "title": "perhaps"}
    card(lh, "CARD-D1", "decision", **hidden)
    card(lh, "CARD-E1", "evidence", **hidden, blocks=["CARD-H1"])

    def said(**args: Any) -> tuple[list[str], list[str], set[str]]:
        pack = lh("think.context.pack", **args)
        notes = [entry["content"] for entry in pack["notes"]["entries"]]
        trace = [entry["content"] for entry in pack["trace"]["entries"]]
        signals = [pack["signals"][kind] for kind in ("blockers", "decisions", "evidence")]
        return notes, trace, {one for cards in (pack["cards"], *signals) for one in ids(cards)}

    assert said() == (["for all"], ["It is so"], {"CARD-H1"})
    everything = (
        ["for all", "for me", "for ann"],
        ["a remark", "It is so", "perhaps", "perhaps"],
        {"CARD-H1", "CARD-N1", "CARD-D1", "CARD-E1"},
    )
    for drafts in ({"view": "audit"}, {"all_lanes": True}, {"include_drafts": True}):
        assert said(**drafts) == everything
    assert said(notes_limit=0)[:2] == ([], ["It is so"])
    assert said(trace_limit=0)[:2] == (["for all"], [])
    none = lh("think.context.pack", notes_limit=0)["notes"]["pagination"]
    assert (none["count"], none["has_more"]) == (0, True)


@pytest.mark.proves("MEM-202", "MEM-203", "MEM-266")
def test_with_a_step_entries_are_those_of_the_step(lh: Lh) -> None:
    target = task(lh)["id"]
    lh("tasks.note", task=target, path="s:0", note="on the first")
    lh("tasks.note", task=target, path="s:1", note="on the second")
    note(lh, "on none", branch=f"task/{target}")
    card(lh, "CARD-H1", "hypothesis", target=target, step="s:0", title="first")
    card(lh, "CARD-H2", "hypothesis", target=target, step="s:1", title="second")
    card(lh, "CARD-H3", "hypothesis", target=target, title="of the task")
    for path in ("s:1", "s:1.s:0", "s:10", "s:0", None):
        meta = {"task_id": target, **({"path": path} if path else {})}
        trace(lh, target, f"evt_{path}", f"at {path}", meta=meta)
    trace(lh, target, "evt_other", "elsewhere", meta={"task_id": "TASK-999", "path": "s:1"})
    pack = lh("think.context.pack", target=target, step="s:1")
    assert [entry["content"] for entry in pack["notes"]["entries"]] == ["on the second"]
    for read in (pack, lh("think.watch", target=target, step="s:1")):
        entries = read["trace"]["entries"]
        notes = [entry["content"] for entry in entries if entry["kind"] == "note"]
        assert notes == ["second"]
        events = [entry["content"] for entry in entries if entry["kind"] == "event"]
        assert events[-2:] == ["at s:1", "at s:1.s:0"]
        assert {entry["meta"]["path"] for entry in entries if entry["kind"] == "event"} == {
            "s:1",
            "s:1.s:0",
        }


@pytest.mark.proves("MEM-207", "MEM-208")
def test_an_empty_target_is_bridged_to_the_checkout(lh: Lh) -> None:
    made = task(lh)
    before = lh.envelope("think.context.pack", target=made["id"])
    assert "bridge" not in before["result"], "the checkout has nothing either"
    lh("vcs.branch.create", name="idea/a")
    lh("vcs.checkout", ref="idea/a")
    note(lh, "on the idea", branch="idea/a")
    rows = fingerprint(lh)
    answer = lh.envelope("think.context.pack", target=made["id"], read_only=True)
    bridge = answer["result"]["bridge"]
    assert (bridge["checkout"], bridge["has"]) == (
        "idea/a",
        {"notes": True, "trace": False, "cards": False},
    )
    assert bridge["docs"] == {"notes": "notes", "trace": "trace", "graph": "graph"}
    assert "CONTEXT_EMPTY_FOR_TARGET" in [one["code"] for one in answer["warnings"]]
    assert answer["result"]["docs"] == {
        "notes": "notes",
        "trace": f"{made['id']}-trace",
        "graph": f"{made['id']}-graph",
    }
    assert fingerprint(lh) == rows
    card(lh, branch="idea/a")
    both = lh("think.context.pack", target=made["id"])["bridge"]["has"]
    assert both == {"notes": True, "trace": True, "cards": True}
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
            **({"isRevision": True, "revisesThought": 7} if number == 2 else {}),
        )
    for result in (
        lh("think.context.pack", target=made["id"])["trace"],
        lh("docs.show", target=made["id"], doc_kind="trace"),
        lh("docs.export", target=made["id"])["trace"],
        lh("think.trace.hydrate", target=made["id"]),
    ):
        nodes = result["sequential"]["nodes"]
        assert [one["thoughtNumber"] for one in nodes] == [1, 2]
        assert result["sequential"]["edges"] == [
            {"rel": "branch", "from": 1, "to": 2},
            {"rel": "revision", "from": 7, "to": 2},
        ]
        assert result["sequential"]["missing"] == [7]


@pytest.mark.proves("MEM-196", "MEM-209", "MEM-268")
@pytest.mark.parametrize("cmd", CAPSULES)
def test_the_capsule_of_a_known_scene_is_the_golden_one(lh: Lh, cmd: str) -> None:
    """Packs at the smallest budget and in full."""
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
