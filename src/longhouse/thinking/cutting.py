"""What a pack concludes from its cards, and how it concludes it again after a budget cut them.

Engine, capsule and lane summary speak only of cards that the answer shows. The card that the
capsule names as `ref` counts as shown, because every answer has it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.redact import redact
from longhouse.kernel.trim import Doc
from longhouse.store.tx import Tx
from longhouse.thinking.capsules import next_of, why_of
from longhouse.thinking.engine.run import Reasoning
from longhouse.thinking.selecting import lane_summary
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.engine import Engine

__all__ = ["EngineCut", "rows_at"]


class EngineCut:
    """Derives a pack's conclusions again; `cards` and `trace` are the paths of their rows."""

    def __init__(
        self, tx: Tx, reasoning: Reasoning, *, cards: tuple[str, ...], trace: str | None
    ) -> None:
        self._tx = tx
        self._reasoning = reasoning
        self._paths = cards, trace
        self._last: tuple[frozenset[str], frozenset[int]] | None = None

    def at(self, *, cards: tuple[str, ...], trace: str | None) -> EngineCut:
        """The same for an answer that has the rows elsewhere."""
        return EngineCut(self._tx, self._reasoning, cards=cards, trace=trace)

    def __call__(self, result: Doc) -> None:
        """Replace in place what the rows that are left no longer show; add nothing."""
        cards, trace = self._paths
        rows = [row for path in cards for row in rows_at(result, path)]
        shown = frozenset(row["id"] for row in rows) | self._also(result)
        seqs = frozenset(row["seq"] for row in rows_at(result, trace)) if trace else frozenset()
        if (shown, seqs) == self._last:
            return
        self._last = shown, seqs
        left, engine = self._reasoning.left(shown, seqs)
        _put_engine(result, engine)
        if "lane_summary" in result:
            result["lane_summary"] = _plain(lane_summary(left))
        self._put_capsule(result, left, engine)

    @staticmethod
    def _also(result: Doc) -> frozenset[str]:
        """What the answer shows elsewhere: the capsule's ref, and the refs of facts."""
        facts = {fact["ref"] for fact in result.get("facts") or () if fact.get("ref")}
        capsule = result.get("capsule")
        named = {capsule["ref"]} if isinstance(capsule, dict) and "ref" in capsule else set()
        return frozenset(facts | named)

    def _put_capsule(self, result: Doc, cards: list[Card], engine: Engine | None) -> None:
        capsule = result.get("capsule")
        if not isinstance(capsule, dict) or "why" not in capsule:
            return
        capsule["why"] = _plain(why_of(engine))
        capsule["next"] = _plain(next_of(self._tx, cards, engine))


def rows_at(result: Doc, path: str) -> list[Doc]:
    """The rows of the list at `path`; none if it was cut."""
    found: Any = result
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, list) else []


def _put_engine(result: Doc, engine: Engine | None) -> None:
    """The engine after a cut, with no more rows than the cuts so far have left."""
    before = result.get("engine")
    if not isinstance(before, dict):
        return
    if engine is None:
        del result["engine"]
        return
    after = _plain(engine)
    for name in ("signals", "actions"):
        rows = after[name][: len(before.get(name) or ())]
        after["truncated"] = after["truncated"] or len(rows) < after[f"{name}_total"]
        after[name] = rows
    result["engine"] = after


def _plain(value: Any) -> Any:
    """The value as an answer holds it: built-in types, secrets hidden."""
    return redact(msgspec.to_builtins(value))
