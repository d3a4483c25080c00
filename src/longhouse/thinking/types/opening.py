"""What `open` shows of a card, and the request and result of `think.blast`."""

from __future__ import annotations

from typing import Any, Literal

from longhouse.kernel.values import Request, Result, Value
from longhouse.thinking.types.cards import Card, CardId

__all__ = [
    "Blast",
    "BlastShown",
    "CardBody",
    "CardEdges",
    "CardHead",
    "CardOpened",
    "Resting",
]


class CardHead(Value, frozen=True, kw_only=True):
    seq: int
    ts: str
    ts_ms: int
    branch: str
    doc: str


class CardBody(Value, frozen=True, kw_only=True):
    id: str
    type: str
    title: str | None = None
    text: str | None = None
    status: str
    tags: list[str]
    meta: dict[str, Any]


class CardEdges(Value, frozen=True, kw_only=True):
    """What the card supports and blocks, and what supports and blocks it."""

    supports: list[str]
    blocks: list[str]
    supported_by: list[str] = []
    blocked_by: list[str] = []


class CardOpened(Result, frozen=True, kw_only=True):
    kind: Literal["card"]
    id: str
    head: CardHead
    card: CardBody
    edges: CardEdges


class Blast(Request["BlastShown"], frozen=True, kw_only=True):
    """Show what depends on a card."""

    card: CardId


class Resting(Value, frozen=True, kw_only=True):
    ref: str
    kind: str
    title: str | None = None
    status: str | None = None
    via: str


class BlastShown(Result, frozen=True, kw_only=True):
    card: Card
    rests: list[Resting]
    counts: dict[str, int]
    has_more_rests: bool
