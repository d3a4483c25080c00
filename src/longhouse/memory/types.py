"""The values of the memory room: what its commands take and give."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.values import Json, Limit, Request, Result, Seq, Text, Title, Value

__all__ = [
    "CommitNote",
    "DocEntryOpened",
    "Entry",
    "NoteCommitted",
    "Page",
    "Pagination",
    "ShowDocument",
    "TargetRef",
]

BranchName = Annotated[str, Meta(min_length=1, max_length=128)]
DocName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"\A[^@\s\x00-\x1f]+\Z")]


class TargetRef(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan or task by id; the kind, where given, must be the id's own."""

    id: Annotated[str, Meta(pattern=r"\A(PLAN|TASK)-[0-9]{3,}\Z")]
    kind: Literal["plan", "task"] | None = None


Target = Annotated[str, Meta(pattern=r"\A(PLAN|TASK)-[0-9]{3,}\Z")] | TargetRef


class Entry(Value, frozen=True, kw_only=True):
    """One entry of a document."""

    seq: int
    ts: str
    ts_ms: int
    branch: str
    doc: str
    kind: str
    title: str | None = None
    format: str | None = None
    meta: dict[str, Any] | None = None
    content: str

    @property
    def ref(self) -> str:
        return f"{self.doc}@{self.seq}"


class Pagination(Value, frozen=True, kw_only=True):
    """Where a page stands; `next_cursor` continues it."""

    cursor: int | None
    next_cursor: int | None = None
    has_more: bool
    limit: int
    count: int


class CommitNote(Request["NoteCommitted"], frozen=True, kw_only=True):
    """Append one note to a plan's or task's notes, or to a document of a branch."""

    content: Text
    target: Target | None = None
    branch: BranchName | None = None
    doc: DocName | None = None
    title: Title | None = None
    format: Annotated[str, Meta(max_length=64)] | None = None
    meta: Json | None = None


class NoteCommitted(Result, frozen=True, kw_only=True):
    entry: Entry
    ref: str


class ShowDocument(Request["Page"], frozen=True, kw_only=True):
    """Read a document from its tail."""

    target: Target | None = None
    doc_kind: Literal["notes", "trace"] = "trace"
    branch: BranchName | None = None
    doc: DocName | None = None
    cursor: Seq | None = None
    limit: Limit = 20


class Page(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    entries: list[Entry]
    pagination: Pagination


class DocEntryOpened(Result, frozen=True, kw_only=True):
    kind: Literal["doc_entry"]
    ref: str
    entry: Entry
