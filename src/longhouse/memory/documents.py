"""Reading and writing documents: add a note, read a page, list a branch's documents."""

from __future__ import annotations

import msgspec

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.trim import clip_text
from longhouse.memory.branches import ensure_branch, view_of
from longhouse.memory.entries import append_entry, page_of
from longhouse.memory.room import room, sql
from longhouse.memory.targeting import current_branch, scope
from longhouse.memory.types.documents import (
    CommitNote,
    DocumentInfo,
    DocumentList,
    ListDocuments,
    NoteCommitted,
    Page,
    ShowDocument,
)
from longhouse.store.tx import Tx

__all__ = ["commit_note", "list_documents", "show_document"]


MOST_ECHOED = 200
"""How many characters of a note its commit's answer repeats."""


@room.command(
    "vcs.notes.commit",
    also=(
        "note notes vcs.notes.add vcs.notes.create vcs.note.add vcs.notes.write "
        "vcs.notes.append notes.commit notes.add notes.create docs.write docs.add "
        "docs.append docs.create docs.note memory.add memory.save docs.notes.commit "
        "docs.save"
    ),
    op="notes.commit",
    writes=True,
    additive=True,
    example=CommitNote(content="We chose SQLite as the default store.", title="Decision"),
    trim=[Clip("entry.content", 400), Drop("entry.meta")],
)
def commit_note(tx: Tx, req: CommitNote) -> NoteCommitted:
    """Append a note to the notes of a plan or task, or to a document on a branch."""
    # The caller knows what it wrote, so the answer repeats only the start of a long note.
    where = scope(tx, "notes", target=req.target, branch=req.branch, doc=req.doc)
    entry = append_entry(
        tx,
        ensure_branch(tx, where.branch),
        where.doc,
        kind="note",
        content=req.content,
        title=req.title,
        format=req.format,
        meta=req.meta,
    ).entry
    shown = msgspec.structs.replace(entry, content=clip_text(entry.content, MOST_ECHOED))
    return NoteCommitted(entry=shown, ref=entry.ref, chars=len(entry.content))


@room.command(
    "docs.show",
    also=(
        "read get view open cat notes.show notes.read notes.get vcs.notes.show "
        "vcs.notes.list vcs.notes.read tasks.notes"
    ),
    op="show",
    example=ShowDocument(doc_kind="notes", limit=20),
    trim=[
        Drop("sequential"),
        Pop("entries", oldest="first", leave=1, cursor="seq"),
        Clip("entries.content", 400),
        Drop("entries.meta"),
        Clip("entries.content", 80),
    ],
)
def show_document(tx: Tx, req: ShowDocument) -> Page:
    """Read a page of a document, newest page first; entries ascend within a page."""
    where = scope(tx, req.doc_kind, target=req.target, branch=req.branch, doc=req.doc)
    view = view_of(tx, where.branch, where.doc, req.as_of)
    entries, pagination = page_of(tx, view, cursor=req.cursor, limit=req.limit)
    from longhouse.memory.sequential import derive  # not needed to write

    return Page(
        branch=where.branch,
        doc=where.doc,
        entries=entries,
        sequential=derive(entries),
        pagination=pagination,
    )


@room.command(
    "docs.list",
    also="ls all notes.list documents",
    op="list",
    example=ListDocuments(),
    trim=[Pop("docs", leave=1)],
)
def list_documents(tx: Tx, req: ListDocuments) -> DocumentList:
    """List the documents a branch shows: its own and those of its bases."""
    name = req.ref or current_branch(tx)
    found: dict[str, DocumentInfo] = {}
    for source in view_of(tx, name, "", req.as_of, field="ref").sources:
        for row in tx.all(sql.documents_of_branch, branch_id=source.branch_id, cut=source.cut):
            found.setdefault(row["doc"], DocumentInfo(branch=source.name, **row))
    docs = [found[doc] for doc in sorted(found)]
    return DocumentList(
        branch=name, docs=docs[: req.limit], count=len(docs), has_more=len(docs) > req.limit
    )
