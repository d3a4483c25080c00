"""The strict gate: a step of a strict task closes only after its claim was tested and challenged.

It reads only the cards of the step and requires a claim (an active hypothesis or decision), a test
of each hypothesis, and a counterargument to the best-supported claim. If the engine finds nothing
missing, the gate is open. Unfilled templates do not count.
"""

from __future__ import annotations

from typing import Any, cast

from longhouse.desk.room import room
from longhouse.desk.types.closing import GateCode, GateMiss, GateShown, ShowGate
from longhouse.kernel.budget import Pop
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
from longhouse.work.lookup import step_of, task_of, tree_of

__all__ = ["show_gate"]

MOST_CARDS = 200
MOST_SKELETONS = 2
BLOCKING = ("BM4_HYPOTHESIS_NO_TEST", "BM10_NO_COUNTER_EDGES")


def _lines(result: dict[str, Any]) -> list[str]:
    state = "open" if result["passes"] else "shut"
    head = f"gate {state} {result['task']} {result['path']} mode={result['reasoning_mode']}"
    rows = [f"{one['code']} {one['message']}" for one in result.get("missing", ())]
    return [f"{head} | ref={result['step_id']}", *rows]


@room.command(
    "tasks.gate",
    also="tasks.strict tasks.step.gate tasks.reasoning.gate",
    example=ShowGate(task="TASK-001"),
    lines=_lines,
    trim=[Pop("missing", leave=1)],
)
def show_gate(tx: Tx, req: ShowGate) -> GateShown:
    """Check whether a step's claim was tested and challenged, as strict tasks require."""
    row = task_of(tx, req)
    task, mode = row["task_id"], row["reasoning_mode"]
    tree = tree_of(tx, task)
    step = step_of(tree, task, req)
    place = place_of(tx, ShowContext(target=task, step=step.step_id))
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
    missing = [_miss(finding) for finding in findings]
    if not (at.active("hypothesis") or at.active("decision")):
        missing.insert(0, GateMiss(code="NO_CLAIM", message="no claim is written down"))
    if missing:
        _help(tx, offers, findings, claims=missing[0].code != "NO_CLAIM", step=step.step_id)
    return GateShown(
        task=task,
        step_id=step.step_id,
        path=tree.paths[step.step_id],
        reasoning_mode=mode,
        passes=not missing,
        missing=missing,
        cards=len(cards),
    )


def _miss(finding: Finding) -> GateMiss:
    assert finding.signal is not None
    return GateMiss(
        code=cast(GateCode, finding.signal.code),
        message=finding.signal.message,
        refs=[card.id for card in finding.cards],
    )


def _help(tx: Tx, offers: Offers, findings: list[Finding], *, claims: bool, step: str) -> None:
    """Suggest at most two cards to fill in, and the playbook."""
    skeletons = [
        Suggestion(todo.calls[-1][0], todo.calls[-1][1])
        for finding in findings
        for todo in finding.todos
    ]
    if not claims:
        claim = {
            "type": "hypothesis",
            "title": "<fill: what you claim about this step>",
            "text": "<fill: why you believe it, and what would disprove it>",
        }
        made = offers.card(f"CARD-CLAIM-{step}", claim)
        skeletons.insert(0, Suggestion(made, "write down your claim; fill it in"))
    tx.suggestions.extend(skeletons[:MOST_SKELETONS])
    how = ShowPlaybook(name="strict")
    tx.suggestions.append(Suggestion(how, "how to argue a strict step", priority="medium"))
