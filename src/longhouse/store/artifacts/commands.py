"""`docs.artifact.*`, and `open` for artifacts: bounded reads of content of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longhouse.kernel.budget import Clip, Drop, Pop, Trim
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.inputs import from_base64
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.disk import sha256
from longhouse.store.artifacts.keeper import artifacts_of
from longhouse.store.artifacts.masking import masked
from longhouse.store.artifacts.owners import refuse_another_owner
from longhouse.store.artifacts.raw import refuse_bytes
from longhouse.store.artifacts.room import room, sql
from longhouse.store.artifacts.text import is_binary
from longhouse.store.artifacts.types import (
    AddArtifact,
    Artifact,
    ArtifactAdded,
    ArtifactList,
    ArtifactPart,
    ArtifactShown,
    ArtifactUsage,
    ListArtifacts,
    ShowArtifact,
)
from longhouse.store.artifacts.view import ArtifactView, Piece
from longhouse.store.tx import Tx

__all__ = ["add_artifact", "list_artifacts", "open_artifact", "show_artifact"]

_PART = 512
_BINARY_PART = 384
_TRIM: list[Trim] = [
    Pop("parts", leave=1, cursor="next_offset"),
    Drop("artifact.gap"),
    Clip("parts.text", 240),
]
_LINES = 200
_EXAMPLE_DIGEST = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def _shown_lines(result: dict[str, Any]) -> list[str]:
    about = result["artifact"]
    head = f"{result['ref']} {about['name']} size={about['size']} state={about['state']}"
    head += f" id={about['id']}"
    if result.get("skipped_bytes"):
        head += f" skipped={result['skipped_bytes']}"
    text = "".join(part["text"] for part in result["parts"])
    more = [f"MORE: offset_bytes={result['next_cursor']}"] if result["has_more"] else []
    return [head, *text.splitlines(), *more]


@room.command(
    "docs.artifact.show",
    also="docs.artifact.get docs.artifact.read download artifacts.show docs.artifact.open "
    "context.refs.artifact",
    example=ShowArtifact(id=f"artifact:{_EXAMPLE_DIGEST[:12]}", tail_lines=50),
    trim=_TRIM,
    lines=_shown_lines,
)
def show_artifact(tx: Tx, req: ShowArtifact) -> ArtifactShown:
    """Read an artifact or a growing log: a range of bytes or lines, or its last lines."""
    ways = ("offset_bytes", "line", "tail_lines")
    given = [way for way in ways if getattr(req, way) is not None]
    if len(given) > 1:
        raise InvalidInput(
            f"{given[1]}: cannot be combined with {given[0]}",
            recovery="give one of offset_bytes, line and tail_lines",
        )
    keeper = artifacts_of(tx)
    artifact = keeper.find(tx, req.id)
    view = keeper.view(artifact, tx.ws)
    if req.line is not None or (req.lines is not None and not given):
        piece = view.lines(req.line or 1, req.lines or _LINES, req.bytes)
    elif req.tail_lines is not None:
        piece = view.last_lines(req.tail_lines, req.bytes)
    else:
        piece = view.text(req.offset_bytes or 0, req.bytes)
    if is_binary(piece.data, artifact.media_type):
        refuse_bytes(tx, artifact, view)
    shown = _shown(artifact, view, piece)
    if shown.has_more:
        tx.suggest(ShowArtifact(id=req.id, offset_bytes=shown.next_cursor), "read more")
    return shown


@room.command(
    "docs.artifact.list",
    also="artifacts.list artifacts files",
    example=ListArtifacts(limit=10),
    trim=[Pop("artifacts", cursor="seq", leave=1), Drop("artifacts.media_type")],
)
def list_artifacts(tx: Tx, req: ListArtifacts) -> ArtifactList:
    """Page through this workspace's artifacts, newest first."""
    before = 2**53 if req.cursor is None else req.cursor
    rows = tx.all(sql.artifacts_before, before=before, owner=req.owner, limit=req.limit + 1)
    page = [_listed(row) for row in rows[: req.limit]]
    more = len(rows) > req.limit
    return ArtifactList(
        artifacts=page,
        count=len(page),
        has_more=more,
        next_cursor=page[-1].seq if more else None,
        usage=ArtifactUsage(
            used_bytes=int(tx.value(sql.usage_now) or 0),
            quota_bytes=artifacts_of(tx).quota_bytes,
        ),
    )


def _stage(tx: Tx, req: AddArtifact) -> Blob:
    """Store the bytes before the write that records them, so that other writes do not wait."""
    refuse_another_owner(tx, req.owner)
    data, keeper = _content(req), artifacts_of(tx)
    blob = Blob(sha256(data).hexdigest(), len(data))
    keeper.expect(tx, blob, name=req.name, owner=req.owner)
    return keeper.stage(data, now_ms=tx.now_ms)


def _content(req: AddArtifact) -> bytes:
    if (req.content is None) == (req.content_b64 is None):
        raise InvalidInput("content: give either content or content_b64")
    if req.content is not None:
        return req.content.encode()
    return from_base64("content_b64", req.content_b64 or "")


def _media_type(req: AddArtifact) -> str:
    text = req.content is not None
    return req.media_type or ("text/plain" if text else "application/octet-stream")


@room.command(
    "docs.artifact.add",
    also=(
        "upload artifacts.add artifacts.create docs.artifact.create docs.artifact.upload "
        "attach artifact"
    ),
    writes=True,
    additive=True,
    idempotent=True,
    ahead=_stage,
    example=AddArtifact(name="report.md", content="# All tests pass\n", media_type="text/markdown"),
)
def add_artifact(tx: Tx, req: AddArtifact, blob: Blob) -> ArtifactAdded:
    """Store text or bytes under their digest; storing the same again adds nothing."""
    expires = None if req.expires_in_s is None else tx.now_ms + req.expires_in_s * 1000
    artifact, created = artifacts_of(tx).record(
        tx,
        blob,
        name=req.name,
        media_type=_media_type(req),
        owner=req.owner,
        expires_at_ms=expires,
    )
    return ArtifactAdded(ref=artifact.ref, artifact=artifact, created=created)


@room.opens(
    "artifact",
    r"artifact:[0-9a-f]{8,64}|ART-[0-9]{3,12}",
    "an artifact, like artifact:2cf24dba5fb0 or by its id",
    "ART-001",
)
def open_artifact(tx: Tx, req: object, match: re.Match[str]) -> ArtifactShown:
    """The beginning of an artifact, and how to read more."""
    return show_artifact(tx, ShowArtifact(id=match[0], bytes=4096))


def _listed(row: dict[str, Any]) -> Artifact:
    """The artifact for a list, where `seq` is the cursor."""
    return Artifact.from_row({**row, "last_seq": row["created_seq"]})


def _shown(artifact: Artifact, view: ArtifactView, piece: Piece) -> ArtifactShown:
    growing = artifact.state == "growing"
    end = view.size
    binary = is_binary(piece.data, artifact.media_type)
    if not binary:
        piece, end = masked(view, piece, growing=growing)
    parts = list(_binary_parts(piece) if binary else _text_parts(piece))
    more = piece.next_offset < end
    return ArtifactShown(
        kind="artifact",
        ref=artifact.ref,
        artifact=artifact,
        encoding="base64" if binary else "text",
        parts=parts,
        count=len(parts),
        has_more=more,
        next_cursor=piece.next_offset if more or growing else None,
        first_line=piece.first_line,
        skipped_bytes=piece.skipped,
    )


def _binary_parts(piece: Piece) -> Iterator[ArtifactPart]:
    import base64

    for at in range(0, len(piece.data), _BINARY_PART):
        run = piece.data[at : at + _BINARY_PART]
        yield _part(piece.offset + at, len(run), base64.b64encode(run).decode())


def _text_parts(piece: Piece) -> Iterator[ArtifactPart]:
    """Runs of about half a kilobyte that end at a line break where possible."""
    text = piece.data.decode("utf-8", "surrogateescape")
    at, offset = 0, piece.offset
    while at < len(text):
        end = min(at + _PART, len(text))
        if end < len(text) and (line := text.rfind("\n", at, end)) > at:
            end = line + 1
        run = text[at:end].encode("utf-8", "surrogateescape")
        yield _part(offset, len(run), run.decode("utf-8", "replace"))
        at, offset = end, offset + len(run)


def _part(offset: int, length: int, text: str) -> ArtifactPart:
    return ArtifactPart(offset_bytes=offset, next_offset=offset + length, text=text)
