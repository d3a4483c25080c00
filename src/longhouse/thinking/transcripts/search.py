"""`docs.transcripts.search`: searches the transcripts of this project's sessions.

A line is parsed only if its bytes can contain the query, so a search costs little more than reading
the files.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter

from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.redact import redact_text
from longhouse.kernel.registry import Role
from longhouse.kernel.terminal import pictured
from longhouse.store.tx import Tx
from longhouse.thinking.room import room
from longhouse.thinking.transcripts.access import belongs, project_prefix
from longhouse.thinking.transcripts.buffer import Buffer
from longhouse.thinking.transcripts.folders import (
    File,
    TranscriptRoot,
    files_of,
    open_file,
    root_of,
)
from longhouse.thinking.transcripts.messages import (
    TranscriptHeader,
    TranscriptMessage,
    message_of,
    project_of,
    record_of,
)
from longhouse.thinking.transcripts.reading import BytesLeft, beginning, lines_with
from longhouse.thinking.types.transcripts import (
    Filters,
    Hit,
    Project,
    ProjectSummary,
    Scanned,
    SearchTranscripts,
    Snippet,
    TranscriptHits,
    TranscriptRef,
)

__all__ = ["search_transcripts"]

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;()\[\]{}=+*#@!?|~^$%'-]+")
"""Characters that JSON never escapes."""


@room.command(
    "docs.transcripts.search",
    also="transcripts",
    role=Role.AGENT,
    slow=True,
    example=SearchTranscripts(query="cache"),
    trim=[Clip("hits.message.snippet", 200), Pop("hits", leave=1), Pop("projects", leave=1)],
)
def search_transcripts(tx: Tx, req: SearchTranscripts) -> TranscriptHits:
    """Search the transcripts of this project's sessions; case-sensitive."""
    prefix = project_prefix(tx, req.cwd_prefix)
    root = root_of(tx, req.root_dir)
    search = _Search(tx, root, req, prefix)
    files = files_of(root)
    for file in files[: req.max_files]:
        search.look_into(file)
        if search.full or search.budget.truncated:
            break
    if search.budget.truncated:
        tx.warn(
            "TRANSCRIPTS_SCAN_TRUNCATED",
            f"the search stopped after {search.budget.read} bytes",
            f"pass max_bytes_total={req.max_bytes_total * 2}",
        )
    elif len(files) > req.max_files and not search.full:
        tx.warn(
            "TRANSCRIPTS_MAX_FILES_REACHED",
            f"{len(files) - req.max_files} older files were not opened",
            f"pass max_files={min(len(files), 100_000)}",
        )
    return TranscriptHits(
        root_dir=str(root.path),
        roots=root.known,
        filters=Filters(cwd_prefix=prefix, role=req.role, dedupe=req.dedupe),
        scanned=Scanned(
            files=search.files, bytes=search.budget.read, truncated=search.budget.truncated
        ),
        projects=search.projects(),
        hits=search.hits,
        has_more_hits=search.full,
    )


class _Search:
    """One search over many files."""

    def __init__(self, tx: Tx, root: TranscriptRoot, req: SearchTranscripts, prefix: str) -> None:
        self._tx = tx
        self._root = root
        self._req = req
        self._prefix = prefix
        self._needle = max(_PLAIN.findall(req.query), key=len, default="").encode()
        self._seen: set[tuple[str, str, bytes]] = set()
        self._of: dict[str, Project] = {}
        self._files: Counter[str] = Counter()
        self._hits: Counter[str] = Counter()
        self._buffer = Buffer()
        self.budget = BytesLeft(req.max_bytes_total)
        self.hits: list[Hit] = []
        self.files = 0
        self.full = False

    def look_into(self, file: File) -> None:
        """Search one file, if its session belongs to the project."""
        try:
            with open_file(self._root, file.name) as (opened, size):
                self.files += 1
                header, head = beginning(opened, size, self.budget, self._prefix)
                if not belongs(self._tx, header, self._prefix):
                    return
                project = project_of(header)
                self._of[project.id] = project
                self._files[project.id] += 1
                self.budget.give_back(len(head))  # read again below
                for found in lines_with(opened, size, self._needle, self.budget, self._buffer):
                    record = record_of(found.line)
                    message = message_of(record) if record else None
                    if message is not None:
                        place = TranscriptRef(path=file.name, line=found.number)
                        self._take(message, place, header, project)
                    if self.full:
                        return
        except (OSError, LonghouseError):
            return  # the file disappeared or was replaced during the search

    def _take(
        self,
        message: TranscriptMessage,
        place: TranscriptRef,
        header: TranscriptHeader,
        project: Project,
    ) -> None:
        req = self._req
        if req.query not in message.text or req.role not in (None, message.role):
            return
        # Only what an answer may show can match: otherwise a search would guess secrets.
        shown = redact_text(message.text)
        at = shown.find(req.query)
        if at < 0:
            return
        if req.dedupe:
            digest = hashlib.sha256(shown.encode(errors="replace")).digest()
            key = (project.id, message.role, digest)
            if key in self._seen:
                return
            self._seen.add(key)
        if len(self.hits) >= req.hits_limit:
            self.full = True
            return
        self._hits[project.id] += 1
        self.hits.append(
            Hit(
                ref=place,
                session=header.session,
                project=project,
                message=Snippet(
                    role=message.role,
                    ts=message.ts,
                    snippet=pictured(snippet(shown, req.query, at, req.context_chars)),
                ),
            )
        )

    def projects(self) -> list[ProjectSummary]:
        """The projects searched, most hits first."""
        made = [
            ProjectSummary(
                id=one.id,
                name=one.name,
                confidence=one.confidence,
                files=self._files[one.id],
                hits=self._hits[one.id],
            )
            for one in self._of.values()
        ]
        return sorted(made, key=lambda one: (-one.hits, -one.files, one.id))


def snippet(shown: str, query: str, at: int, around: int) -> str:
    """The query with some text on each side, cut from text whose secrets are hidden."""
    start, stop = max(at - around, 0), at + len(query) + around
    return f"{'…' if start else ''}{shown[start:stop]}{'…' if stop < len(shown) else ''}"
