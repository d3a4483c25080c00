"""Rules about claims: untested, contradicted, unopposed, outdated or unpublished ones."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.values import Request
from longhouse.thinking.engine.findings import DAY_MS, Finding, Todo, own_id, told
from longhouse.thinking.engine.offers import Offers, template_of
from longhouse.thinking.engine.slice import CardSlice, command_of
from longhouse.thinking.vocabulary import DEAD, PINNED, has_draft_marker, is_active

__all__ = ["contradicted", "shaken", "tradeoff", "unopposed", "unpublished", "untested"]

DRAFT_DAYS = 14
_TRADEOFF = (" vs ", " vs. ", " versus ", "tradeoff", "trade-off", "a/b")


def unpublished(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """A draft decision, pinned or recent, without a published copy."""
    found = []
    for card in at.active("decision"):
        recent = card.last_ts_ms >= at.now_ms - DRAFT_DAYS * DAY_MS
        if card.id.startswith("CARD-PUB-") or not has_draft_marker(card.tags):
            continue
        if (recent or PINNED in card.tags) and f"CARD-PUB-{card.id}" not in at.cards:
            found.append(card)
    for card in found[:8]:
        todo = Todo(
            "publish_decision",
            "medium",
            f"Publish {card.label}",
            "a draft decision is hidden by default",
            [(offers.publish(card), "publish a copy that everyone sees, and pin it")],
        )
        yield told(
            "BM_LANE_DECISION_NOT_PUBLISHED",
            "warning",
            f"decision {card.id} is a draft and has no published copy: {card.label}",
            [card],
            todo,
        )


def untested(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """An active hypothesis without a test, or with tests but no evidence."""
    for card in at.active("hypothesis")[:12]:
        tests = at.supporters(card, "test")
        if not tests:
            stub = {
                "type": "test",
                "title": f"Test: {card.label}",
                "text": f"<fill: the smallest test that would disprove {card.id}>",
            }
            made = offers.card(own_id("BM4", card), stub, ["bm4"], supports=[card.id])
            yield told(
                "BM4_HYPOTHESIS_NO_TEST",
                "high",
                f"hypothesis {card.id} has no test: {card.label}",
                [card],
                Todo(
                    "add_test_stub",
                    "high",
                    f"Add a test for {card.label}",
                    "an untested hypothesis cannot be relied on",
                    [(made, "write down the smallest test; put its command in meta.run.cmd")],
                ),
            )
        elif not at.evidence_for(card):
            test = max(tests, key=lambda one: (one.last_seq, one.id))
            made = offers.card(
                own_id("BM4E", test), template_of(test, cmd=command_of(test)), supports=[test.id]
            )
            yield told(
                "BM4_HYPOTHESIS_NO_EVIDENCE",
                "warning",
                f"hypothesis {card.id} has a test but no evidence: {card.label}",
                [card, test],
                Todo(
                    "run_test",
                    "medium",
                    f"Run {test.label} and record the result",
                    "a test that has not run proves nothing",
                    [(made, "record the evidence; fill in the result")],
                ),
            )


def contradicted(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """An open card with both support and opposition.

    A counter-position without evidence is not a contradiction yet.
    """
    found = []
    for card in at.judged():
        if card.status != "open" or card.type not in ("hypothesis", "test", "decision"):
            continue
        on = at.supporters(card)
        against = [one for one in at.opponents(card) if "counter" not in one.tags or at.backed(one)]
        if on and against:
            found.append((card, on, against))
    for card, on, against in found[:10]:
        question = {
            "type": "question",
            "title": f"What decides {card.label}?",
            "text": f"{card.id} is supported by {on[0].id} and blocked by {against[0].id}. "
            "Which single test would decide between them?",
        }
        weight = {one.id: at.confidence(one) for side in (on, against) for one in side}
        strongest = [max(weight[one.id] for one in side) for side in (on, against)]
        loser = on if strongest[0] < strongest[1] else against
        weakest = min(loser, key=lambda one: (weight[one.id], one.id))
        calls: list[tuple[Request, str]] = [
            (offers.playbook("contradiction"), "how to find the decisive test"),
            (
                offers.card(own_id("BM1", card), question, ["bm1", "contradiction"]),
                "ask what would decide it",
            ),
            *(
                (offers.status(one, "rejected"), "after the test: reject the losing side")
                for one in sorted(loser, key=lambda one: (one.id == weakest.id, one.id))
            ),
        ]
        yield told(
            "BM1_CONTRADICTION_SUPPORTS_BLOCKS",
            "high",
            f"{card.type} {card.id} is both supported and blocked: {card.label}",
            [card, *on[:2], *against[:2]],
            Todo(
                "resolve_contradiction",
                "high",
                f"Resolve the contradiction about {card.label}",
                "both cannot be true; one decisive test shows which is",
                calls,
            ),
        )


def shaken(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """An assumption that is no longer open but still supports a pinned or open card."""
    for card in at.judged():
        if "assumption" not in card.tags or card.status == "open":
            continue
        used = [
            one
            for one in at.spoken_about(card)
            if (card.id, one.id) in at.used
            and one.type in ("decision", "hypothesis")
            and is_active(one.status)
            and (at.pinned(one) or one.status == "open")
        ]
        if not used:
            continue
        update = {
            "type": "update",
            "title": f"Recheck: {card.label}",
            "text": f"{card.id} is {card.status}. Cards that rest on it: "
            + ", ".join(one.id for one in used),
        }
        calls: list[tuple[Request, str]] = [
            (offers.card(own_id("BM6", card), update, ["bm6", "assumption"]), "record what changed")
        ]
        if card.status in DEAD:
            calls += [
                (offers.unlink(card, "supports", one), f"{one.id} no longer rests on it")
                for one in used
            ]
        else:
            calls.append((offers.status(card, "open"), "reopen it until it is rechecked"))
        yield told(
            "BM6_ASSUMPTION_NOT_OPEN_BUT_USED",
            "warning",
            f"assumption {card.id} is {card.status} but still used by {used[0].id}: {card.label}",
            [card, *used[:3]],
            Todo(
                "recheck_assumption",
                "medium",
                f"Recheck {card.label}",
                "cards that rest on it may no longer be true",
                calls,
            ),
        )
        return


def tradeoff(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """An open question or decision between two options; gives an action without a signal."""
    for card in at.judged():
        said = f" {card.title or ''} {card.text or ''} ".lower()
        weighs = any(word in said for word in _TRADEOFF)
        if weighs and card.status == "open" and card.type in ("question", "decision"):
            todo = Todo(
                "use_playbook",
                "low",
                f"Compare by criteria: {card.label}",
                "it weighs one option against another",
                [(offers.playbook("criteria_matrix"), "criteria, weights, sensitivity")],
            )
            yield Finding(None, [todo], [card], card.last_ts_ms)
            return


def unopposed(at: CardSlice, offers: Offers) -> Iterator[Finding]:
    """An active hypothesis or decision with support and no opposition."""
    found = [
        card
        for card in at.judged()
        if card.type in ("hypothesis", "decision")
        and is_active(card.status)
        and "counter" not in card.tags
        and at.supporters(card)
        and not at.opponents(card)
    ]
    if not found:
        return
    card = min(found, key=lambda one: (-len(at.supporters(one)), -one.last_ts_ms, one.id))
    counter = {
        "type": "hypothesis",
        "title": f"Counter: {card.label}",
        "text": f"<fill: the strongest case against {card.id}, as its best opponent sees it>",
    }
    tags = ["bm7", "counter", *(tag for tag in card.tags if tag.startswith("a:"))]
    made = offers.card(own_id("BM7", card), counter, tags, blocks=[card.id])
    yield told(
        "BM10_NO_COUNTER_EDGES",
        "info",
        f"nothing argues against {card.type} {card.id}: {card.label}",
        [card],
        Todo(
            "add_counter_hypothesis",
            "medium",
            f"Argue against {card.label}",
            "it has only been supported, never challenged",
            [
                (offers.playbook("skeptic"), "how to argue against yourself"),
                (made, "write the counter-position as strongly as you can"),
            ],
        ),
    )
