"""What an engine rule finds: a signal, the cards it is about, and what clears it."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from longhouse.kernel.values import Request
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.engine import EngineRef, Priority, Severity, Signal

__all__ = ["DAY_MS", "Finding", "Todo", "own_id", "told"]

DAY_MS = 86_400_000
_LONG_ID = 120


class Todo(NamedTuple):
    """What to do, with calls in order; the last one clears the signal once it is filled in."""

    kind: str
    priority: Priority
    title: str
    why: str
    calls: list[tuple[Request, str]]


class Finding(NamedTuple):
    """A signal with its time and what clears it; some actions have no signal."""

    signal: Signal | None
    todos: list[Todo]
    cards: list[Card]
    ts_ms: int


def told(
    code: str,
    severity: Severity,
    message: str,
    cards: list[Card],
    *todos: Todo,
    ts_ms: int | None = None,
) -> Finding:
    refs = [EngineRef(kind=card.type, id=card.id) for card in cards]
    signal = Signal(code=code, severity=severity, message=message, refs=refs)
    return Finding(signal, list(todos), cards, cards[0].last_ts_ms if ts_ms is None else ts_ms)


def own_id(prefix: str, card: Card, number: int = 0) -> str:
    """The id of the card that a suggestion creates, so that running it twice creates one card."""
    name = card.id.removeprefix("CARD-")
    if len(name) > _LONG_ID:
        name = hashlib.sha256(name.encode()).hexdigest()[:16]
    made = f"CARD-{prefix}-{name}"
    return f"{made}-{number}" if number else made
