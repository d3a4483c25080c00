"""Transcripts in the one search: scanned, never indexed, and only where the caller may read them.

The newest sessions of this project are read up to a number of bytes and for a short time. A line is
parsed only if its bytes hold enough of the words; secrets are hidden before the words are compared.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import eq
from pathlib import Path

from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.redact import redact_text
from longhouse.kernel.registry import Role
from longhouse.kernel.terminal import pictured
from longhouse.memory.types.documents import ScannedBytes, TranscriptHit, TranscriptsFound
from longhouse.store.recall.asking import SearchQuery
from longhouse.store.recall.documents import Document
from longhouse.store.recall.judging import Judge, Judged
from longhouse.store.tx import Tx
from longhouse.thinking.facts import ThinkingFacts
from longhouse.thinking.room import room
from longhouse.thinking.transcripts.access import belongs, project_prefix
from longhouse.thinking.transcripts.buffer import Buffer
from longhouse.thinking.transcripts.folders import TranscriptRoot, files_of, open_file
from longhouse.thinking.transcripts.messages import message_of, record_of
from longhouse.thinking.transcripts.reading import BytesLeft, beginning, lines_with
from longhouse.thinking.types.transcripts import OpenTranscript, TranscriptRef

__all__ = ["found_in_transcripts"]

MIB = 1 << 20
BESIDE, ALONE = 4 * MIB, 64 * MIB
"""How much is read beside a search of the record, and if only transcripts are asked for."""
SECONDS = {BESIDE: 0.5, ALONE: 5.0}
_MOST_FILES = {BESIDE: 100, ALONE: 2_000}
_SNIPPET = 280
_SHORTEST = 3


@room.provides("transcripts found")
def found_in_transcripts(
    tx: Tx, asked: SearchQuery, judge: Judge, limit: int, *, alone: bool
) -> TranscriptsFound | None:
    """The best messages of this project's sessions; None if the caller may not read them."""
    if tx.by.role < Role.AGENT:
        return None
    try:
        prefix = project_prefix(tx, None)
    except LonghouseError:
        return None
    scan = _Scan(tx, asked, judge, prefix, ALONE if alone else BESIDE)
    known = tx.facts.of(ThinkingFacts).transcripts
    for path in known:
        if path.is_dir():
            scan.look_into(TranscriptRoot(path, [str(one) for one in known]))
    if not scan.files and not alone:
        return None
    hits = scan.best(limit)
    if hits:
        first = hits[0]
        ref = TranscriptRef(path=first.path, line=first.line)
        tx.suggest(
            OpenTranscript(ref=ref, root_dir=first.root_dir),
            "read the session around the best message",
            priority="low",
        )
    scanned = ScannedBytes(files=scan.files, bytes=scan.budget.read, truncated=scan.truncated)
    return TranscriptsFound(hits=hits, scanned=scanned)


class _Scan:
    """One pass over the newest sessions."""

    def __init__(
        self, tx: Tx, asked: SearchQuery, judge: Judge, prefix: str, most_bytes: int
    ) -> None:
        self._tx = tx
        self._judge = judge
        self._prefix = prefix
        self._needles = needles_of(asked)
        self._until = time.monotonic() + SECONDS[most_bytes]
        self._most_files = _MOST_FILES[most_bytes]
        self._buffer = Buffer()
        self._found: dict[bytes, tuple[Judged, TranscriptHit]] = {}
        self.budget = BytesLeft(most_bytes)
        self.files = 0
        self.truncated = False

    def look_into(self, root: TranscriptRoot) -> None:
        """Read the sessions of one client, newest first."""
        files = files_of(root)
        for file in files:
            if self.files >= self._most_files or self._is_over():
                self.truncated = True
                return
            try:
                self._read(root, file.name)
            except (OSError, LonghouseError):
                continue  # the file disappeared or was replaced meanwhile

    def _is_over(self) -> bool:
        return self.budget.truncated or self.budget.left <= 0 or time.monotonic() > self._until

    def _read(self, root: TranscriptRoot, name: str) -> None:
        with open_file(root, name) as (opened, size):
            header, head = beginning(opened, size, self.budget, self._prefix)
            if not belongs(self._tx, header, self._prefix):
                return
            self.files += 1
            self.budget.give_back(len(head))  # read again below
            for line in lines_with(opened, size, b"", self.budget, self._buffer):
                if self._is_over():
                    self.truncated = True
                    return
                if self._may_answer(line.line):
                    self._take(root.path, name, line.line, line.number, header.session.id)
            self.truncated = self.truncated or self.budget.truncated

    def _may_answer(self, line: bytes) -> bool:
        """Whether a line holds at least half of the words, as far as bytes can tell."""
        if not self._needles:
            return False
        low = line.lower()
        held = sum(any(one in low for one in some) for some in self._needles)
        return held * 2 >= len(self._needles)

    def _take(
        self, root: Path, name: str, line: bytes, number: int | None, session: str | None
    ) -> None:
        record = record_of(line)
        message = message_of(record) if record else None
        if message is None:
            return
        shown = redact_text(message.text)  # first: a search must not guess secrets
        document = Document(
            kind="transcript",
            ref=f"{name}:{number}",
            seq=0,
            ts_ms=0,
            thing=name,
            body=shown,
            author=message.role,
        )
        judged = self._judge.judge(document)
        if judged is None:
            return
        digest = hashlib.sha256(shown.encode(errors="replace")).digest()
        if digest in self._found:
            return
        hit = TranscriptHit(
            path=name,
            line=number or 1,
            root_dir=str(root),
            session=session,
            role=message.role,
            ts=message.ts,
            text=pictured(self._judge.sentence(document, _SNIPPET)),
            words=list(judged.matched),
        )
        self._found[digest] = (judged, hit)

    def best(self, limit: int) -> list[TranscriptHit]:
        def order(one: tuple[Judged, TranscriptHit]) -> tuple[bool, float, str, int]:
            return (not one[0].whole, -one[0].score, one[1].path, one[1].line)

        return [hit for _, hit in sorted(self._found.values(), key=order)[:limit]]


def needles_of(asked: SearchQuery) -> list[Sequence[bytes]]:
    """For each word of a query, bytes of which a line with that word has at least one."""
    return [tuple(_forms(word.shown, word.terms[:1])) for word in asked.words if not word.extra]


def _forms(shown: str, terms: Sequence[tuple[str, float]]) -> Iterator[bytes]:
    plain = shown.rstrip("*")
    yield plain.encode()
    if not plain.isascii():
        escaped = plain.encode("unicode-escape").lower()
        yield escaped
    for term, _ in terms:
        same = sum(1 for _ in takewhile(bool, map(eq, plain, term)))
        if same >= _SHORTEST:
            yield term[:same].encode()
        yield term.encode()
