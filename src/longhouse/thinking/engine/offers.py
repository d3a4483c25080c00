"""Builds the calls that the engine suggests: complete, scoped to the slice, and runnable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from longhouse.kernel.envelope import action_for
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.values import Request
from longhouse.memory.types.graph import ApplyGraph, EdgeDelete
from longhouse.store.tx import Tx
from longhouse.thinking.places import Place
from longhouse.thinking.types.cards import Card, Publish, SetStatus, ShowPlaybook, ThinkCard

__all__ = ["Offers", "template_of"]


_LISTED_BY = (
    ("core", {"gold"}),
    ("daily", {"gold", "advanced"}),
    ("full", {"gold", "advanced", "audit"}),
)


def template_of(about: Card, *, cmd: str | None = None) -> dict[str, Any]:
    """An evidence card to be filled in."""
    shown = f"CMD: {cmd}" if cmd else "CMD: <fill: the command you ran>"
    return {
        "type": "evidence",
        "title": f"Evidence: {about.label}",
        "text": f"{shown}\nLINK: <fill: where its output is>\nSaw: <fill: what it showed>",
        **({"meta": {"run": {"cmd": cmd}}} if cmd else {}),
    }


class Offers:
    """Builds calls for one place."""

    def __init__(self, tx: Tx, place: Place) -> None:
        self._tx = tx
        self._disclosed = False
        self.where: dict[str, Any] = {"target": place.target}
        self.trace: dict[str, Any] = {}
        if place.target is None:
            self.where = {"branch": place.branch, "graph_doc": place.graph_doc}
            self.trace = {"trace_doc": place.trace_doc}
        self.step: dict[str, Any] = {"step": place.step.step_id} if place.step else {}

    def card(
        self, card_id: str, card: dict[str, Any], tags: Sequence[str] = (), **links: Any
    ) -> ThinkCard:
        made = {"id": card_id, **card, **({"tags": list(tags)} if tags else {})}
        return ThinkCard(card=made, **links, **self.where, **self.trace, **self.step)

    def status(self, card: Card, status: str) -> SetStatus:
        return SetStatus(status=status, targets=[card.id], **self.where)

    def publish(self, card: Card) -> Publish:
        return Publish(card_id=card.id, pin=True, **self.where, **self.trace)

    def playbook(self, name: str) -> ShowPlaybook:
        return ShowPlaybook(name=name)

    def unlink(self, one: Card, rel: str, other: Card) -> ApplyGraph:
        where = dict(self.where)
        doc = {"doc": where.pop("graph_doc")} if "graph_doc" in where else {}
        return ApplyGraph(ops=[EdgeDelete(from_=one.id, rel=rel, to=other.id)], **where, **doc)

    def calls(self, requests: Sequence[tuple[Request, str]], priority: str) -> list[dict[str, Any]]:
        """Requests and their reasons, in the form of an envelope's actions."""
        registry = self._tx.facts.registry
        made = [self._call(request, why, priority) for request, why in requests]
        tiers = {registry.of(request).tier for request, _ in requests}
        return [*self._disclosure(tiers), *made]

    def _call(self, request: Request, why: str, priority: str) -> dict[str, Any]:
        suggestion = Suggestion(request, why, priority=priority)
        registry, workspace = self._tx.facts.registry, self._tx.workspace
        made: dict[str, Any] = msgspec.to_builtins(action_for(registry, workspace, suggestion))
        return made

    def _disclosure(self, tiers: set[str]) -> list[dict[str, Any]]:
        """Before the first calls that `core` does not list: the smallest listing that does."""
        needed = next(toolset for toolset, also in _LISTED_BY if tiers <= also)
        if self._disclosed or needed == "core" or self._tx.facts.settings.toolset == "full":
            return []
        self._disclosed = True
        listing = self._tx.facts.registry.get("system.cmd.list").request
        wanted = listing(prefix="think.", toolset=needed)
        shown = self._call(wanted, "list the commands that this needs", "low")
        return [{**shown, "call_method": "tools/list"}]
