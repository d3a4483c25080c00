"""Capsules: your position, why it matters and the next call, small enough for any budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from longhouse.kernel.budget import Clip, Drop, Keep, Pop, Trim
from longhouse.kernel.envelope import action_for
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell, command_line
from longhouse.store.tx import Tx
from longhouse.thinking.places import Place
from longhouse.thinking.types.cards import Card, ShowPlaybook
from longhouse.thinking.types.engine import Engine
from longhouse.thinking.types.reads import (
    CapsuleAction,
    CapsuleNext,
    CapsuleWhere,
    PlaceDocs,
    ThinkCapsule,
    Why,
)
from longhouse.thinking.vocabulary import lane_of

__all__ = ["SMALLEST", "TRIM_ENGINE", "capsule_of", "docs_of", "next_of", "pack_lines", "why_of"]

VERSION = 1
_WHYS = 3

SMALLEST: list[Trim] = [
    Keep(("capsule",)),
    Drop("capsule.next.backup"),
    Pop("capsule.why", leave=1),
    Clip("capsule.next.primary.title", 40),
    Drop("capsule.next.primary.call.why"),
    Drop("capsule.where.docs"),
    Drop("capsule.where.lane"),
    Clip("capsule.why.message", 60),
]
"""Reduces a pack to its capsule; the position, one ref, one reason and one call are never cut."""


def docs_of(place: Place) -> PlaceDocs:
    return PlaceDocs(notes=place.notes_doc, trace=place.trace_doc, graph=place.graph_doc)


def capsule_of(
    tx: Tx,
    kind: Literal["watch_capsule", "think_pack_capsule", "context_pack_capsule"],
    place: Place,
    cards: list[Card],
    engine: Engine | None,
) -> ThinkCapsule:
    """The capsule of a pack; its calls run as they are."""
    first = cards[0] if cards else None
    return ThinkCapsule(
        type=kind,
        version=VERSION,
        where=CapsuleWhere(
            workspace=tx.workspace,
            branch=place.branch,
            docs=docs_of(place),
            lane=lane_of(first.tags if first else ()),
            target=place.target,
            step_focus=place.step,
        ),
        ref=first.id if first else place.target or f"{place.branch}:{place.graph_doc}",
        why=why_of(engine),
        next=next_of(tx, cards, engine),
    )


def why_of(engine: Engine | None) -> list[Why]:
    """The most urgent signals."""
    return [
        Why(code=one.code, severity=one.severity, message=one.message)
        for one in (engine.signals if engine else [])[:_WHYS]
    ]


def next_of(tx: Tx, cards: list[Card], engine: Engine | None) -> CapsuleNext:
    """One thing to do, and another."""
    actions = _actions(tx, cards, engine)
    return CapsuleNext(primary=actions[0], backup=actions[1] if len(actions) > 1 else None)


def _actions(tx: Tx, cards: list[Card], engine: Engine | None) -> list[CapsuleAction]:
    found = [
        CapsuleAction(kind=one.kind, title=one.title, call=call)
        for one in (engine.actions if engine else [])
        for call in [call for call in one.calls if "call_method" not in call][:1]
    ][:2]
    for suggestion in _otherwise(tx, cards):
        if len(found) < 2:
            made = msgspec.to_builtins(action_for(tx.facts.registry, tx.workspace, suggestion))
            found.append(CapsuleAction(kind="look", title=suggestion.why, call=made))
    return found


def _otherwise(tx: Tx, cards: list[Card]) -> list[Suggestion]:
    """What to suggest when the engine has no actions."""
    registry = tx.facts.registry
    found = []
    if cards and cards[0].id.startswith("CARD-") and "open" in registry:
        look = registry.get("open").request(id=cards[0].id)
        found.append(Suggestion(look, f"read {cards[0].label}", priority="medium"))
    found.append(Suggestion(ShowPlaybook(name="default"), "get a playbook for it", priority="low"))
    return found


def pack_lines(result: dict[str, Any]) -> list[str]:
    """One line of state with the ref, the reasons and what to do, then the cards and entries.

    The next calls come last.
    """
    capsule = result["capsule"]
    where = capsule["where"]
    step = where.get("step_focus")
    parts = [
        f"{where['branch']} {where['docs']['graph']}",
        *([f"step={step['path']}"] if step else []),
        f"ref={capsule['ref']}",
        *([f"why {capsule['why'][0]['message']}"] if capsule["why"] else []),
    ]
    calls = [capsule["next"]["primary"], capsule["next"].get("backup")]
    return [
        " | ".join(parts),
        *(f"~ {why['code']} {why['message']}" for why in capsule["why"]),
        *_engine_lines(result, [why["message"] for why in capsule["why"]]),
        *_card_lines(result),
        *_entry_lines(result),
        *(
            command_line(one["call"]["tool"], one["call"]["args"], default_workspace=None)
            for one in calls
            if one
        ),
    ]


def _engine_lines(result: dict[str, Any], told: list[str]) -> Iterator[str]:
    engine = result.get("engine") or {}
    for one in engine.get("signals", ()):
        if one["message"] not in told:
            yield f"~ {one['code']} {one['message']}"
    for one in engine.get("actions", ()):
        about = " ".join(ref["id"] for ref in one["refs"])
        yield f"> {one['kind']} {about} {cell(one['title'], 120)}"


def _card_lines(result: dict[str, Any]) -> Iterator[str]:
    """Each card of the answer once, wherever it stands."""
    signals, frontier = result.get("signals") or {}, result.get("frontier") or {}
    parts = [result.get("candidates"), result.get("cards"), *signals.values(), *frontier.values()]
    cards = [card for part in parts if isinstance(part, list) for card in part]
    for card in {card["id"]: card for card in cards}.values():
        title = cell(card.get("title") or card.get("text") or "", 120)
        yield f"{card['id']} {card['type']} ({card['status']}) {title}"


def _entry_lines(result: dict[str, Any]) -> Iterator[str]:
    docs = ((name, result.get(name) or {}) for name in ("notes", "trace"))
    for name, part in docs:
        for entry in part.get("entries", ()):
            said = cell(entry.get("title") or entry.get("content") or "", 120)
            yield f"{entry['ref']} {said}" if "ref" in entry else f"{name}@{entry['seq']} {said}"


TRIM_ENGINE: list[Trim] = [
    Drop("lane_summary"),
    Pop("engine.actions", leave=1),
    Pop("engine.signals", leave=2),
    Drop("engine"),
]
