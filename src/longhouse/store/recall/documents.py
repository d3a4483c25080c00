"""What a room says about one of its rows that search found, and how such a row is indexed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from longhouse.store.recall.index import Text

__all__ = ["Document", "Visibility"]


class Visibility(NamedTuple):
    """What a search may see: the state as of a seq, one branch, one document; None means all.

    With `all`, as for indexing, every version on every branch is read.
    """

    as_of: int | None = None
    branch: str | None = None
    doc: str | None = None
    all: bool = False


class Document(NamedTuple):
    """One row as its room reads it back; documents with the same `thing` are one hit.

    `places` are the seqs at which it may be indexed, if not only at `seq`.
    `gone` says why it no longer holds (superseded, refuted, merged), `instead` what replaced it.
    """

    kind: str
    ref: str
    seq: int
    ts_ms: int
    thing: str
    title: str | None = None
    body: str | None = None
    id: str | None = None
    ids: Sequence[str] = ()
    tags: Sequence[str] = ()
    author: str | None = None
    task: str | None = None
    branch: str | None = None
    doc: str | None = None
    doc_id: int | None = None
    type: str | None = None
    status: str | None = None
    trust: float = 1.0
    gone: str | None = None
    instead: str | None = None
    ranked: bool = True
    places: tuple[int, ...] = ()

    def text(self) -> Text:
        """What it is indexed by."""
        return Text(
            self.seq,
            f"{self.kind} {self.type}" if self.type else self.kind,
            self.title,
            self.body,
            self.ids,
            self.tags,
            self.author,
            self.task,
            self.doc_id,
            self.ranked,
        )
