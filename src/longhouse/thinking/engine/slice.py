"""The slice that the engine reads: cards, their support and their opposition.

`A supports B` means that B rests on A, with one exception: a decision that supports a card of
another type names its own grounds, as the stages of a pipeline do. Refuted cards and unfilled
templates support nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from longhouse.memory.types.documents import Entry
from longhouse.memory.types.graph import Edge
from longhouse.thinking.types.cards import Card
from longhouse.thinking.vocabulary import DEAD, PINNED, is_active

__all__ = ["CardSlice", "command_of", "grounds", "is_template", "score_of"]

_WEIGHTS = {"evidence": 4.0, "test": 1.5, "decision": 0.75, "hypothesis": 0.75}
_OTHER_WEIGHT = 0.25
_DEPTH = 3
_CI = frozenset({"ci", "github-actions", "buildkite", "jenkins"})
_LINK_KEYS = ("link", "url", "artifact")
_RECEIPT = re.compile(r"^[ \t>*+-]{0,16}(CMD|LINK)[ \t]{0,8}:(.*)$", re.MULTILINE | re.IGNORECASE)
_OURS = re.compile(r"CARD-BM[0-9]+E?-")
"""The ids of the cards that the engine offers (`own_id`)."""
_URL = re.compile(r"(?:https?|file)://\S+")


def is_template(card: Card) -> bool:
    """Whether a card is still an unfilled template: with blanks, or ours and without a text."""
    if not (card.text or "").strip() and _OURS.match(card.id):
        return True
    return any("<fill" in (text or "").lower() for text in (card.title, card.text))


def grounds(from_type: str, to_type: str) -> bool:
    """Whether a `supports` edge between these types names the grounds of its source."""
    return from_type == "decision" and to_type != "decision"


def _real(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "<fill" not in value.lower()


def _run(card: Card) -> dict[str, Any]:
    meta = card.meta or {}
    run = meta.get("run")
    return {**meta, **run} if isinstance(run, dict) else meta


def _receipts(card: Card, kind: str) -> list[str]:
    found = _RECEIPT.findall(card.text or "")
    return [body.strip() for tag, body in found if tag.upper() == kind and _real(body)]


def command_of(card: Card) -> str | None:
    """The command of a test: `meta.run.cmd`, else `meta.cmd`, else a line `CMD: …` of its text."""
    meta = card.meta or {}
    run = meta.get("run")
    for holder in (run if isinstance(run, dict) else {}, meta):
        if _real(holder.get("cmd")):
            return str(holder["cmd"]).strip()
    return next(iter(_receipts(card, "CMD")), None)


def _has_link(card: Card) -> bool:
    run = _run(card)
    cited = [ref for ref in run.get("refs") or () if isinstance(ref, str)]
    return (
        any(_real(run.get(key)) for key in _LINK_KEYS)
        or bool(_receipts(card, "LINK"))
        or _URL.search(card.text or "") is not None
        or any(not ref.startswith("CARD-") for ref in cited)
    )


def score_of(card: Card, linked: Iterable[str]) -> int:
    """The score of a piece of evidence, 0 to 100, given the types of the cards it is about."""
    types = set(linked)
    run = _run(card)
    sources = {*card.tags, str(run.get("env", "")).lower()}
    score = 25 * (command_of(card) is not None) + 25 * _has_link(card)
    score += 20 if sources & _CI else 10 if "local" in sources else 0
    score += 20 if "test" in types else 10 if types & {"hypothesis", "decision"} else 0
    return score


class CardSlice:
    """Cards by id, with their support and opposition."""

    def __init__(
        self, cards: Sequence[Card], edges: Iterable[Edge], trace: Sequence[Entry] = ()
    ) -> None:
        self.cards = {card.id: card for card in cards}
        self.trace = trace
        self.copies = {
            card.id: source
            for card in cards
            if (source := _published_from(card)) is not None and source in self.cards
        }
        self.on: dict[str, set[str]] = {}
        self.against: dict[str, set[str]] = {}
        self.about: dict[str, set[str]] = {}
        self.used: set[tuple[str, str]] = set()
        for edge in edges:
            self._link(edge)
        stamps = [*(card.last_ts_ms for card in cards), *(entry.ts_ms for entry in trace)]
        self.now_ms = max(stamps, default=0)
        self._known: dict[tuple[str, int], float] = {}

    def _link(self, edge: Edge) -> None:
        one, other = self.cards.get(edge.from_), self.cards.get(edge.to)
        if one is None or other is None or edge.rel not in ("supports", "blocks"):
            return
        if edge.rel == "supports" and grounds(one.type, other.type):
            one, other = other, one
        if edge.rel == "supports":
            self.used.add((one.id, other.id))
        self.about.setdefault(one.id, set()).add(other.id)
        if one.status in DEAD or (one.type == "evidence" and is_template(one)):
            return
        side = self.on if edge.rel == "supports" else self.against
        side.setdefault(other.id, set()).add(one.id)

    def judged(self) -> list[Card]:
        """The cards to examine, newest first, without published copies of other cards."""
        cards = [card for card in self.cards.values() if card.id not in self.copies]
        return sorted(cards, key=lambda card: (-card.last_ts_ms, -card.last_seq, card.id))

    def pinned(self, card: Card) -> bool:
        """Whether the card or its published copy is pinned."""
        copies = [self.cards[copy] for copy, source in self.copies.items() if source == card.id]
        return any(PINNED in one.tags for one in (card, *copies))

    def supporters(self, card: Card, kind: str | None = None) -> list[Card]:
        return self._of(self.on, card, kind)

    def opponents(self, card: Card) -> list[Card]:
        return self._of(self.against, card, None)

    def _of(self, side: dict[str, set[str]], card: Card, kind: str | None) -> list[Card]:
        found = [self.cards[name] for name in sorted(side.get(card.id, ()))]
        return [one for one in found if kind is None or one.type == kind]

    def spoken_about(self, card: Card) -> list[Card]:
        """The cards that a card supports, blocks or grounds."""
        return [self.cards[name] for name in sorted(self.about.get(card.id, ()))]

    def evidence_for(self, card: Card) -> list[Card]:
        """Evidence on the card itself or on its tests."""
        found = self.supporters(card, "evidence")
        for test in self.supporters(card, "test"):
            found += self.supporters(test, "evidence")
        return found

    def backed(self, card: Card) -> bool:
        """Whether a card is backed by evidence."""
        return bool(self.evidence_for(card))

    def score(self, card: Card) -> int:
        return score_of(card, (one.type for one in self.spoken_about(card)))

    def confidence(
        self, card: Card, depth: int = _DEPTH, path: frozenset[str] = frozenset()
    ) -> float:
        """From 0 to 1: evidence by its score, other cards by their support and opposition."""
        if card.type == "evidence":
            return self.score(card) / 100
        sides = self.supporters(card), self.opponents(card)
        if depth == 0 or card.id in path or not any(sides):
            return 0.5
        key = (card.id, depth)
        if key not in self._known:
            on, against = (
                1
                + sum(
                    _weight(one) * self.confidence(one, depth - 1, path | {card.id}) for one in side
                )
                for side in sides
            )
            self._known[key] = on / (on + against)
        return self._known[key]

    def active(self, kind: str) -> list[Card]:
        return [card for card in self.judged() if card.type == kind and is_active(card.status)]


def _weight(card: Card) -> float:
    return _WEIGHTS.get(card.type, _OTHER_WEIGHT)


def _published_from(card: Card) -> str | None:
    made = (card.meta or {}).get("published_from")
    source = made.get("card_id") if isinstance(made, dict) else None
    return source if isinstance(source, str) else None
