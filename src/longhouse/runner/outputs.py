"""Stores a job's files, patch and transcripts through the control plane.

Each is stored whole, in several parts if one call cannot carry it, or not at all, with the reason
reported. Only a transcript that is too long is cut: its beginning and end are kept.
"""

from __future__ import annotations

import base64
import hashlib
import os
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from longhouse.executors import AnswerArtifact, NotTaken, open_inside
from longhouse.kernel.errors import LonghouseError
from longhouse.supervisor import StreamCapture

__all__ = ["Outputs", "Stored"]

PART_BYTES = 1_000_000
KEEP_PARTS_S = 3_600
MOST_FILES = 20
KEEP_TRANSCRIPTS_S = 90 * 24 * 3_600
_MEDIA = {
    ".md": "text/markdown",
    ".json": "application/json",
    ".patch": "text/x-diff",
    ".diff": "text/x-diff",
    ".txt": "text/plain",
    ".html": "text/html",
}


Source = BytesIO | FileIO | BufferedReader


class Stores(Protocol):
    """The part of the control plane that accepts artifacts."""

    def offer(self, cmd: str, /, **args: Any) -> Any: ...


class Stored(NamedTuple):
    """A stored artifact; `trouble` says why there is none, or what is missing from it.

    `is_empty` says that there was nothing to store, which is nobody's fault.
    """

    kind: str
    ref: str | None
    digest: str | None = None
    trouble: str | None = None
    is_empty: bool = False


class Outputs:
    """Stores one job's outputs; errors are reported, never fatal. Nothing is read from `never`."""

    def __init__(
        self, plane: Stores, job: str, max_bytes: int, *, never: Path | None = None
    ) -> None:
        self._plane = plane
        self._job = job
        self._max_bytes = max_bytes
        self._never = never

    def transcript(self, number: int, printed: StreamCapture) -> Stored:
        """Everything that was printed or, if that is too much, its beginning and end."""
        name = f"{self._job}-slice-{number}.jsonl"
        source: Source = BytesIO(printed.text().encode("utf-8", "replace"))
        if printed.whole is not None:
            source = printed.whole
            source.seek(0)
        stored = self._add("transcript", name, source, "application/jsonl", KEEP_TRANSCRIPTS_S)
        if printed.whole is None and printed.omitted and stored.ref:
            missing = f"{printed.omitted} bytes of the transcript are left out: {printed.trouble}"
            return stored._replace(trouble=missing)
        return stored

    def patch(self, data: bytes) -> Stored:
        return self._add("patch", f"{self._job}.patch", BytesIO(data), "text/x-diff")

    def files(self, made: list[AnswerArtifact], root: Path) -> list[Stored]:
        """Store the files the agent names, each only if `open_inside` accepts it."""
        stored = [self._file(one, root.resolve()) for one in made[:MOST_FILES]]
        if len(made) > MOST_FILES:
            rest = len(made) - MOST_FILES
            stored.append(Stored("files", None, trouble=f"{rest} more files were left out"))
        return stored

    def _file(self, made: AnswerArtifact, root: Path) -> Stored:
        path = Path(made.path)
        media = _MEDIA.get(path.suffix.lower(), "application/octet-stream")
        try:
            with os.fdopen(open_inside(root, made.path, never=self._never), "rb") as file:
                return self._add(made.kind, path.name, file, media)
        except NotTaken as refused:
            return Stored(made.kind, None, trouble=str(refused))
        except OSError as error:
            return Stored(made.kind, None, trouble=f"{made.path}: {error.strerror}")

    def _add(
        self,
        kind: str,
        name: str,
        source: Source,
        media_type: str,
        expires_in_s: int | None = None,
    ) -> Stored:
        size = source.seek(0, os.SEEK_END)
        source.seek(0)
        if not size:
            return Stored(kind, None, trouble=f"{name} is empty", is_empty=True)
        if size > self._max_bytes:
            most = f"the limit is {self._max_bytes}"
            return Stored(kind, None, trouble=f"{name} has {size} bytes; {most}")
        about: dict[str, Any] = {"name": name[:200], "media_type": media_type, "owner": self._job}
        if expires_in_s:
            about["expires_in_s"] = expires_in_s
        try:
            added = self._send(source, about)
        except LonghouseError as error:
            return Stored(kind, None, trouble=f"{name}: {error.message}")
        return Stored(kind, added["ref"], added["artifact"]["digest"])

    def _send(self, source: Source, about: dict[str, Any]) -> Any:
        """Send it in one call, or in parts that are joined, with the digest of the bytes read."""
        data, following = source.read(PART_BYTES), source.read(PART_BYTES)
        if not following:
            return self._plane.offer("docs.artifact.add", content_b64=_b64(data), **about)
        parts: list[str] = []
        whole = hashlib.sha256()
        while data:
            part = self._plane.offer(
                "docs.artifact.add",
                name=f"{about['name'][:180]}.part-{len(parts)}",
                content_b64=_b64(data),
                expires_in_s=KEEP_PARTS_S,
            )
            parts.append(part["artifact"]["handle"])
            whole.update(data)
            data, following = following, source.read(PART_BYTES)
        return self._plane.offer(
            "docs.artifact.join", parts=parts, digest=whole.hexdigest(), **about
        )


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
