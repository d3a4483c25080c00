"""Requests and results of the transcript commands; transcripts are read, never stored."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.kernel.values import Request, Result, Value

__all__ = [
    "DigestItem",
    "DigestTranscripts",
    "Filters",
    "Hit",
    "OpenTranscript",
    "OpenedEntry",
    "Project",
    "ProjectSummary",
    "Scanned",
    "SearchTranscripts",
    "Snippet",
    "Spoken",
    "TranscriptDigest",
    "TranscriptHits",
    "TranscriptOpened",
    "TranscriptRef",
    "TranscriptSession",
]

MIB = 1 << 20
RootDir = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        description="codex, claude, or a folder inside those that the user allows; "
        "defaults to the first that exists",
        examples=["codex"],
    ),
]
Prefix = Annotated[str, Meta(min_length=1, max_length=1000)]
Role = Annotated[str, Meta(min_length=1, max_length=40)]
Files = Annotated[int, Meta(ge=1, le=100_000)]
Bytes = Annotated[int, Meta(ge=1, le=1 << 36)]


class SearchTranscripts(Request["TranscriptHits"], frozen=True, kw_only=True):
    """Search the transcripts of this project's sessions."""

    query: Annotated[str, Meta(min_length=1, max_length=400)]
    root_dir: RootDir | None = None
    cwd_prefix: Prefix | None = None
    role: Role | None = None
    dedupe: bool = True
    max_files: Files = 50
    max_bytes_total: Bytes = 64 * MIB
    hits_limit: Annotated[int, Meta(ge=1, le=500)] = 25
    context_chars: Annotated[int, Meta(ge=0, le=4000, description="characters per side")] = 240


class Filters(Value, frozen=True, kw_only=True):
    cwd_prefix: str
    role: str | None = None
    dedupe: bool | None = None
    mode: str | None = None


class Scanned(Value, frozen=True, kw_only=True):
    """What was scanned; `truncated` means that max_bytes_total stopped the scan."""

    files: int
    bytes: int
    truncated: bool


class TranscriptRef(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record of a transcript: a line counted from 1, or the byte offset where its line begins."""

    path: Annotated[str, Meta(min_length=1, max_length=1000)]
    line: Annotated[int, Meta(ge=1, le=10**9)] | None = None
    byte: Annotated[int, Meta(ge=0, le=1 << 50)] | None = None


class TranscriptSession(Value, frozen=True, kw_only=True):
    id: str | None = None
    ts: str | None = None
    cwd: str | None = None


class Project(Value, frozen=True, kw_only=True):
    id: str
    name: str
    confidence: Literal["high", "medium", "low"]


class ProjectSummary(Project, frozen=True, kw_only=True):
    files: int
    hits: int


class Snippet(Value, frozen=True, kw_only=True):
    role: str
    ts: str | None = None
    snippet: str


class Hit(Value, frozen=True, kw_only=True):
    ref: TranscriptRef
    session: TranscriptSession
    project: Project
    message: Snippet


class TranscriptHits(Result, frozen=True, kw_only=True):
    root_dir: str
    roots: list[str]
    filters: Filters
    scanned: Scanned
    projects: list[ProjectSummary]
    hits: list[Hit]
    has_more_hits: bool


class OpenTranscript(Request["TranscriptOpened"], frozen=True, kw_only=True):
    """Read a transcript around one record."""

    ref: TranscriptRef
    root_dir: RootDir | None = None
    before_lines: Annotated[int, Meta(ge=0, le=200)] = 8
    after_lines: Annotated[int, Meta(ge=0, le=200)] = 8


class OpenedEntry(Value, frozen=True, kw_only=True):
    line: int | None = None
    byte: int
    role: str
    ts: str | None = None
    text: str
    here: bool = False


class TranscriptOpened(Result, frozen=True, kw_only=True):
    root_dir: str
    ref: TranscriptRef
    session: TranscriptSession
    project: Project
    entries: list[OpenedEntry]


class DigestTranscripts(Request["TranscriptDigest"], frozen=True, kw_only=True):
    """Show the outcome of this project's recent sessions."""

    root_dir: RootDir | None = None
    cwd_prefix: Prefix | None = None
    mode: Literal["summary", "last"] = "summary"
    max_files: Files = 720
    max_bytes_total: Bytes = 16 * MIB
    max_items: Annotated[int, Meta(ge=1, le=200)] = 6


class Spoken(Value, frozen=True, kw_only=True):
    role: Literal["assistant"]
    ts: str | None = None
    text: str


class DigestItem(Value, frozen=True, kw_only=True):
    ref: TranscriptRef
    session: TranscriptSession
    message: Spoken


class TranscriptDigest(Result, frozen=True, kw_only=True):
    root_dir: str
    roots: list[str]
    filters: Filters
    scanned: Scanned
    digest: list[DigestItem]
