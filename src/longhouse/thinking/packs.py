"""`think.pack` and `think.watch`: cards, the frontier and the engine's findings."""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop, Trim
from longhouse.memory import derive, view_of
from longhouse.store.tx import Tx
from longhouse.thinking.capsules import SMALLEST, TRIM_ENGINE, capsule_of, pack_lines
from longhouse.thinking.context import FRONTIER_TRIM, limits_of
from longhouse.thinking.cutting import EngineCut
from longhouse.thinking.engine.run import Reasoning
from longhouse.thinking.places import place_of
from longhouse.thinking.reading import entries_of
from longhouse.thinking.room import room
from longhouse.thinking.selecting import Looker, counted, edges_of, lane_summary, lens_of
from longhouse.thinking.traces import shortened
from longhouse.thinking.types.reads import ShowPack, ShowWatch, ThinkPack, Watch, WatchTrace

__all__ = ["show_pack", "show_watch"]

_CARDS_TRIM: list[Trim] = [
    Clip("candidates.text", 200),
    *FRONTIER_TRIM,
    Pop("candidates", leave=3),
    Drop("candidates.meta"),
    Clip("candidates.text", 80),
]


@room.command(
    "think.pack",
    example=ShowPack(),
    lines=pack_lines,
    trim=[*_CARDS_TRIM, *TRIM_ENGINE, Pop("candidates"), Drop("frontier"), *SMALLEST],
)
def show_pack(tx: Tx, req: ShowPack) -> ThinkPack:
    """Show the cards that matter, the open ones, and what to do about them."""
    place, lens = place_of(tx, req), lens_of(req)
    graph = view_of(tx, place.branch, place.graph_doc)
    looker = Looker(tx, graph, place, drafts=lens.drafts)
    cards = looker.select(req.limit_candidates, lens.view)
    reasoning = Reasoning(
        tx,
        place,
        cards,
        edges_of(tx, graph, cards),
        signals_limit=req.engine_signals_limit,
        actions_limit=req.engine_actions_limit,
    )
    tx.rederive = EngineCut(tx, reasoning, cards=("candidates",), trace=None)
    return ThinkPack(
        branch=place.branch,
        graph_doc=place.graph_doc,
        trace_doc=place.trace_doc,
        step_focus=place.step,
        view=lens.view,
        capsule=capsule_of(tx, "think_pack_capsule", place, cards, reasoning.engine),
        stats=counted(cards),
        candidates=cards,
        frontier=looker.frontier(limits_of(req)),
        engine=reasoning.engine,
        lane_summary=lane_summary(cards) if lens.drafts else None,
    )


@room.command(
    "think.watch",
    example=ShowWatch(),
    lines=pack_lines,
    trim=[
        Drop("trace.sequential"),
        Drop("trace.entries.meta"),
        Clip("trace.entries.content", 200),
        *_CARDS_TRIM,
        Pop("trace.entries", oldest="first", leave=2, cursor="seq"),
        *TRIM_ENGINE,
        Pop("trace.entries", oldest="first", cursor="seq"),
        Pop("candidates"),
        Drop("frontier"),
        *SMALLEST,
    ],
)
def show_watch(tx: Tx, req: ShowWatch) -> Watch:
    """Show the open cards, the newest trace entries, and what to do about them."""
    place, lens = place_of(tx, req), lens_of(req)
    graph = view_of(tx, place.branch, place.graph_doc)
    looker = Looker(tx, graph, place, drafts=lens.drafts)
    cards = looker.select(req.limit_candidates, lens.view)
    entries, page = entries_of(
        tx,
        place.branch,
        place.trace_doc,
        limit=req.trace_limit_steps,
        drafts=lens.drafts,
        step=place.step,
    )
    reasoning = Reasoning(
        tx,
        place,
        cards,
        edges_of(tx, graph, cards),
        entries,
        signals_limit=req.engine_signals_limit,
        actions_limit=req.engine_actions_limit,
    )
    tx.rederive = EngineCut(tx, reasoning, cards=("candidates",), trace="trace.entries")
    return Watch(
        branch=place.branch,
        graph_doc=place.graph_doc,
        trace_doc=place.trace_doc,
        step_focus=place.step,
        view=lens.view,
        capsule=capsule_of(tx, "watch_capsule", place, cards, reasoning.engine),
        candidates=cards,
        frontier=looker.frontier(limits_of(req)),
        trace=WatchTrace(
            entries=shortened(entries, req.trace_statement_max_bytes),
            sequential=derive(entries),
            pagination=page,
        ),
        engine=reasoning.engine,
        lane_summary=lane_summary(cards) if lens.drafts else None,
    )
