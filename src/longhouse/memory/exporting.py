"""`docs.export`: everything needed to resume a plan or task, in one bounded answer."""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.memory.branches import view_of
from longhouse.memory.entries import page_of
from longhouse.memory.room import room
from longhouse.memory.sequential import derive
from longhouse.memory.targeting import reasoning_ref, standing, target_info
from longhouse.memory.types.documents import (
    DocumentExport,
    Entry,
    ExportDocuments,
    ExportedNotes,
    ExportedTrace,
    Pagination,
)
from longhouse.store.tx import Tx

__all__ = ["export_documents"]


@room.command(
    "docs.export",
    also="dump docs.download.all",
    example=ExportDocuments(target="TASK-001"),
    trim=[
        Drop("trace.sequential"),
        Pop("trace.entries", oldest="first", leave=1, cursor="seq"),
        Pop("notes.entries", oldest="first", leave=1, cursor="seq"),
        Clip("notes.entries.content", 400),
        Clip("trace.entries.content", 160),
        Drop("trace.entries.meta"),
        Drop("notes.entries.meta"),
        Clip("notes.entries.content", 80),
        Clip("trace.entries.content", 80),
    ],
)
def export_documents(tx: Tx, req: ExportDocuments) -> DocumentExport:
    """Export the refs, notes and trace of a plan or task, to resume it."""
    target = req.target or standing(tx).focus
    if target is None:
        raise InvalidInput(
            "target: missing, and no plan or task is in focus",
            recovery="pass target=<TASK-… or PLAN-…>, or set the focus with tasks.focus.set",
        )
    info = target_info(tx, target)
    ref = reasoning_ref(info.id)

    def tail(doc: str, limit: int) -> tuple[list[Entry], Pagination]:
        view = view_of(tx, ref.branch, doc, req.as_of)
        return page_of(tx, view, cursor=None, limit=limit)

    notes, notes_page = tail(ref.notes_doc, req.notes_limit)
    trace, trace_page = tail(ref.trace_doc, req.trace_limit)
    return DocumentExport(
        target=info,
        reasoning_ref=ref,
        notes=ExportedNotes(
            branch=ref.branch, doc=ref.notes_doc, entries=notes, pagination=notes_page
        ),
        trace=ExportedTrace(
            branch=ref.branch,
            doc=ref.trace_doc,
            entries=trace,
            sequential=derive(trace),
            pagination=trace_page,
        ),
    )
