"""Requests and results of the document commands, and types that the whole room shares."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import AsOf, Json, Limit, Request, Result, Seq, Text, Title, Value

__all__ = [
    "LIMIT_WORDS",
    "SEARCH_WORDS",
    "AsOf",
    "BranchName",
    "CommitNote",
    "DiffDocument",
    "DocEntryOpened",
    "DocName",
    "DocumentDiff",
    "DocumentExport",
    "DocumentInfo",
    "DocumentList",
    "DocumentsMerged",
    "Entry",
    "ExportDocuments",
    "ExportedNotes",
    "ExportedTrace",
    "LastEntry",
    "ListDocuments",
    "MergeDocuments",
    "Neighbor",
    "NoteCommitted",
    "Page",
    "Pagination",
    "ReasoningRef",
    "SearchDocuments",
    "SearchHit",
    "SearchResult",
    "Sequential",
    "ShowDocument",
    "Target",
    "TargetInfo",
    "TargetRef",
]

BranchName = Annotated[str, Meta(min_length=1, max_length=160)]
"""Long enough for the name a deleted branch is kept under; a new name is limited to 128."""
DocName = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"\A[^@|\s\x00-\x1f\x7f]+\Z")]
Format = Annotated[str, Meta(min_length=1, max_length=64)]
TargetId = Annotated[
    str,
    Meta(
        pattern=r"\A(PLAN|TASK)-[0-9]{3,}\Z",
        title="an id like TASK-001 or PLAN-001",
        examples=["TASK-001"],
    ),
]
_TARGET = also("task", "plan", "task_id", "plan_id", "id")
_DOC = also("document", "doc_id", "doc_name", "file", "path")
_BRANCH = also("branch_name", "on", "ref")
LIMIT_WORDS = also("count", "n", "max", "page_size", "size", "last", "max_results")
SEARCH_WORDS = also("query", "q", "search", "pattern", "term", "words", "keywords")
MergeLimit = Annotated[int, Meta(ge=1, le=200)]


Kind = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"\A[A-Za-z][A-Za-z0-9_-]*\Z")]
_KINDS = "note, card, node, task, plan, job, message, process, artifact, or a type of node"
_SINCE = "a date, a time, or how long ago, like 2026-05-01 or 7d"


class TargetRef(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan or task by id; `kind`, if given, must match the id."""

    id: TargetId
    kind: Literal["plan", "task"] | None = None


Target = TargetId | TargetRef


class ReasoningRef(Value, frozen=True, kw_only=True):
    """Where the reasoning about one plan or task lives."""

    branch: str
    notes_doc: str
    graph_doc: str
    trace_doc: str


class TargetInfo(Value, frozen=True, kw_only=True):
    """A plan or task, as the room that owns it describes it."""

    id: str
    kind: Literal["plan", "task"]
    title: str | None = None
    status: str | None = None


class Entry(Value, frozen=True, kw_only=True):
    """One entry of a document, with the branch it was written on."""

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
    source_event_id: str | None = None

    @property
    def ref(self) -> str:
        return f"{self.doc}@{self.seq}"


class Pagination(Value, frozen=True, kw_only=True):
    """The position of a page; pass `next_cursor`, and `as_of` if present, to get the next one."""

    cursor: int | None
    next_cursor: int | None = None
    has_more: bool
    limit: int
    count: int
    as_of: int | None = None


class CommitNote(Request["NoteCommitted"], frozen=True, kw_only=True):
    """Append a note to the notes of a plan or task, or to a document on a branch."""

    content: Annotated[Text, also("text", "note", "body", "message", "markdown", "value")]
    target: Annotated[Target, _TARGET] | None = None
    branch: Annotated[BranchName, _BRANCH] | None = None
    doc: Annotated[DocName, _DOC] | None = None
    title: Annotated[Title, also("subject", "heading", "name")] | None = None
    format: Format | None = None
    meta: Annotated[Json, also("metadata", "tags", "extra")] | None = None


class NoteCommitted(Result, frozen=True, kw_only=True):
    """The note as stored; its content is cut to 200 characters."""

    entry: Entry
    ref: str
    chars: int


class ShowDocument(Request["Page"], frozen=True, kw_only=True):
    """Read a page of a document, newest page first."""

    target: Annotated[Target, _TARGET] | None = None
    doc_kind: Annotated[Literal["notes", "trace"], also("kind", "type", "doc_type")] = "trace"
    branch: Annotated[BranchName, _BRANCH] | None = None
    doc: Annotated[DocName, _DOC] | None = None
    cursor: Seq | None = None
    limit: Annotated[Limit, LIMIT_WORDS] = 20
    as_of: AsOf | None = None


class Sequential(Value, frozen=True, kw_only=True):
    """The thoughts of a trace as a graph, derived from the entries shown."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    missing: list[int]


class Page(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    entries: list[Entry]
    sequential: Sequential | None = None
    pagination: Pagination


class ListDocuments(Request, frozen=True, kw_only=True):
    """List the documents of a branch."""

    ref: Annotated[BranchName, also("branch", "branch_name")] | None = None
    limit: Limit = 200
    as_of: AsOf | None = None


class DocumentInfo(Value, frozen=True, kw_only=True):
    doc: str
    kind: str
    branch: str
    last_seq: int | None
    last_ts_ms: int | None


class DocumentList(Result, frozen=True, kw_only=True):
    branch: str
    docs: list[DocumentInfo]
    count: int
    has_more: bool


class DiffDocument(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """List entries of a document that `to` shows and `from` lacks."""

    from_: Annotated[BranchName, also("source", "src", "base", "from_branch", "left", "branch")]
    to: Annotated[BranchName, also("dest", "into", "to_branch", "right", "head")]
    doc: DocName = "notes"
    cursor: Seq | None = None
    limit: Annotated[Limit, LIMIT_WORDS] = 20
    as_of: AsOf | None = None


class DocumentDiff(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    to: str
    doc: str
    entries: list[Entry]
    pagination: Pagination


class MergeDocuments(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Copy the notes of one branch into another, each only once."""

    from_: Annotated[BranchName, also("source", "src", "base", "from_branch", "left", "branch")]
    into: Annotated[BranchName, also("to", "dest", "target", "to_branch")] | None = None
    doc: DocName = "notes"
    cursor: Seq | None = None
    limit: MergeLimit = 200
    dry_run: bool = False
    merge_to_base: bool = False


class DocumentsMerged(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    into: str
    doc: str
    merged: int
    skipped: int
    dry_run: bool = False
    pagination: Pagination


class ExportDocuments(Request, frozen=True, kw_only=True):
    """Export the refs, notes and trace of a plan or task, to resume it."""

    target: Annotated[Target, _TARGET] | None = None
    """Defaults to the plan or task in focus."""
    notes_limit: Annotated[int, Meta(ge=0, le=500)] = 20
    trace_limit: Annotated[int, Meta(ge=0, le=500)] = 50
    as_of: AsOf | None = None


class ExportedNotes(Value, frozen=True, kw_only=True):
    branch: str
    doc: str
    entries: list[Entry]
    pagination: Pagination


class ExportedTrace(Value, frozen=True, kw_only=True):
    branch: str
    doc: str
    entries: list[Entry]
    sequential: Sequential | None
    pagination: Pagination


class DocumentExport(Result, frozen=True, kw_only=True):
    target: TargetInfo
    reasoning_ref: ReasoningRef
    notes: ExportedNotes
    trace: ExportedTrace


class SearchDocuments(Request, frozen=True, kw_only=True):
    """Find anything that was written, by a question in plain words; the best answer first.

    `"quoted words"` must follow one another, `-word` must be absent, `word*` is a prefix.
    """

    text: Annotated[str, Meta(min_length=1, max_length=200_000), SEARCH_WORDS]
    kind: Annotated[list[Kind] | Kind, Meta(description=_KINDS), also("kinds", "type")] | None = (
        None
    )
    author: Annotated[str, Meta(min_length=1, max_length=128), also("who", "by")] | None = None
    task: Annotated[Target, _TARGET] | None = None
    since: Annotated[str, Meta(min_length=1, max_length=40, description=_SINCE)] | None = None
    path: (
        Annotated[str, Meta(min_length=1, max_length=400, description="that name this path")] | None
    ) = None
    branch: Annotated[BranchName, _BRANCH] | None = None
    doc: Annotated[DocName, also("document", "doc_id", "doc_name")] | None = None
    order: Literal["best", "newest"] = "best"
    """`newest`: everything that holds all words as they are written, newest first."""
    around: Annotated[int, Meta(ge=0, le=5, description="neighbors in time of each hit")] = 0
    cursor: Seq | None = None
    limit: Annotated[Limit, LIMIT_WORDS] = 20
    as_of: AsOf | None = None
    transcripts: bool = True
    """Also look into the newest sessions of clients on this machine, if you may read them."""


class Neighbor(Value, frozen=True, kw_only=True):
    """What was written just before or after a hit."""

    ref: str
    ts: str
    text: str


class SearchHit(Value, frozen=True, kw_only=True):
    """One hit: `ref` opens it, `text` is the sentence around the words, `why` says which matched.

    `gone` says that it no longer holds, `instead` what replaced it. Pass `at` as `cursor` to go on
    after it.
    """

    ref: str
    seq: int
    ts: str
    kind: str
    text: str
    at: int
    branch: str | None = None
    doc: str | None = None
    id: str | None = None
    title: str | None = None
    type: str | None = None
    who: str | None = None
    task: str | None = None
    status: str | None = None
    gone: str | None = None
    instead: str | None = None
    why: str | None = None
    around: list[Neighbor] | None = None


class TranscriptHit(Value, frozen=True, kw_only=True):
    """A message of a client's session; open it with docs.transcripts.open."""

    path: str
    line: int
    root_dir: str
    role: str
    text: str
    session: str | None = None
    ts: str | None = None
    words: list[str] = []


class ScannedBytes(Value, frozen=True, kw_only=True):
    """How much was read; `truncated` says that older sessions were left out."""

    files: int
    bytes: int
    truncated: bool


class TranscriptsFound(Value, frozen=True, kw_only=True):
    """What clients' sessions of this project say; they are read, not indexed."""

    hits: list[TranscriptHit]
    scanned: ScannedBytes


class SearchResult(Result, frozen=True, kw_only=True):
    """Hits, best first. Words found nowhere are in `unknown`, each with the nearest that exist;
    `dropped` decided nothing; of the words in `bounded` only the newest mentions were considered.
    """

    text: str
    hits: list[SearchHit]
    pagination: Pagination
    unknown: dict[str, list[str]] | None = None
    dropped: list[str] | None = None
    bounded: list[str] | None = None
    transcripts: TranscriptsFound | None = None
    indexed_percent: int | None = None
    """Present while the index is being built: how much of the record it holds."""


class DocEntryOpened(Result, frozen=True, kw_only=True):
    kind: Literal["doc_entry"]
    ref: str
    entry: Entry


class LastEntry(Value, frozen=True, kw_only=True):
    seq: int
    ts: str
    ts_ms: int
    branch: str
    doc: str
    kind: str
