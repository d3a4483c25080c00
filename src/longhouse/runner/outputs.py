"""What a job leaves behind, stored through the surface: files, a patch, transcripts."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.executors.base import Made

__all__ = ["Outputs", "Stored"]

MOST_BYTES = 1_000_000
MOST_FILES = 20
KEEP_TRANSCRIPTS_S = 90 * 24 * 3_600
_MEDIA = {".md": "text/markdown", ".json": "application/json", ".patch": "text/x-diff",
          ".diff": "text/x-diff", ".txt": "text/plain", ".html": "text/html"}  # fmt: skip


class Writes(Protocol):
    """As far as artifacts go, the control plane."""

    def write(self, cmd: str, /, **args: Any) -> Any: ...


class Stored(NamedTuple):
    """An artifact, or in words why there is none."""

    kind: str
    ref: str | None
    digest: str | None = None
    trouble: str | None = None


class Outputs:
    """Stores what one job makes; trouble is told, never fatal."""

    def __init__(self, plane: Writes, job: str) -> None:
        self._plane = plane
        self._job = job

    def transcript(self, number: int, text: str) -> Stored:
        name = f"{self._job}-slice-{number}.jsonl"
        data = text.encode("utf-8", "replace")
        return self._add("transcript", name, data, "application/jsonl", KEEP_TRANSCRIPTS_S)

    def patch(self, data: bytes) -> Stored:
        return self._add("patch", f"{self._job}.patch", data, "text/x-diff")

    def files(self, made: list[Made], root: Path) -> list[Stored]:
        """The files that the agent names, as far as they lie below the folder it worked in."""
        stored = [self._file(one, root.resolve()) for one in made[:MOST_FILES]]
        if len(made) > MOST_FILES:
            rest = len(made) - MOST_FILES
            stored.append(Stored("files", None, trouble=f"{rest} more files were left out"))
        return stored

    def _file(self, made: Made, root: Path) -> Stored:
        path = (root / made.path).resolve()
        if not path.is_relative_to(root):
            return Stored(made.kind, None, trouble=f"{made.path} lies outside of {root.name}")
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            return Stored(made.kind, None, trouble=f"{made.path}: {error.strerror}")
        media = _MEDIA.get(path.suffix.lower(), "application/octet-stream")
        return self._add(made.kind, path.name, data, media)

    def _add(
        self, kind: str, name: str, data: bytes, media_type: str, expires_in_s: int | None = None
    ) -> Stored:
        if not data:
            return Stored(kind, None, trouble=f"{name} is empty")
        if len(data) > MOST_BYTES:
            return Stored(kind, None, trouble=f"{name} is over {MOST_BYTES} bytes")
        more = {"expires_in_s": expires_in_s} if expires_in_s else {}
        try:
            added = self._plane.write(
                "docs.artifact.add", name=name[:200], media_type=media_type, owner=self._job,
                content_b64=base64.b64encode(data).decode(), **more,
            )  # fmt: skip
        except LonghouseError as error:
            return Stored(kind, None, trouble=f"{name}: {error.message}")
        return Stored(kind, added["ref"], added["artifact"]["digest"])
