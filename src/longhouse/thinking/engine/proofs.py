"""Rules about evidence: weak evidence, low confidence, tests to run, no evidence at all."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.values import Request
from longhouse.thinking.engine.findings import DAY_MS, Finding, Todo, own_id, told
from longhouse.thinking.engine.offers import Offers, template_of
from longhouse.thinking.engine.slice import CardSlice, command_of, is_template
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.engine import EngineRef, Signal

__all__ = ["runnable", "stuck", "unsure", "weak"]

WEAK_EVIDENCE = 60
LOW_DECISION = 0.55
LOW_HYPOTHESIS = 0.45
STALE_DAYS, MOST_STALE_DAYS = 30, 3650
STUCK_WINDOW, STUCK_CARDS = 12, 6


def weak(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """Evidence that scores below 60 of 100 and is pinned or supports a pinned decision."""
    found = []
    for card in at.active("evidence"):
        about = at.spoken_about(card)
        matters = at.pinned(card) or any(one.type == "decision" and at.pinned(one) for one in about)
        if matters and not is_template(card) and at.score(card) < WEAK_EVIDENCE:
            found.append(card)
    found.sort(key=lambda card: (at.score(card), card.id))
    for card in found[:2]:
        better = offers.card(
            own_id("BM2", card),
            template_of(card),
            supports=[one.id for one in at.spoken_about(card) if one.type != "decision"]
            or [one.id for one in at.spoken_about(card)],
        )
        yield told(
            "BM2_EVIDENCE_WEAK",
            "warning",
            f"evidence {card.id} scores {at.score(card)} of 100: {card.label}",
            [card],
            Todo(
                "replace_evidence",
                "medium",
                f"Replace {card.label} with evidence that has a command and a link",
                "it is relied on, but no one can check it",
                [
                    (better, "write the new evidence; fill it in"),
                    (offers.status(card, "superseded"), "then supersede the weak evidence"),
                ],
            ),
        )


def unsure(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """The least confident pinned decision, at 0.55 or less; else a hypothesis at 0.45 or less."""
    pinned = [card for card in at.active("decision") if at.pinned(card)]
    if pinned:
        least = min(pinned, key=lambda card: (at.confidence(card), card.id))
        if at.confidence(least) > LOW_DECISION:
            return
        made = offers.card(
            own_id("BM3", least, len(at.supporters(least, "evidence"))),
            template_of(least),
            ["bm3"],
            supports=[least.id],
        )
        yield told(
            "BM3_DECISION_LOW_CONFIDENCE",
            "warning",
            f"decision {least.id} has confidence {at.confidence(least):.2f}: {least.label}",
            [least],
            Todo(
                "use_playbook",
                "medium",
                f"Test {least.label} with one experiment",
                "it is pinned but has little support",
                [
                    (offers.playbook("experiment"), "how to plan one decisive experiment"),
                    (made, "record the result; fill it in"),
                ],
            ),
        )
        return
    opened = [card for card in at.active("hypothesis") if card.status == "open"]
    if not opened:
        return
    least = min(opened, key=lambda card: (at.confidence(card), card.id))
    if at.confidence(least) <= LOW_HYPOTHESIS:
        yield told(
            "BM3_HYPOTHESIS_LOW_CONFIDENCE",
            "info",
            f"hypothesis {least.id} has confidence {at.confidence(least):.2f}: {least.label}",
            [least],
            Todo(
                "reject_hypothesis",
                "low",
                f"Reject {least.label}",
                "there is more against it than for it",
                [(offers.status(least, "rejected"), "it no longer supports anything")],
            ),
        )


def _stale_after_ms(card: Card) -> int:
    meta = card.meta or {}
    run = meta.get("run")
    for holder in (run if isinstance(run, dict) else {}, meta):
        ms, days = holder.get("stale_after_ms"), holder.get("stale_after_days")
        if type(ms) is int and ms >= 0:
            return ms
        if type(days) is int and 0 <= days <= MOST_STALE_DAYS:
            return days * DAY_MS
    return STALE_DAYS * DAY_MS


def runnable(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """Open tests with a command: which to run first, or that all have fresh evidence."""
    tests = [
        card for card in at.active("test") if card.status == "open" and command_of(card) is not None
    ]
    if not tests:
        return

    def seen(card: Card) -> list[Card]:
        return [
            one
            for one in (*at.supporters(card, "evidence"), *at.opponents(card))
            if one.type == "evidence"
        ]

    def rank(card: Card) -> int:
        """0 for no evidence, 1 for stale evidence, 2 for fresh evidence."""
        if not seen(card):
            return 0
        latest = max(one.last_ts_ms for one in seen(card))
        return 1 if at.now_ms > latest + _stale_after_ms(card) else 2

    first = min(tests, key=lambda card: (rank(card), -card.last_ts_ms, card.id))
    if rank(first) == 2:
        yield told(
            "BM5_RUNNABLE_TESTS_FRESH",
            "info",
            f"all {len(tests)} runnable tests have fresh evidence",
            tests[:4],
            Todo(
                "close_tests",
                "low",
                "Close the tests that have been run",
                "nothing is left to run",
                [(offers.status(card, "done"), "it has evidence") for card in tests],
            ),
        )
        return
    cmd = command_of(first)
    made = offers.card(
        own_id("BM5", first, len(seen(first))),
        template_of(first, cmd=cmd),
        ["bm5"],
        supports=[first.id],
    )
    todo = Todo(
        "run_test",
        "high" if rank(first) == 0 else "medium",
        f"Run {first.label}",
        f"run it yourself: {cmd}",
        [(made, "then record the result; fill it in")],
    )
    if rank(first) == 1:
        yield told(
            "BM8_EVIDENCE_STALE",
            "warning",
            f"the evidence for test {first.id} is too old: {first.label}",
            [first],
            todo,
        )
    else:
        yield Finding(None, [todo], [first], first.last_ts_ms)


def stuck(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """At least 6 of the last 12 trace entries are cards; none is evidence or a decision."""
    last = at.trace[-STUCK_WINDOW:]
    cards = [entry for entry in last if entry.format == "think_card"]
    shown = [
        entry
        for entry in last
        if (entry.meta or {}).get("type") in ("evidence", "decision", "evidence_captured")
        and "<fill" not in f"{entry.title} {entry.content}".lower()
    ]
    if len(cards) < STUCK_CARDS or shown:
        return
    opened = [card for card in at.judged() if card.type in ("test", "hypothesis", "question")]
    about = opened[:1] or at.judged()[:1]
    calls: list[tuple[Request, str]] = [(offers.playbook("debug"), "find where it goes wrong")]
    if about:
        made = offers.card(
            own_id("BM10", about[0], last[-1].seq),
            template_of(about[0]),
            supports=[about[0].id],
        )
        calls.append((made, "record one observation; fill it in"))
    todo = Todo(
        "use_playbook",
        "medium",
        "Observe something before thinking further",
        f"{len(cards)} recent cards and no observation",
        calls,
    )
    back = Todo(
        "use_playbook",
        "low",
        "Start over from the other end",
        "for when a closer look does not help",
        [(offers.playbook("breakthrough"), "invert, drop assumptions, look for a lever")],
    )
    refs = [EngineRef(kind=card.type, id=card.id) for card in about]
    signal = Signal(
        code="BM10_STUCK_NO_EVIDENCE",
        severity="warning",
        message=f"{len(cards)} of the last {len(last)} trace entries are cards; none is evidence",
        refs=refs,
    )
    yield Finding(signal, [todo, back], about, last[-1].ts_ms)
