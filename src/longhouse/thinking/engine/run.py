"""Runs the rules over a slice, ranks the findings, and cuts them to the view's limits.

What a budget leaves of a slice is judged again: a finding stays only if the cards that are left
show it too, so a cut answer never speaks of a card that it lost, and never says anything new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

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

__all__ = ["VERSION", "Reasoning"]

VERSION = "v0.5"
_SEVERITY = {"critical": 4, "high": 3, "warning": 2, "info": 1}
_PRIORITY = {"high": 3, "medium": 2, "low": 1}


class Reasoning:
    """What the engine says about a slice, and about what a cut leaves of it."""

    def __init__(
        self,
        tx: Tx,
        place: Place,
        cards: Sequence[Card],
        edges: Iterable[Edge],
        trace: Sequence[Entry] = (),
        *,
        signals_limit: int,
        actions_limit: int,
    ) -> None:
        self.cards = cards
        self._tx = tx
        self._place = place
        self._edges = list(edges)
        self._trace = trace
        self._limits = signals_limit, actions_limit
        off = not signals_limit and not actions_limit
        self._signals, self._todos = ([], []) if off else self._found(cards, trace)
        self.engine = self._engine(self._signals, self._todos)

    def left(self, ids: Collection[str], seqs: Collection[int]) -> tuple[list[Card], Engine | None]:
        """The cards with these ids, and what the engine says if only these and entries are left."""
        cards = [card for card in self.cards if card.id in ids]
        trace = [entry for entry in self._trace if entry.seq in seqs]
        signals, todos = self._found(cards, trace)
        known = [(_same(one), one[0]) for one in self._todos]
        return cards, self._engine(
            [one for one in signals if one in self._signals],
            [one for one in todos if (_same(one), one[0]) in known],
        )

    def _found(
        self, cards: Sequence[Card], trace: Sequence[Entry]
    ) -> tuple[list[Signal], list[tuple[Todo, Finding]]]:
        at, offers = CardSlice(cards, self._edges, trace), Offers(self._tx, self._place)
        findings = [finding for rule in RULES for finding in rule(at, offers)]
        return _ranked_signals(findings), _ranked_todos(findings)

    def _engine(self, signals: list[Signal], todos: list[tuple[Todo, Finding]]) -> Engine | None:
        """None if both limits are 0 or there is nothing to say."""
        if not signals and not todos:
            return None
        place, offers = self._place, Offers(self._tx, self._place)
        signals_limit, actions_limit = self._limits
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


def _same(one: tuple[Todo, Finding]) -> tuple[str, ...]:
    todo, finding = one
    return (todo.kind, todo.title, *(card.id for card in finding.cards))


def _ranked_signals(findings: list[Finding]) -> list[Signal]:
    found = [(finding.signal, finding.ts_ms) for finding in findings if finding.signal]
    found.sort(key=lambda one: (-_SEVERITY[one[0].severity], -one[1], one[0].code, one[0].message))
    return [signal for signal, _ in found]


def _ranked_todos(findings: list[Finding]) -> list[tuple[Todo, Finding]]:
    unique: dict[tuple[str, ...], tuple[Todo, Finding]] = {}
    for finding in findings:
        for todo in finding.todos:
            unique.setdefault(_same((todo, finding)), (todo, finding))
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
