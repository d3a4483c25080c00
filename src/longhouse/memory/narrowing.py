"""What a search is narrowed to: kind, author, task, time, path, branch and document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.names import nearest
from longhouse.memory.branches import ENDLESS
from longhouse.memory.room import sql
from longhouse.memory.types.documents import SearchDocuments, TargetRef
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.index import mark
from longhouse.store.recall.index import sql as recall
from longhouse.store.recall.reading import Reader, as_json
from longhouse.store.recall.words import folded, wholes
from longhouse.store.tx import Tx

__all__ = ["Narrowed", "narrowed", "read_documents"]

_AGO = re.compile(r"(\d{1,6})\s*(m|min|h|d|w)\Z")
_MS = {"m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_ON_BRANCHES = ("entry", "node")
_PLURAL = {"entry": "note", "doc": "note", "process_task": "process"}


class Narrowed(NamedTuple):
    """What may be found: between two seqs, with these marks, and as the caller sees it."""

    look: Visibility
    after: int
    before: int
    marks: tuple[tuple[str, ...], ...] = ()
    kinds: frozenset[str] = frozenset()
    author: str | None = None
    task: str | None = None
    path: str | None = None

    def kept(self, tx: Tx, documents: Iterable[Document]) -> list[Document]:
        """Those that were asked for, with who wrote them."""
        found = [one for one in documents if one.ranked and self._is_asked_for(one)]
        unsigned = [one.seq for one in found if one.author is None]
        rows = tx.all(recall.written_at, seqs=as_json(unsigned)) if unsigned else []
        authors = {row["seq"]: row["actor"] for row in rows}
        made = [
            one if one.author is not None else one._replace(author=authors.get(one.seq))
            for one in found
        ]
        if self.author is None:
            return made
        return [one for one in made if (one.author or "").casefold() == self.author]

    def _is_asked_for(self, one: Document) -> bool:
        if self.kinds and not self.kinds & {one.kind, one.type}:
            return False
        if self.task is not None and self.task not in (one.task, one.id):
            return False
        if self.path is None:
            return True
        return any(self.path in folded(text).replace("\\", "/") for text in _texts(one))


def read_documents(tx: Tx, seqs: list[int], within: Narrowed) -> Iterable[Document]:
    """What the rooms have at these seqs, as far as the caller sees it and asked for it."""
    if not seqs:
        return []
    found: list[Document] = []
    for one in tx.facts.registry.searchables:
        if one.kind in _ON_BRANCHES or not (within.look.branch or within.look.doc):
            found += one.read(tx, seqs, within.look)
    return within.kept(tx, found)


def _texts(one: Document) -> Iterable[str]:
    return (text for text in (one.title, one.body, *one.ids, *one.tags) if text)


def narrowed(tx: Tx, req: SearchDocuments) -> Narrowed:
    """What the request asks for, or InvalidInput."""
    task = req.task.id if isinstance(req.task, TargetRef) else req.task
    kinds = _kinds(tx, [req.kind] if isinstance(req.kind, str) else req.kind or [])
    marks = [tuple(mark("kind", kind) for kind in sorted(kinds))] if kinds else []
    if req.author is not None:
        marks.append((mark("author", req.author),))
    if task is not None:
        marks.append((mark("task", task),))
    path = None
    if req.path is not None:
        path = folded(req.path).replace("\\", "/").strip()
        marks.append(_path_terms(tx, path))
        path = path.strip("/")
    before = ENDLESS if req.as_of is None else req.as_of + 1
    return Narrowed(
        look=Visibility(as_of=req.as_of, branch=req.branch, doc=req.doc),
        after=_since(tx, req.since) if req.since else 0,
        before=before,
        marks=tuple(marks),
        kinds=kinds,
        author=req.author.casefold() if req.author is not None else None,
        task=task,
        path=path,
    )


def _kinds(tx: Tx, asked: Sequence[str]) -> frozenset[str]:
    provided = tx.facts.registry.provided
    cards = frozenset(provided["card types"]()) if "card types" in provided else frozenset()
    known = {one.kind for one in tx.facts.registry.searchables} | cards
    known = (known - {"entry"}) | {"card", "node", "note", "event", "thought"}
    if "transcripts found" in provided:
        known.add("transcript")
    found: set[str] = set()
    for kind in asked:
        name = kind.casefold()
        name = _PLURAL.get(name, name)
        if name not in known and name.removesuffix("s") in known:
            name = name.removesuffix("s")
        if name not in known and not Reader(tx).holds(mark("kind", name)):
            near = nearest(name, sorted(known))
            raise InvalidInput(
                f"kind: nothing is of the kind {kind!r}",
                recovery=f"use one of {', '.join(sorted(known))}",
                hints=[{"kind": "choices", "field": "kind", "nearest": near}],
            )
        found |= cards if name == "card" else {name}
    return frozenset(found)


def _path_terms(tx: Tx, path: str) -> tuple[str, ...]:
    """The terms of a path: the path itself, or whatever is below a folder."""
    if path.endswith("/"):
        return tuple(Reader(tx).starting(path.lstrip("/"))) or ("\x01none",)
    whole = wholes(path.strip("/")) or [path.strip("/")]
    return (whole[0], *Reader(tx).starting(path.strip("/") + "/"))


def _since(tx: Tx, text: str) -> int:
    """The seq before the first log row at or after a time."""
    at = _time(tx, text)
    low, high = 0, tx.last_seq() + 1
    while low < high:  # times in the log never go back
        middle = (low + high) // 2
        row = tx.one(sql.log_after, seq=middle)
        if row is None or row["ts_ms"] >= at:
            high = middle
        else:
            low = row["seq"] + 1
    return low - 1


def _time(tx: Tx, text: str) -> int:
    if match := _AGO.match(text.strip().lower()):
        return tx.now_ms - int(match[1]) * _MS[match[2]]
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f"since: {text[:40]!r} is neither a time nor how long ago",
            recovery="pass a date like 2026-05-01, a time, or 30m, 12h, 7d, 2w",
        ) from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
