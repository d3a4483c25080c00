"""The engine's rules: each code when its condition is met, just missed, and cleared."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.thinking.kit import actions, card, fill_in, run_action, run_call, signals

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
