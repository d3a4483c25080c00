"""The engine's rules: each code when its condition is met, just missed, and cleared."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from longhouse.house import House
from longhouse.memory.types.graph import Edge
from longhouse.thinking.engine.slice import CardSlice
from longhouse.thinking.types.cards import Card
from tests.contracts.world import fingerprint
from tests.kit import Lh, ManualClock
from tests.thinking.kit import actions, card, fill_in, run_action, run_call, signals, task

DAY_MS = 86_400_000
CODES = {
    "BM1_CONTRADICTION_SUPPORTS_BLOCKS",
    "BM2_EVIDENCE_WEAK",
    "BM3_DECISION_LOW_CONFIDENCE",
    "BM3_HYPOTHESIS_LOW_CONFIDENCE",
    "BM4_HYPOTHESIS_NO_TEST",
    "BM4_HYPOTHESIS_NO_EVIDENCE",
    "BM5_RUNNABLE_TESTS_FRESH",
    "BM6_ASSUMPTION_NOT_OPEN_BUT_USED",
    "BM8_EVIDENCE_STALE",
    "BM10_STUCK_NO_EVIDENCE",
    "BM10_NO_COUNTER_EDGES",
    "BM_LANE_DECISION_NOT_PUBLISHED",
}
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
STRONG = "CMD: make bench\nLINK: https://ci.example/1"


def clear(lh: Lh, code: str, kind: str, **args: Any) -> None:
    """Run the action of a signal as given; the signal must disappear."""
    assert code in signals(lh, **args)
    action = next(one for one in actions(lh, **args) if one["kind"] == kind and one["calls"])
    run_action(lh, action)
    assert code not in signals(lh, **args)


def books(lh: Lh, kind: str) -> list[str]:
    """The playbooks that actions of a kind suggest, in order."""
    calls = [call["args"] for one in actions(lh) if one["kind"] == kind for call in one["calls"]]
    return [call["args"]["name"] for call in calls if "playbook" in str(call)]


def evidence(lh: Lh, card_id: str, **more: Any) -> None:
    card(lh, card_id, "evidence", text=more.pop("text", STRONG), **more)


@pytest.mark.proves("MEM-287", "MEM-290")
def test_a_hypothesis_without_a_test(lh: Lh) -> None:
    code = "BM4_HYPOTHESIS_NO_TEST"
    card(lh, "CARD-H0", "hypothesis", status="closed")
    assert code not in signals(lh)
    card(lh, "CARD-H1", "hypothesis", status="accepted")
    assert signals(lh)[code]["severity"] == "high"
    assert [ref["id"] for ref in signals(lh)[code]["refs"]] == ["CARD-H1"]
    clear(lh, code, "add_test_stub")


@pytest.mark.proves("MEM-287", "MEM-290")
def test_a_hypothesis_with_a_test_that_nobody_ran(lh: Lh) -> None:
    code = "BM4_HYPOTHESIS_NO_EVIDENCE"
    card(lh, "CARD-H1", "hypothesis")
    assert code not in signals(lh)
    card(lh, "CARD-T1", "test", supports=["CARD-H1"])
    (action,) = [one for one in actions(lh) if one["kind"] == "run_test"]
    call = action["calls"][-1]
    made = run_call(lh, call)["card_id"]
    assert code in signals(lh), "an unfilled template is not evidence"
    fill_in(lh, made, call["args"]["args"])
    assert code not in signals(lh)


@pytest.mark.proves("MEM-260", "MEM-287", "MEM-290")
def test_a_card_that_is_supported_and_blocked(lh: Lh) -> None:
    code = "BM1_CONTRADICTION_SUPPORTS_BLOCKS"
    card(lh, "CARD-H1", "hypothesis")
    evidence(lh, "CARD-E1", supports=["CARD-H1"])
    assert code not in signals(lh)
    card(lh, "CARD-C1", "hypothesis", tags=["counter"], blocks=["CARD-H1"])
    assert code not in signals(lh), "a counter-position without evidence does not contradict"
    evidence(lh, "CARD-E2", blocks=["CARD-H1"], text="no receipt")
    assert signals(lh)[code]["severity"] == "high"
    lh("think.set.status", status="accepted", targets=["CARD-H1"])
    assert code not in signals(lh), "only what is open is contradicted"
    lh("think.set.status", status="open", targets=["CARD-H1"])
    assert books(lh, "resolve_contradiction") == ["contradiction"]
    clear(lh, code, "resolve_contradiction")
    assert lh("open", id="CARD-E2")["card"]["status"] == "rejected"


def test_a_backed_counter_position_is_a_contradiction(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis")
    evidence(lh, "CARD-E1", supports=["CARD-H1"])
    card(lh, "CARD-C1", "hypothesis", tags=["counter"], blocks=["CARD-H1"])
    evidence(lh, "CARD-E2", supports=["CARD-C1"])
    assert "BM1_CONTRADICTION_SUPPORTS_BLOCKS" in signals(lh)


@pytest.mark.proves("MEM-287", "MEM-290")
@pytest.mark.parametrize(
    "text, tags, weak",
    [
        ("nothing to check", [], True),
        ("CMD: make bench", ["local"], True),
        (STRONG, [], False),
        ("CMD: <fill: what you ran>\nLINK: https://x", ["ci"], False),
    ],
)
def test_weak_evidence_that_is_pinned(lh: Lh, text: str, tags: list[str], weak: bool) -> None:
    """60 is enough: 25 for a command, 25 for a link, 10 for being about a hypothesis."""
    code = "BM2_EVIDENCE_WEAK"
    card(lh, "CARD-H1", "hypothesis")
    evidence(lh, "CARD-E1", text=text, tags=tags, supports=["CARD-H1"])
    assert code not in signals(lh), "nothing depends on it"
    lh("think.pin", targets=["CARD-E1"])
    assert (code in signals(lh)) is weak
    if weak:
        clear(lh, code, "replace_evidence")


def test_weak_evidence_under_a_pinned_decision(lh: Lh) -> None:
    code = "BM2_EVIDENCE_WEAK"
    evidence(lh, "CARD-E1", text="I think so")
    card(lh, "CARD-D1", "decision", supports=["CARD-E1"], status="accepted")
    assert code not in signals(lh)
    lh("think.pin", targets=["CARD-D1"])
    clear(lh, code, "replace_evidence")


@pytest.mark.proves("MEM-260", "MEM-287", "MEM-290")
def test_a_pinned_decision_that_little_speaks_for(lh: Lh) -> None:
    code = "BM3_DECISION_LOW_CONFIDENCE"
    card(lh, "CARD-D1", "decision", status="accepted")
    assert code not in signals(lh)
    lh("think.pin", targets=["CARD-D1"])
    assert books(lh, "use_playbook") == ["experiment"]
    clear(lh, code, "use_playbook")


@pytest.mark.proves("MEM-287", "MEM-290")
def test_a_hypothesis_that_more_speaks_against(lh: Lh) -> None:
    """With 0.3 of evidence against it: 1 / (1 + 2.2) = 0.31; with nothing: 0.5."""
    code = "BM3_HYPOTHESIS_LOW_CONFIDENCE"
    card(lh, "CARD-H1", "hypothesis")
    assert code not in signals(lh)
    evidence(lh, "CARD-E1", text="CMD: make bench", blocks=["CARD-H1"])
    assert signals(lh)[code]["severity"] == "info"
    card(lh, "CARD-D1", "decision", tags=["pinned"])
    assert code not in signals(lh), "decisions that are pinned come first"
    lh("think.pin", targets=["CARD-D1"], pinned=False)
    clear(lh, code, "reject_hypothesis")


@pytest.mark.proves("MEM-291", "MEM-287")
@pytest.mark.parametrize(
    "how",
    [
        {"meta": {"run": {"cmd": "make"}, "cmd": "second"}, "text": "CMD: third"},
        {"meta": {"cmd": "make"}, "text": "CMD: second"},
        {"text": "Not this CMD: second\nCMD: make"},
    ],
)
def test_tests_that_were_all_run(lh: Lh, how: dict[str, Any]) -> None:
    code = "BM5_RUNNABLE_TESTS_FRESH"
    card(lh, "CARD-T1", "test", title="T", **how)
    assert code not in signals(lh)
    (action,) = [one for one in actions(lh) if one["kind"] == "run_test"]
    assert (action["priority"], action["why"]) == ("high", "run it yourself: make")
    run_action(lh, action)
    clear(lh, code, "close_tests")


@pytest.mark.proves("MEM-287", "MEM-290")
@pytest.mark.parametrize(
    "how, days", [({}, 30), ({"stale_after_days": 2}, 2), ({"stale_after_ms": DAY_MS}, 1)]
)
def test_evidence_that_is_too_old(lh: Lh, how: dict[str, Any], days: int) -> None:
    code = "BM8_EVIDENCE_STALE"
    card(lh, "CARD-T1", "test", meta={"run": {"cmd": "make", **how}})
    evidence(lh, "CARD-E1", supports=["CARD-T1"])
    lh.clock.advance(days * DAY_MS)
    card(lh, "CARD-Q1", "question")
    assert code not in signals(lh), "to the millisecond"
    lh.clock.advance(1)
    card(lh, "CARD-Q2", "question")
    clear(lh, code, "run_test")


@pytest.mark.proves("MEM-287", "MEM-290")
def test_an_assumption_that_no_longer_holds_and_is_still_used(lh: Lh) -> None:
    code = "BM6_ASSUMPTION_NOT_OPEN_BUT_USED"
    card(lh, "CARD-H1", "hypothesis")
    card(lh, "CARD-A1", "hypothesis", tags=["assumption"], supports=["CARD-H1"])
    assert code not in signals(lh)
    lh("think.set.status", status="closed", targets=["CARD-A1"])
    clear(lh, code, "recheck_assumption")
    assert lh("open", id="CARD-A1")["card"]["status"] == "open"
    lh("think.set.status", status="refuted", targets=["CARD-A1"])
    clear(lh, code, "recheck_assumption")
    assert lh("open", id="CARD-A1")["edges"]["supports"] == []


@pytest.mark.proves("MEM-287", "MEM-290", "MEM-260")
def test_many_cards_and_nothing_seen(lh: Lh) -> None:
    code = "BM10_STUCK_NO_EVIDENCE"
    for number in range(5):
        card(lh, f"CARD-Q{number}", "question")
    assert code not in signals(lh)
    card(lh, "CARD-Q5", "question")
    assert books(lh, "use_playbook") == ["debug", "breakthrough"]
    clear(lh, code, "use_playbook")
    for number in range(12):
        card(lh, f"CARD-R{number}", "question")
    assert code in signals(lh), "the evidence lies more than 12 entries back"


@pytest.mark.proves("MEM-287", "MEM-290")
def test_support_without_opposition(lh: Lh) -> None:
    code = "BM10_NO_COUNTER_EDGES"
    card(lh, "CARD-H1", "hypothesis")
    assert code not in signals(lh)
    card(lh, "CARD-T1", "test", supports=["CARD-H1"])
    clear(lh, code, "add_counter_hypothesis")


@pytest.mark.proves("MEM-289")
def test_a_counter_position_needs_no_counter_position(lh: Lh) -> None:
    card(lh, "CARD-H1", "hypothesis", tags=["counter"])
    card(lh, "CARD-T1", "test", supports=["CARD-H1"])
    assert "BM10_NO_COUNTER_EDGES" not in signals(lh)
    card(lh, "CARD-H2", "hypothesis")
    card(lh, "CARD-T2", "test", supports=["CARD-H2"])
    (ref,) = signals(lh)["BM10_NO_COUNTER_EDGES"]["refs"]
    assert ref["id"] == "CARD-H2"


@pytest.mark.proves("MEM-294", "MEM-287", "MEM-290")
def test_a_draft_decision_that_nobody_published(lh: Lh) -> None:
    code = "BM_LANE_DECISION_NOT_PUBLISHED"
    card(lh, "CARD-D0", "decision")
    assert code not in signals(lh, include_drafts=True), "it is not a draft"
    card(lh, "CARD-D1", "decision", tags=["v:draft"])
    clear(lh, code, "publish_decision", include_drafts=True)
    card(lh, "CARD-D2", "decision", tags=["lane:agent:ann"])
    clear(lh, code, "publish_decision", include_drafts=True)
    assert lh("open", id="CARD-PUB-CARD-D1")["card"]["tags"] == [
        "lane:shared",
        "pinned",
        "v:canon",
    ]


def test_an_old_draft_decision_is_let_be(lh: Lh) -> None:
    code = "BM_LANE_DECISION_NOT_PUBLISHED"
    card(lh, "CARD-D1", "decision", tags=["lane:agent:ann"])
    lh.clock.advance(14 * DAY_MS)
    card(lh, "CARD-Q1", "question")
    assert code in signals(lh, view="audit")
    lh.clock.advance(1)
    card(lh, "CARD-Q2", "question")
    assert code not in signals(lh, view="audit")


@pytest.mark.proves("MEM-260")
def test_a_tradeoff_is_offered_a_matrix(lh: Lh) -> None:
    card(lh, "CARD-Q1", "question", title="SQLite vs PostgreSQL")
    (action,) = [one for one in actions(lh) if one["kind"] == "use_playbook"]
    assert run_call(lh, action["calls"][-1])["name"] == "criteria_matrix"


def test_a_pipeline_with_evidence_grounds_its_decision(lh: Lh) -> None:
    made = lh(
        "think.reasoning.pipeline",
        hypothesis="H",
        test="T",
        evidence=STRONG,
        decision="D",
        status={"decision": "accepted"},
    )
    decision = made["cards"][-1]["card_id"]
    lh("think.pin", targets=[decision])
    assert not signals(lh).keys() & {"BM2_EVIDENCE_WEAK", "BM3_DECISION_LOW_CONFIDENCE"}
    before = signals(lh, include_drafts=True).keys()
    lh("think.publish", card_id=decision, pin=True)
    assert signals(lh, include_drafts=True).keys() <= before, "publishing adds no signal"
    lh("think.set.status", status="refuted", targets=[made["cards"][-2]["card_id"]])
    assert "BM3_DECISION_LOW_CONFIDENCE" in signals(lh), "a refuted card supports nothing"


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
