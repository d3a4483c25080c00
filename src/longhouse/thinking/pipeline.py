"""Card templates, and writing all cards from a problem to a decision in one call."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.memory import append_entry, ensure_branch
from longhouse.memory.types.documents import Entry
from longhouse.store.tx import Tx
from longhouse.thinking.parsing import parse_card
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import (
    CardsApplied,
    Pipeline,
    PipelineCard,
    PipelineWritten,
    Seed,
    Seeded,
)
from longhouse.thinking.vocabulary import TYPES, check_status, check_type
from longhouse.thinking.writing import write_card

__all__ = ["STAGES", "run_pipeline", "seed"]

STAGES = ("frame", "hypothesis", "test", "evidence", "decision")
_SAY = {
    "frame": "What the problem is, and what it is not.",
    "hypothesis": "What may be true, in one sentence that could be wrong.",
    "question": "What to find out.",
    "test": "What to do, and which outcome would disprove the hypothesis.",
    "evidence": "What was observed. CMD: the command. LINK: where its output is.",
    "decision": "What was decided, and why.",
    "note": "A remark.",
    "update": "What has changed, and what it affects.",
    "knowledge": "What is worth remembering.",
}


@room.command(
    "think.reasoning.seed",
    also="seed template",
    op="reasoning.seed",
    example=Seed(type="hypothesis"),
)
def seed(tx: Tx, req: Seed) -> Seeded:
    """Get an empty card of one type to fill in."""
    kind = check_type(req.type)
    meta: dict[str, Any] = {"run": {"cmd": ""}} if kind in ("test", "evidence") else {}
    template: dict[str, Any] = {
        "id": None,
        "type": kind,
        "title": "",
        "text": _SAY[kind],
        "status": "open",
        "tags": [],
        "refs": [],
        "meta": meta,
    }
    return Seeded(type=kind, supported_types=list(TYPES), template=template)


@room.command(
    "think.reasoning.pipeline",
    also="pipeline",
    op="reasoning.pipeline",
    writes=True,
    additive=True,
    example=Pipeline(
        frame="Search has been slow since the last release.",
        hypothesis="The new index is not used.",
        test="Compare the query plans of both releases.",
        evidence="CMD: make plans; the new plan scans the table.",
        decision="Put the index back.",
        status={"hypothesis": "open", "decision": "accepted"},
        note_decision=True,
    ),
)
def run_pipeline(tx: Tx, req: Pipeline) -> PipelineWritten:
    """Write frame, hypothesis, test, evidence and decision, each supporting the one before."""
    given = [(stage, text) for stage in STAGES if (text := getattr(req, stage)) is not None]
    if not given:
        raise InvalidInput(
            'frame: expected at least one stage; fix: frame="what the problem is"',
            recovery=f"pass one or more of {', '.join(STAGES)}",
        )
    statuses = _statuses(req, [stage for stage, _ in given])
    place = place_of(tx, req)
    cards: list[PipelineCard] = []
    nodes = edges = 0
    last_seq: int | None = None
    for stage, text in given:
        draft = parse_card(text, field=stage, forced=stage)
        if stage in statuses:
            draft = draft._replace(status=statuses[stage])
        before = [cards[-1].card_id] if cards else []
        made = write_card(
            tx, place, draft, supports=[*draft.supports, *before], blocks=draft.blocks
        )
        cards.append(PipelineCard(stage=stage, card_id=made.card_id, trace_ref=made.trace_ref))
        nodes += made.graph_applied.nodes_upserted
        edges += made.graph_applied.edges_upserted
        last_seq = made.last_seq or last_seq
    return PipelineWritten(
        branch=place.branch,
        trace_doc=place.trace_doc,
        graph_doc=place.graph_doc,
        cards=cards,
        graph_applied=CardsApplied(nodes_upserted=nodes, edges_upserted=edges),
        last_seq=last_seq,
        decision_note=_note(tx, req, place, cards[-1].card_id) if req.note_decision else None,
    )


def _statuses(req: Pipeline, stages: list[str]) -> dict[str, str]:
    for key in req.status:
        if key not in stages:
            what = "is not given in this call" if key in STAGES else "is not a stage"
            raise InvalidInput(
                f"status.{key[:40]}: {key[:40]!r} {what}",
                recovery=f"status takes {', '.join(stages)}",
            )
    return {key: check_status(word, f"status.{key}") for key, word in req.status.items()}


def _note(tx: Tx, req: Pipeline, place: Place, card_id: str) -> Entry:
    """Add the decision to the notes, for readers who only read notes."""
    if req.decision is None:
        raise InvalidInput(
            "note_decision: there is no decision in this call; fix: note_decision=false",
            recovery="pass decision, or leave note_decision out",
        )
    meta: dict[str, Any] = {"source": "think_pipeline", "card_id": card_id}
    if place.step is not None:
        meta["step"] = msgspec.to_builtins(place.step)
    return append_entry(
        tx,
        ensure_branch(tx, place.branch),
        place.notes_doc,
        kind="note",
        title=req.note_title or "Decision",
        format=req.note_format,
        content=f"{req.decision}\n\nDecided in {card_id}.",
        meta=meta,
    ).entry
