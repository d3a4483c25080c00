"""`think.context.pack`: the notes, trace and cards of one place in one bounded answer."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import Clip, Drop, Pop, Trim
from longhouse.memory import current_branch, derive, page_of, view_of
from longhouse.memory.types.graph import Edge
from longhouse.store.tx import Tx
from longhouse.thinking.capsules import SMALLEST, TRIM_ENGINE, capsule_of, docs_of, pack_lines
from longhouse.thinking.cutting import EngineCut
from longhouse.thinking.engine.run import Reasoning
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.reading import entries_of
from longhouse.thinking.room import room
from longhouse.thinking.selecting import Looker, counted, edges_of, lane_summary, lens_of
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.reads import (
    Bridge,
    PackedContext,
    PackedDoc,
    PackedTrace,
    PackLens,
    PackSignals,
    ShowContextPack,
)
from longhouse.thinking.vocabulary import is_active

__all__ = ["PACK_TRIM", "context_pack", "show_context_pack"]

PACK_TRIM: list[Trim] = [
    Drop("trace.sequential"),
    Drop("trace.entries.meta"),
    Clip("trace.entries.content", 160),
    Clip("notes.entries.content", 400),
    Clip("cards.text", 200),
    *(Clip(f"signals.{kind}.text", 160) for kind in ("blockers", "decisions", "evidence")),
    *(Drop(f"signals.{kind}.meta") for kind in ("blockers", "decisions", "evidence")),
    Pop("trace.entries", oldest="first", leave=2, cursor="seq"),
    Pop("notes.entries", oldest="first", leave=2, cursor="seq"),
    Pop("cards", leave=3),
    *(Pop(f"signals.{kind}", leave=1) for kind in ("evidence", "decisions", "blockers")),
    Drop("notes.entries.meta"),
    Drop("cards.meta"),
    *TRIM_ENGINE,
    Clip("notes.entries.content", 80),
    Clip("trace.entries.content", 80),
    Clip("cards.text", 80),
    Drop("trace"),
    Drop("stats"),
    Drop("signals"),
    Drop("notes"),
    Pop("cards", leave=1),
    *SMALLEST,
]


@room.command("think.context.pack", example=ShowContextPack(), lines=pack_lines, trim=PACK_TRIM)
def show_context_pack(tx: Tx, req: ShowContextPack) -> PackedContext:
    """Get the notes, trace and cards of a plan, task or branch, to resume it."""
    return context_pack(tx, req)


def context_pack(tx: Tx, req: PackLens[Any]) -> PackedContext:
    """The pack before it is trimmed; it only reads and creates nothing but `tx.rederive`."""
    place, lens = place_of(tx, req), lens_of(req)
    graph = view_of(tx, place.branch, place.graph_doc)
    looker = Looker(tx, graph, place, drafts=lens.drafts)
    cards = looker.select(req.limit_cards, lens.view)
    edges = edges_of(tx, graph, cards)
    lit: dict[str, Any] = {"drafts": lens.drafts, "step": place.step}
    notes, notes_page = entries_of(tx, place.branch, place.notes_doc, limit=req.notes_limit, **lit)
    trace, trace_page = entries_of(tx, place.branch, place.trace_doc, limit=req.trace_limit, **lit)
    reasoning = Reasoning(
        tx,
        place,
        cards,
        edges,
        trace,
        signals_limit=req.engine_signals_limit,
        actions_limit=req.engine_actions_limit,
    )
    tx.rederive = EngineCut(tx, reasoning, cards=("cards",), trace="trace.entries")
    empty = not cards and not notes_page.has_more and not notes
    return PackedContext(
        requested={"target": place.target if req.target else None, "ref": req.branch or req.ref},
        branch=place.branch,
        docs=docs_of(place),
        step_focus=place.step,
        view=lens.view,
        capsule=capsule_of(tx, "context_pack_capsule", place, cards, reasoning.engine),
        engine=reasoning.engine,
        lane_summary=lane_summary(cards) if lens.drafts else None,
        notes=PackedDoc(entries=notes, pagination=notes_page),
        trace=PackedTrace(entries=trace, sequential=derive(trace), pagination=trace_page),
        cards=cards,
        signals=_signals(looker, cards, edges, req),
        stats=counted(cards),
        bridge=_bridge(tx) if empty and req.target is not None and place.step is None else None,
    )


def _signals(
    looker: Looker, cards: list[Card], edges: list[Edge], req: PackLens[Any]
) -> PackSignals:
    """Blocking cards, decisions and evidence, newest first."""
    blocking = {edge.from_ for edge in edges if edge.rel == "blocks"}
    blockers = [card for card in cards if card.id in blocking and is_active(card.status)]
    decisions = looker.page(req.decisions_limit, types=["decision"])
    evidence = looker.page(req.evidence_limit, types=["evidence"])
    shown = sorted(blockers, key=lambda card: -card.last_seq)[: req.blockers_limit]
    return PackSignals(
        blockers=shown,
        decisions=decisions,
        evidence=evidence,
        stats={"blockers": len(shown), "decisions": len(decisions), "evidence": len(evidence)},
    )


def _bridge(tx: Tx) -> Bridge | None:
    """What the checkout has, for a target that has nothing yet."""
    checkout = current_branch(tx)
    place = Place(checkout, "notes", "trace", "graph")
    has = {
        kind: bool(page_of(tx, view_of(tx, checkout, doc), cursor=None, limit=1)[0])
        for kind, doc in (("notes", place.notes_doc), ("trace", place.trace_doc))
    }
    graph = view_of(tx, checkout, place.graph_doc)
    has["cards"] = bool(Looker(tx, graph, place, drafts=True).page(1))
    if not any(has.values()):
        return None
    tx.warn(
        "CONTEXT_EMPTY_FOR_TARGET",
        f"it has no notes or cards yet, but {checkout} does",
        f"read it with think.context.pack ref={checkout}",
    )
    return Bridge(checkout=checkout, docs=docs_of(place), has=has)
