"""Whether the claim about a step was tested and challenged; the desk's strict gate asks for it.

It reads only the cards of the step and requires a claim (an active hypothesis or decision), a test
of each hypothesis, and a counterargument to the best-supported claim. Unfilled templates do not
count.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.kernel.errors import Suggestion
from longhouse.memory import view_of
from longhouse.store.tx import Tx
from longhouse.thinking.engine.claims import unopposed, untested
from longhouse.thinking.engine.findings import Finding
from longhouse.thinking.engine.offers import Offers
from longhouse.thinking.engine.slice import CardSlice, is_template
from longhouse.thinking.places import place_of
from longhouse.thinking.selecting import Looker, edges_of
from longhouse.thinking.types.cards import ShowPlaybook
from longhouse.thinking.types.reads import ShowContext

__all__ = ["MissingPart", "StepArgument", "argument_of_step"]

MOST_CARDS = 200
MOST_SKELETONS = 2
BLOCKING = ("BM4_HYPOTHESIS_NO_TEST", "BM10_NO_COUNTER_EDGES")


class MissingPart(NamedTuple):
    """What an argument lacks; `refs` are the cards it is about."""

    code: str
    message: str
    refs: list[str]


class StepArgument(NamedTuple):
    """How many cards argue about a step, what is missing, and the calls that add it."""

    cards: int
    missing: list[MissingPart]
    help: list[Suggestion]


def argument_of_step(tx: Tx, task: str, step: str) -> StepArgument:
    """The claim, tests and counterarguments on a step's cards, and what they lack."""
    place = place_of(tx, ShowContext(target=task, step=step))
    graph = view_of(tx, place.branch, place.graph_doc)
    found = Looker(tx, graph, place, drafts=True).page(MOST_CARDS)
    cards = [card for card in found if not is_template(card)]
    at, offers = CardSlice(cards, edges_of(tx, graph, cards)), Offers(tx, place)
    findings = [
        finding
        for rule in (untested, unopposed)
        for finding in rule(at, offers)
        if finding.signal is not None and finding.signal.code in BLOCKING
    ]
    missing = [_missing(finding) for finding in findings]
    claimed = bool(at.active("hypothesis") or at.active("decision"))
    if not claimed:
        missing.insert(0, MissingPart("NO_CLAIM", "no claim is written down", []))
    offered = _help(offers, findings, None if claimed else step) if missing else []
    return StepArgument(len(cards), missing, offered)


def _missing(finding: Finding) -> MissingPart:
    assert finding.signal is not None
    refs = [card.id for card in finding.cards]
    return MissingPart(finding.signal.code, finding.signal.message, refs)


def _help(offers: Offers, findings: list[Finding], unclaimed: str | None) -> list[Suggestion]:
    """At most two cards to fill in, and the playbook."""
    skeletons = [
        Suggestion(todo.calls[-1][0], todo.calls[-1][1])
        for finding in findings
        for todo in finding.todos
    ]
    if unclaimed is not None:
        claim = {
            "type": "hypothesis",
            "title": "<fill: what you claim about this step>",
            "text": "<fill: why you believe it, and what would disprove it>",
        }
        made = offers.card(f"CARD-CLAIM-{unclaimed}", claim)
        skeletons.insert(0, Suggestion(made, "write down your claim; fill it in"))
    how = ShowPlaybook(name="strict")
    return [
        *skeletons[:MOST_SKELETONS],
        Suggestion(how, "how to argue a strict step", priority="medium"),
    ]
