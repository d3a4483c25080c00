"""Runs the rules over a slice, ranks the findings, and cuts them to the view's limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longhouse.memory.types.documents import Entry
from longhouse.memory.types.graph import Edge
from longhouse.store.tx import Tx
from longhouse.thinking.engine.findings import Finding, Todo
from longhouse.thinking.engine.offers import Offers
from longhouse.thinking.engine.rules import RULES
from longhouse.thinking.engine.slice import CardSlice
from longhouse.thinking.places import Place
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.engine import Engine, EngineAction, EngineRef, Signal

__all__ = ["VERSION", "reason"]

VERSION = "v0.5"
_SEVERITY = {"critical": 4, "high": 3, "warning": 2, "info": 1}
_PRIORITY = {"high": 3, "medium": 2, "low": 1}


def reason(
    tx: Tx,
    place: Place,
    cards: Sequence[Card],
    edges: Iterable[Edge],
    trace: Sequence[Entry] = (),
    *,
    signals_limit: int,
    actions_limit: int,
) -> Engine | None:
    """The signals and actions for a slice; None if both limits are 0 or there are none."""
    if not signals_limit and not actions_limit:
        return None
    at, offers = CardSlice(cards, edges, trace), Offers(tx, place)
    findings = [finding for rule in RULES for finding in rule(at, offers)]
    signals = _ranked_signals(findings)
    todos = _ranked_todos(findings)
    if not signals and not todos:
        return None
    shown = [_action(offers, todo, finding.cards) for todo, finding in todos[:actions_limit]]
    return Engine(
        version=VERSION,
        mode="step_aware" if place.step else None,
        step_tag=place.step.tag if place.step else None,
        signals=signals[:signals_limit],
        actions=shown,
        signals_total=len(signals),
        actions_total=len(todos),
        truncated=len(signals) > signals_limit or len(todos) > actions_limit,
    )


def _ranked_signals(findings: list[Finding]) -> list[Signal]:
    found = [(finding.signal, finding.ts_ms) for finding in findings if finding.signal]
    found.sort(key=lambda one: (-_SEVERITY[one[0].severity], -one[1], one[0].code, one[0].message))
    return [signal for signal, _ in found]


def _ranked_todos(findings: list[Finding]) -> list[tuple[Todo, Finding]]:
    unique: dict[tuple[str, ...], tuple[Todo, Finding]] = {}
    for finding in findings:
        about = (card.id for card in finding.cards)
        for todo in finding.todos:
            unique.setdefault((todo.kind, todo.title, *about), (todo, finding))
    return sorted(
        unique.values(),
        key=lambda one: (-_PRIORITY[one[0].priority], -one[1].ts_ms, one[0].kind, one[0].title),
    )


def _action(offers: Offers, todo: Todo, cards: list[Card]) -> EngineAction:
    return EngineAction(
        kind=todo.kind,
        priority=todo.priority,
        title=todo.title,
        why=todo.why,
        refs=[EngineRef(kind=card.type, id=card.id) for card in cards],
        calls=offers.calls(todo.calls, todo.priority),
    )
