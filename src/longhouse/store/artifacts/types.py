"""The metadata of an artifact, and the requests and results of its commands."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import ANY_TEXT, Limit, Request, Result, Seq, Title, Value
from longhouse.store.artifacts.growing import Gap
from longhouse.store.engine import Row

__all__ = [
    "AddArtifact",
    "Artifact",
    "ArtifactAdded",
    "ArtifactList",
    "ArtifactPart",
    "ArtifactShown",
    "JoinArtifacts",
    "ListArtifacts",
    "ShowArtifact",
]

MediaType = Annotated[
    str,
    Meta(
        max_length=100,
        pattern=r"^[a-z0-9.+-]+/[a-zA-Z0-9.+-]+(;.*)?$",
        examples=["text/plain"],
    ),
]


class GapShown(Value, frozen=True, kw_only=True):
    """What the cap cut out, in offsets of the whole stream."""

    offset_bytes: int
    bytes: int
    lines: int


class Artifact(Value, frozen=True, kw_only=True):
    """One artifact. `id` is its digest, or its handle while it has none."""

    id: str
    ref: str
    handle: str
    name: str
    media_type: str
    state: Literal["growing", "sealed"]
    size: int
    created_at_ms: int
    digest: str | None = None
    owner: str | None = None
    gap: GapShown | None = None
    expires_at_ms: int | None = None
    seq: int = 0

    @classmethod
    def from_row(cls, row: Row) -> Artifact:
        digest, handle = row["digest"], row["handle"]
        return cls(
            id=digest or handle,
            ref=f"artifact:{digest[:12]}" if digest else handle,
            handle=handle,
            name=row["name"],
            media_type=row["media_type"],
            state=row["state"],
            size=row["size"],
            created_at_ms=row["created_at_ms"],
            digest=digest,
            owner=row["owner"],
            gap=None
            if row["gap_at"] is None
            else GapShown(
                offset_bytes=row["gap_at"], bytes=row["gap_bytes"], lines=row["gap_lines"]
            ),
            expires_at_ms=row["expires_at_ms"],
            seq=row["last_seq"],
        )

    @property
    def cut(self) -> Gap | None:
        return Gap(self.gap.offset_bytes, self.gap.bytes, self.gap.lines) if self.gap else None


class ShowArtifact(Request, frozen=True, kw_only=True):
    """Read an artifact: bytes from an offset, lines from a line, or its last lines."""

    id: Annotated[str, Meta(min_length=1, max_length=80)]
    offset_bytes: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    line: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    tail_lines: Annotated[int, Meta(ge=1, le=2000)] | None = None
    lines: Annotated[int, Meta(ge=1, le=2000)] | None = None
    """How many lines, starting at `line` or the first; 200 by default."""
    bytes: Annotated[int, Meta(ge=1, le=65_536)] = 16_384


class ArtifactPart(Value, frozen=True, kw_only=True):
    """A run of the content; joined in order, the parts make up the range that was read."""

    offset_bytes: int
    next_offset: int
    text: str


class ArtifactShown(Result, frozen=True, kw_only=True):
    kind: Literal["artifact"]
    ref: str
    artifact: Artifact
    encoding: Literal["text", "base64"]
    parts: list[ArtifactPart]
    count: int
    has_more: bool
    next_cursor: int | None
    first_line: int | None = None
    skipped_bytes: int = 0


class ListArtifacts(Request, frozen=True, kw_only=True):
    """Page through artifacts, newest first."""

    owner: Annotated[str, Meta(min_length=1, max_length=160)] | None = None
    cursor: Seq | None = None
    limit: Limit = 20


class ArtifactUsage(Value, frozen=True, kw_only=True):
    used_bytes: int
    quota_bytes: int


class ArtifactList(Result, frozen=True, kw_only=True):
    artifacts: list[Artifact]
    count: int
    has_more: bool
    next_cursor: int | None
    usage: ArtifactUsage


Content = Annotated[str, Meta(min_length=1, max_length=1_000_000, pattern=ANY_TEXT)]
"""A file's text, which may be only white space."""


class AddArtifact(Request, frozen=True, kw_only=True):
    """Store text, or bytes as base64."""

    name: Annotated[Title, also("filename", "file", "path", "title")]
    content: Annotated[Content, also("body", "text", "data")] | None = None
    content_b64: Annotated[str, Meta(min_length=1, max_length=1_400_000)] | None = None
    media_type: MediaType | None = None
    owner: Annotated[str, Meta(min_length=1, max_length=160)] | None = None
    expires_in_s: Annotated[int, Meta(ge=1, le=10**9)] | None = None


class JoinArtifacts(Request, frozen=True, kw_only=True):
    """Make one artifact from parts that are already stored."""

    name: Title
    parts: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=80)]], Meta(min_length=1, max_length=512)
    ]
    digest: Annotated[
        str,
        Meta(
            pattern=r"\A[0-9a-f]{64}\Z",
            description="SHA-256 of the whole",
            examples=["0" * 64],
        ),
    ]
    media_type: MediaType = "application/octet-stream"
    owner: Annotated[str, Meta(min_length=1, max_length=160)] | None = None
    expires_in_s: Annotated[int, Meta(ge=1, le=10**9)] | None = None


class ArtifactAdded(Result, frozen=True, kw_only=True):
    ref: str
    artifact: Artifact
    created: bool
