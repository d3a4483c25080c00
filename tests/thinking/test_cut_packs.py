"""Packs under budgets: whatever a budget cuts, the answer speaks only of what it still shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.kit import Lh
from tests.thinking.kit import card, run_call, task

PACKS = ("think.pack", "think.watch", "think.context.pack")
_CARD = re.compile(r"CARD-[A-Z0-9-]+")
LONG = "z" * 800
BUDGETS = [*range(300, 3_000, 180), *range(3_000, 9_000, 500), 10_000, 11_000, 14_000, 20_000]


def hypotheses(lh: Lh, **where: Any) -> None:
    for number in range(10):
        card(lh, f"CARD-X{number}", "hypothesis", title=f"H{number}", text=LONG, **where)


def argued(lh: Lh, **where: Any) -> None:
    """Tests, evidence and decisions that findings of several cards rest on."""
    for number in range(6):
        card(lh, f"CARD-H{number}", "hypothesis", text=LONG, **where)
        run = {"run": {"cmd": f"make t{number}"}}
        support = {"supports": [f"CARD-H{number}"]}
        card(lh, f"CARD-T{number}", "test", text=LONG, meta=run, **support, **where)
        if number % 2:
            card(lh, f"CARD-E{number}", "evidence", text=LONG, **support, **where)
            card(lh, f"CARD-C{number}", "evidence", blocks=[f"CARD-H{number}"], **where)
    card(lh, "CARD-A1", "frame", status="refuted", tags=["assumption"], **where)
    card(lh, "CARD-D1", "decision", supports=["CARD-H1"], tags=["pinned", "v:canon"], **where)


def stuck(lh: Lh, **where: Any) -> None:
    for number in range(12):
        card(lh, f"CARD-Q{number}", "question", text=LONG, **where)


WORLDS = {"hypotheses": hypotheses, "argued": argued, "stuck": stuck}


def spoken(result: dict[str, Any]) -> Iterator[str]:
    """The ids of cards that signals, actions and the capsule's reasons and calls name."""
    engine, capsule = result.get("engine") or {}, result.get("capsule") or {}
    for one in (*engine.get("signals", ()), *engine.get("actions", ())):
        yield from (ref["id"] for ref in one["refs"] if ref["id"].startswith("CARD-"))
        yield from _CARD.findall(one.get("message", ""))
    for why in capsule.get("why") or ():
        yield from (name for name in _CARD.findall(why["message"]) if "…" not in why["message"])
    for action in (capsule.get("next") or {}).values():
        inner = action["call"]["args"].get("args") or action["call"]["args"]
        yield from inner.get("supports") or ()
        yield from inner.get("blocks") or ()


def believable(result: dict[str, Any]) -> bool:
    """Whether the trace entries that a signal counts are in the answer."""
    told = str(result.get("engine")) + str(result["capsule"].get("why"))
    trace = result.get("records", {}).get("trace") or (result.get("trace") or {}).get("entries")
    return "BM10_STUCK_NO_EVIDENCE" not in told or len(trace or ()) >= 6


def shown(result: dict[str, Any]) -> set[str]:
    rows = (result.get("cards"), result.get("candidates"), result.get("records", {}).get("cards"))
    found = {row["id"] for part in rows for row in part or ()}
    found |= {row["id"] for row in result.get("records", {}).get("decisions") or ()}
    found |= {str(fact.get("ref")) for fact in result.get("facts") or ()}
    return found | {str(result["capsule"].get("ref"))}


@pytest.mark.proves("MEM-283")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("cmd", PACKS)
def test_a_cut_pack_speaks_only_of_cards_that_it_still_shows(lh: Lh, cmd: str, world: str) -> None:
    WORLDS[world](lh)
    lit = {"include_drafts": True, "budget_profile": "audit"}
    whole = lh(cmd, max_chars=80_000, engine_signals_limit=50, **lit)
    if cmd == "think.pack" and world == "stuck":  # only a trace shows it
        assert "engine" not in whole
        return
    known = [(one["code"], one["message"]) for one in whole["engine"]["signals"]]
    assert known
    assert not whole["truncated"]
    fewer = set()
    for max_chars in BUDGETS:
        result = lh(cmd, max_chars=max_chars, **lit)
        assert set(spoken(result)) <= shown(result), max_chars
        assert believable(result), max_chars
        summary = result.get("lane_summary", {}).get("lanes", [])
        tops = {lane.get(top) for lane in summary for top in ("top_pinned", "top_open")}
        assert tops - {None} <= shown(result), max_chars
        engine = result.get("engine")
        if engine:
            assert all((one["code"], one["message"]) in known for one in engine["signals"])
            assert len(engine["signals"]) <= engine["signals_total"]
            fewer.add(engine["signals_total"])
    assert len(fewer) > 1, "some budgets cut cards that signals were about, and keep others"


@pytest.mark.proves("MEM-283")
def test_the_engine_of_a_cut_pack_is_what_the_cards_left_allow(lh: Lh) -> None:
    hypotheses(lh)
    cut = lh("think.pack", max_chars=4_500)
    left = len(cut["candidates"])
    assert 1 <= left < 10
    alone = lh("think.pack", limit_candidates=left)["engine"]
    assert cut["engine"]["signals"] == alone["signals"][: len(cut["engine"]["signals"])]
    assert (cut["engine"]["signals_total"], alone["signals_total"]) == (left, left)


@pytest.mark.proves("MEM-283")
def test_a_cut_never_makes_the_engine_say_something_new(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", tags=["pinned"], text=LONG)
    card(lh, "CARD-T1", "test", supports=["CARD-H1"], text=LONG, tags=["v:canon"])
    for number in range(8):
        card(lh, f"CARD-E{number}", "evidence", supports=["CARD-T1"], text=LONG)
    assert "BM4_HYPOTHESIS_NO_TEST" not in str(lh("think.pack", max_chars=20_000)["engine"])
    for max_chars in BUDGETS:
        cut = lh("think.pack", max_chars=max_chars)
        assert "BM4_HYPOTHESIS_NO_TEST" not in str(cut), max_chars


@pytest.mark.proves("MEM-196", "MEM-209", "MEM-268")
@pytest.mark.parametrize("cmd", PACKS)
def test_a_capsule_says_why_under_any_budget(lh: Lh, cmd: str) -> None:
    hypotheses(lh)
    for max_chars in (0, 300, *BUDGETS):
        capsule = lh(cmd, max_chars=max_chars)["capsule"]
        assert [why["code"] for why in capsule["why"]][:1] == ["BM4_HYPOTHESIS_NO_TEST"], max_chars
    run_call(lh, capsule["next"]["primary"]["call"])


@pytest.mark.proves("MEM-283")
def test_an_exported_pack_speaks_only_of_cards_that_it_holds(lh: Lh) -> None:
    hypotheses(lh)
    for max_chars in range(1_000, 9_000, 700):
        made = lh("think.context.pack.export", out_file=".agents/p.json", max_chars=max_chars)
        data = (lh.house.settings.project_root / made["out_file"]).read_bytes()
        pack = msgspec.json.decode(data)
        assert set(spoken(pack)) <= shown(pack), max_chars


@pytest.mark.proves("MEM-283")
def test_a_cut_resume_speaks_only_of_cards_that_it_shows(lh: Lh) -> None:
    made = task(lh)
    stuck(lh, target=made["id"])
    seen = set()
    for max_chars in BUDGETS:
        result = lh("tasks.resume.super", task=made["id"], view="full", max_chars=max_chars)
        assert set(spoken(result)) <= shown(result), max_chars
        assert believable(result), max_chars
        seen.add(len((result.get("engine") or {}).get("signals", ())))
    assert seen == {0, 1}


@pytest.mark.proves("MEM-283")
def test_a_resume_inside_a_macro_speaks_only_of_cards_that_it_shows(lh: Lh) -> None:
    budgets = range(1_500, 12_000, 700)
    made = task(lh, steps=len(budgets))
    hypotheses(lh, target=made["id"])
    engines = set()
    for max_chars in budgets:
        args = {"task": made["id"], "proof": "CMD: make test (exit 0)", "checkpoints": "all"}
        sizes = {"view": "full", "resume_max_chars": 10_000, "max_chars": max_chars}
        resume = lh("tasks.macro.close.step", **args, **sizes).get("resume", {"capsule": {}})
        assert set(spoken(resume)) <= shown(resume), max_chars
        assert believable(resume), max_chars
        engines.add("engine" in resume)
    assert engines == {True, False}
