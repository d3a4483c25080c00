"""The engine's block in an answer: what it holds, in which order, and the same every time."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from longhouse.house import House
from longhouse.memory.types.graph import Edge
from longhouse.thinking.engine.slice import CardSlice
from longhouse.thinking.types.cards import Card
from tests.contracts.world import fingerprint
from tests.kit import Lh, ManualClock
from tests.thinking.kit import actions, card, run_call, signals, task
from tests.thinking.test_engine import CODES, DAY_MS, evidence

ENGINES_OF = ("think.watch", "think.pack", "think.context.pack")
_ENGINE = """
import json, sys
from longhouse.config import load
from longhouse.house import House
folder, db = sys.argv[1:]
asked = {"dir": folder, "workspace": "acme", **({"db": db} if "://" in db else {})}
with House(load(asked, environ={"HOME": folder}, cwd=folder)) as house:
    for cmd in ("think.watch", "think.pack", "think.context.pack"):
        limits = {"engine_signals_limit": 50, "engine_actions_limit": 50, "view": "audit"}
        answer = house.call(cmd, {**limits, "budget_profile": "audit"})
        print(json.dumps(answer.envelope["result"]["engine"]))
"""


@pytest.mark.proves("MEM-284", "MEM-285")
def test_the_engine_says_how_much_it_left_out(lh: Lh) -> None:
    for number in range(4):
        card(lh, f"CARD-H{number}", "hypothesis")
    whole = lh("think.pack", engine_signals_limit=50, engine_actions_limit=50)["engine"]
    assert whole["version"] == "v0.5"
    assert (whole["signals_total"], whole["actions_total"]) == (4, 4)
    assert whole["truncated"] is False
    assert all(one.keys() >= {"code", "severity", "message"} for one in whole["signals"])
    assert all(one.keys() >= {"kind", "priority", "title"} for one in whole["actions"])
    cut = lh("think.pack", engine_signals_limit=1, engine_actions_limit=2)["engine"]
    assert (len(cut["signals"]), len(cut["actions"]), cut["truncated"]) == (1, 2, True)
    assert (cut["signals_total"], cut["actions_total"]) == (4, 4)
    for limits, truncated in (((4, 4), False), ((3, 4), True), ((4, 3), True)):
        limit = dict(zip(("engine_signals_limit", "engine_actions_limit"), limits, strict=True))
        assert lh("think.pack", **limit)["engine"]["truncated"] is truncated
    assert not whole.keys() & {"mode", "step_tag"}, "there is no step"
    assert [len(one["refs"]) for one in whole["signals"]] == [1] * 4
    assert all(one["why"] and one["calls"] for one in whole["actions"])
    made = task(lh)
    card(lh, "CARD-S1", "hypothesis", target=made["id"], step="s:0")
    stepped = lh("think.pack", target=made["id"], step="s:0")["engine"]
    tag = f"step:{made['steps'][0]['step_id'].lower()}"
    assert (stepped["mode"], stepped["step_tag"]) == ("step_aware", tag)


@pytest.mark.proves("MEM-265")
def test_the_engine_can_be_switched_off(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    off = lh("think.watch", engine_signals_limit=0, engine_actions_limit=0)
    assert "engine" not in off
    card(lh, "CARD-H2", "hypothesis")
    card(lh, "CARD-H3", "hypothesis")
    for signals_limit, actions_limit in ((0, 3), (3, 0), (1, 2), (2, 1)):
        limits = {"engine_signals_limit": signals_limit, "engine_actions_limit": actions_limit}
        engine = lh("think.watch", **limits)["engine"]
        assert (len(engine["signals"]), len(engine["actions"])) == (signals_limit, actions_limit)


@pytest.mark.proves("MEM-281", "MEM-282", "MEM-292")
def test_the_engine_only_reads_and_says_the_same_again(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    made = lh.house.settings.project_root / "made-by-engine"
    card(lh, "CARD-T1", "test", supports=["CARD-H1"], meta={"run": {"cmd": f"touch {made}"}})
    before = fingerprint(lh)
    for cmd in ("think.watch", "think.pack", "think.context.pack"):
        first = lh(cmd)["engine"]
        assert "run_test" in [one["kind"] for one in first["actions"]]
        assert lh(cmd)["engine"] == first
    assert fingerprint(lh) == before
    assert not made.exists()


@pytest.mark.proves("MEM-283")
def test_the_engine_knows_nothing_that_the_answer_does_not_show(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-Q1", "question", tags=["pinned"])
    assert "engine" not in lh("think.pack", limit_candidates=1)
    assert "engine" in lh("think.pack", limit_candidates=2)
    card(lh, "CARD-T1", "test", supports=["CARD-H1"])
    (about,) = signals(lh)["BM10_NO_COUNTER_EDGES"]["refs"]
    assert about["id"] == "CARD-H1"
    assert signals(lh, limit_candidates=2).keys() == {"BM4_HYPOTHESIS_NO_TEST"}, "no edge to it"
    for number in range(6):
        card(lh, f"CARD-R{number}", "question")
    assert "BM10_STUCK_NO_EVIDENCE" in signals(lh, trace_limit_steps=6)
    assert "BM10_STUCK_NO_EVIDENCE" not in signals(lh, trace_limit_steps=5)


@pytest.mark.proves("MEM-280")
def test_three_views_have_an_engine(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    for cmd in ("think.watch", "think.pack", "think.context.pack"):
        engine = lh(cmd)["engine"]
        (signal,) = engine["signals"]
        assert signal["code"] == "BM4_HYPOTHESIS_NO_TEST"
        assert [action["kind"] for action in engine["actions"]] == ["add_test_stub"]


@pytest.mark.proves("MEM-286")
def test_calls_about_a_step_stay_in_the_step(lh: Lh) -> None:
    made = task(lh)
    step = made["steps"][0]["step_id"]
    card(lh, "CARD-H1", "hypothesis", target=made["id"], step="focus")
    card(lh, "CARD-H2", "hypothesis", target=made["id"], step="focus")
    card(lh, "CARD-T1", "test", target=made["id"], step="focus", supports=["CARD-H2"])
    where = {"target": made["id"], "step": "focus"}
    engine = lh("think.watch", **where)["engine"]
    assert (engine["mode"], engine["step_tag"]) == ("step_aware", f"step:{step.lower()}")
    offered = actions(lh, **where)
    assert {one["kind"] for one in offered} == {
        "add_test_stub",
        "run_test",
        "add_counter_hypothesis",
    }
    for action in offered:
        made_card = run_call(lh, action["calls"][-1])["card_id"]
        assert f"step:{step.lower()}" in lh("open", id=made_card)["card"]["tags"]


@pytest.mark.proves("MEM-264")
@pytest.mark.parametrize("toolset, disclosed", [("core", True), ("daily", True), ("full", False)])
def test_before_the_first_call_of_a_command_beyond_core_comes_the_listing_that_has_it(
    new_house: Callable[..., House], clock: ManualClock, toolset: str, disclosed: bool
) -> None:
    lh = Lh(new_house(toolset=toolset), clock)
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-H2", "hypothesis")
    first, *rest = [call for action in actions(lh) for call in action["calls"]]
    assert (first.get("call_method") == "tools/list") is disclosed
    assert not any("call_method" in call for call in rest), "once is enough"
    listed = run_call(lh, first)
    assert (listed.get("toolset"), "think.card" in str(listed.get("cmds"))) == (
        ("daily", True) if disclosed else (None, False)
    )
    assert "call_method" not in lh("think.watch")["capsule"]["next"]["primary"]["call"]
    run_call(lh, rest[-1])


@pytest.mark.proves("MEM-282")
@pytest.mark.parametrize("later_ms", [1, DAY_MS, 400 * DAY_MS])
def test_the_engine_says_the_same_at_any_later_time(lh: Lh, later_ms: int) -> None:
    card(lh, "CARD-H1", "hypothesis")
    run = {"run": {"cmd": "make bench"}}
    card(lh, "CARD-T1", "test", supports=["CARD-H1"], meta=run)
    evidence(lh, "CARD-E1", supports=["CARD-T1"])
    card(lh, "CARD-D1", "decision", tags=["v:draft"])
    lh.clock.advance(5 * DAY_MS)
    card(lh, "CARD-H2", "hypothesis")
    whole = {"view": "audit", "engine_signals_limit": 50, "engine_actions_limit": 50}
    before = {cmd: lh(cmd, **whole)["engine"] for cmd in ENGINES_OF}
    assert before["think.watch"]["signals"]
    lh.clock.advance(later_ms)
    assert {cmd: lh(cmd, **whole)["engine"] for cmd in ENGINES_OF} == before


@pytest.mark.proves("MEM-282")
def test_the_engine_says_the_same_in_every_process(lh: Lh) -> None:
    """Sets of names have another order in each process, unless they are sorted."""
    names = [f"CARD-{letter}" for letter in "QWERTYUIOPASDFGHJKL"]
    card(lh, "CARD-Z", "decision", tags=["pinned"])
    for number, name in enumerate(names):
        rel = "supports" if number % 2 else "blocks"
        kind = ("test", "evidence", "hypothesis")[number % 3]
        card(lh, name, kind, **{rel: ["CARD-Z"]})
    card(lh, "CARD-A1", "evidence", supports=names[2::3])
    card(lh, "CARD-X", "hypothesis", status="refuted", supports=["CARD-Z", *names[:6]])
    store = str(lh.house.settings.dir)
    texts = set()
    for seed in ("0", "1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", _ENGINE, store, str(lh.house.settings.db)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(ran.stdout)
    assert len(texts) == 1
    assert "BM" in texts.pop()


@pytest.mark.proves("MEM-282")
def test_support_and_opposition_come_in_the_order_of_their_names(lh: Lh) -> None:
    names = [f"CARD-{letter}" for letter in "QWERTYUIOPASDF"]
    for name in ("CARD-M", "CARD-N", *names):
        card(lh, name, "hypothesis")
    for number, name in enumerate(names):
        card(lh, name, "hypothesis", **{("supports", "blocks")[number % 2]: ["CARD-M"]})
    card(lh, "CARD-N", "hypothesis", supports=names)
    pack = lh("think.context.pack", limit_cards=30, budget_profile="audit")
    cards = msgspec.convert(pack["cards"], list[Card])
    edges = msgspec.convert(lh("graph.query", limit=50)["edges"], list[Edge])
    found = CardSlice(cards, edges)
    middle, every = found.cards["CARD-M"], found.cards["CARD-N"]
    assert [one.id for one in found.supporters(middle)] == sorted(names[::2])
    assert [one.id for one in found.opponents(middle)] == sorted(names[1::2])
    assert [one.id for one in found.spoken_about(every)] == sorted(names)


@pytest.mark.proves("MEM-282")
def test_signals_and_actions_come_in_the_order_of_the_table(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-T1", "test", supports=["CARD-H1"])
    card(lh, "CARD-H4", "hypothesis", title="D")
    lh.clock.advance(1)
    card(lh, "CARD-H3", "hypothesis", title="C")
    card(lh, "CARD-H2", "hypothesis", title="B")
    card(lh, "CARD-D1", "decision", tags=["v:draft"])
    whole = {"view": "audit", "engine_signals_limit": 50, "engine_actions_limit": 50}
    engine = lh("think.watch", **whole)["engine"]
    assert [(one["code"], one["refs"][0]["id"]) for one in engine["signals"]] == [
        ("BM4_HYPOTHESIS_NO_TEST", "CARD-H2"),
        ("BM4_HYPOTHESIS_NO_TEST", "CARD-H3"),
        ("BM4_HYPOTHESIS_NO_TEST", "CARD-H4"),
        ("BM_LANE_DECISION_NOT_PUBLISHED", "CARD-D1"),
        ("BM4_HYPOTHESIS_NO_EVIDENCE", "CARD-H1"),
        ("BM10_NO_COUNTER_EDGES", "CARD-H1"),
    ], "by severity, then the newest, then by name"
    assert [(one["kind"], one["refs"][0]["id"]) for one in engine["actions"]] == [
        ("add_test_stub", "CARD-H2"),
        ("add_test_stub", "CARD-H3"),
        ("add_test_stub", "CARD-H4"),
        ("publish_decision", "CARD-D1"),
        ("add_counter_hypothesis", "CARD-H1"),
        ("run_test", "CARD-H1"),
    ]
    ranks = [["high", "medium", "low"].index(one["priority"]) for one in engine["actions"]]
    assert ranks == sorted(ranks)


@pytest.mark.proves("MEM-288")
def test_every_code_of_the_table_is_in_the_manual() -> None:
    from tests.walks import ROOT

    page = (ROOT / "docs" / "thinking.md").read_text(encoding="utf-8")
    folder = ROOT / "src" / "longhouse" / "thinking" / "engine"
    told = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    codes = set(re.findall(r'"(BM\d*_\w+)"', told))
    assert codes >= CODES, "codes never change; new ones may be added"
    assert {code for code in codes if f"`{code}`" in page} == codes


@pytest.mark.proves("MEM-288")
def test_every_rule_that_is_written_is_run() -> None:
    from longhouse.thinking.engine import claims, proofs
    from longhouse.thinking.engine.rules import RULES

    written = {
        name
        for module in (claims, proofs)
        for name, found in vars(module).items()
        if inspect.isgeneratorfunction(found) and not name.startswith("_")
    }
    assert sorted(rule.__name__ for rule in RULES) == sorted(written)
