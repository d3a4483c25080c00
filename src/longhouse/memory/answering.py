"""The answer to a search: hits as they are shown, and what to do if they are few."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.lines import one_line, value
from longhouse.kernel.redact import redact_text
from longhouse.kernel.trim import clip_text
from longhouse.memory.branches import NOW
from longhouse.memory.narrowing import Narrowed, read_documents
from longhouse.memory.room import sql
from longhouse.memory.types.documents import (
    Neighbor,
    Pagination,
    SearchDocuments,
    SearchHit,
    SearchResult,
    ShowDocument,
    TranscriptsFound,
)
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.judging import Judge, Judged, in_full
from longhouse.store.recall.ranking import Weighed
from longhouse.store.recall.reading import Reader, Union
from longhouse.store.recall.rebuilding import progress
from longhouse.store.recall.words import clean, terms
from longhouse.store.tx import Tx

__all__ = ["HitPage", "Narrowed", "answer", "lines_of"]

_SNIPPET = 280
_NEIGHBOR = 140
_TITLE = 160
_TEXT = 4_000


class HitPage(NamedTuple):
    """What is to be shown: documents, where each stands, and what is to be said about the words."""

    hits: list[Judged]
    more: bool
    places: list[int]
    next_place: int | None = None
    nearest: dict[str, list[str]] = {}
    dropped: Sequence[str] = ()
    bounded: Sequence[str] = ()
    transcripts: TranscriptsFound | None = None


def answer(
    tx: Tx,
    req: SearchDocuments,
    page: HitPage,
    judge: Judge,
    reader: Reader,
    weighed: Sequence[Weighed],
) -> SearchResult:
    """The result of a search, with suggestions if it is weak."""
    counted = [one.word.shown for one in weighed if not one.word.extra]
    hits = [
        _hit(tx, req, judge, one, at, counted, page.nearest)
        for one, at in zip(page.hits, page.places, strict=False)
    ]
    next_place = page.next_place or (page.places[len(hits) - 1] if page.more and hits else None)
    look = Visibility(as_of=req.as_of, branch=req.branch, doc=req.doc)
    unknown = {word: _spelled(tx, reader, near, look) for word, near in page.nearest.items()}
    spoken = page.transcripts is not None and bool(page.transcripts.hits)
    if (not hits and not spoken) or (
        req.cursor is None and not any(one.whole for one in page.hits)
    ):
        _suggest(tx, req, unknown, counted, empty=not hits)
    far = progress(tx)
    return SearchResult(
        text=clip_text(req.text, _TEXT),
        hits=hits,
        pagination=Pagination(
            cursor=req.cursor,
            next_cursor=next_place if page.more else None,
            has_more=page.more,
            limit=req.limit,
            count=len(hits),
        ),
        unknown=unknown or None,
        dropped=list(page.dropped) or None,
        bounded=list(page.bounded) or None,
        transcripts=page.transcripts,
        indexed_percent=None if far is None else 100 * far[0] // max(1, far[1]),
    )


def lines_of(result: dict[str, Any]) -> list[str]:
    """The answer as lines: a hit each, and what to know about the words."""
    page = result["pagination"]
    head = f"docs.search text={value(result['text'])} hits={len(result['hits'])}"
    lines = [head + (f" more=cursor:{page['next_cursor']}" if page["has_more"] else "")]
    for hit in result["hits"]:
        named = hit.get("type") or hit["kind"]
        place = [named, hit.get("who"), hit["ts"][:10], hit.get("task"), hit.get("status")]
        said = [hit["ref"], *(str(part) for part in place if part)]
        if hit.get("id") and hit["id"] != hit["ref"]:
            said.insert(1, hit["id"])
        if hit.get("gone"):
            said.append(f"{hit['gone'].upper()}" + _by(hit.get("instead")))
        text = ": ".join(part for part in (hit.get("title"), hit["text"]) if part)
        lines.append(f"- {' '.join(said)} | {text} | {hit.get('why') or ''}".rstrip(" |"))
        lines += [f"  {near['ref']} | {near['text']}" for near in hit.get("around") or ()]
    lines += _transcript_lines(result.get("transcripts"))
    for word, near in (result.get("unknown") or {}).items():
        lines.append(f"found nowhere: {word}" + (f"; nearest: {', '.join(near)}" if near else ""))
    if result.get("dropped"):
        lines.append(f"ignored common words: {' '.join(result['dropped'])}")
    if result.get("bounded"):
        lines.append(f"only the newest mentions considered: {' '.join(result['bounded'])}")
    if result.get("indexed_percent") is not None:
        lines.append(f"the index is being built: {result['indexed_percent']} %")
    return lines


def _transcript_lines(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    lines = []
    for hit in found["hits"]:
        place = f"{hit['path']}:{hit['line']}"
        said = ["- transcript", place, hit["role"], (hit.get("ts") or "")[:10]]
        text = f"{one_line(hit['text'])} | {' '.join(hit.get('words') or ())}"
        lines.append(f"{' '.join(part for part in said if part)} | {text}")
    seen = found["scanned"]
    rest = ", older ones were left out" if seen["truncated"] else ""
    return [*lines, f"transcripts read: {seen['files']} files, {seen['bytes']} bytes{rest}"]


def _by(instead: str | None) -> str:
    return f" by {instead}" if instead else ""


def _hit(
    tx: Tx,
    req: SearchDocuments,
    judge: Judge,
    one: Judged,
    at: int,
    counted: Sequence[str],
    guessed: Container[str],
) -> SearchHit:
    document = one.document
    cut = NOW if req.as_of is None else req.as_of
    title = redact_text(document.title) if document.title else None
    return SearchHit(
        ref=document.ref,
        seq=document.seq,
        ts=rfc3339(document.ts_ms),
        branch=document.branch,
        doc=document.doc,
        kind=document.kind,
        type=document.type,
        id=document.id,
        title=clip_text(one_line(title), _TITLE) if title else None,
        text=judge.sentence(document, _SNIPPET),
        who=document.author,
        task=document.task,
        status=document.status,
        gone=document.gone,
        instead=document.instead,
        why=_why(one, counted, guessed),
        at=at,
        around=_neighbors(tx, document, req.around, cut) if req.around else None,
    )


def _why(one: Judged, counted: Sequence[str], guessed: Container[str]) -> str | None:
    """Why it was found; a guessed word is one found nowhere, in whose place the nearest count."""
    if not counted:
        return None
    if not one.matched:
        return f"beside {one.beside}" if one.beside else "it replaced what was found"
    held = [word for word in counted if word in one.matched]
    near = [word for word in held if word in guessed]
    if one.whole and not near:
        return "all words" if len(counted) > 1 else f"has {counted[0]!r}"
    if near and len(counted) == 1:
        return f"has a word like {near[0]!r}"
    said = [f"like {word}" if word in near else word for word in held]
    return f"{len(held)} of {len(counted)} words: {', '.join(said)}"


def _neighbors(tx: Tx, document: Document, count: int, cut: int) -> list[Neighbor] | None:
    """What was written to the same document just before and after."""
    if document.doc_id is None:
        return None
    here = {"doc_id": document.doc_id, "seq": document.seq}
    rows = [
        *reversed(tx.all(sql.entries_just_before, limit=count, **here)),
        *tx.all(sql.entries_just_after, limit=count, cut=cut, **here),
    ]
    return [
        Neighbor(
            ref=f"{document.doc}@{row['seq']}",
            ts=rfc3339(row["ts_ms"]),
            text=clip_text(one_line(redact_text(row["content"])), _NEIGHBOR),
        )
        for row in rows
    ]


def _spelled(tx: Tx, reader: Reader, near: Sequence[str], look: Visibility) -> list[str]:
    """Stems as words that someone wrote and the caller may see."""
    found: dict[str, None] = {}
    nobody = Narrowed(look=look, after=0, before=2**62)
    for stem in near:
        seq = 2**62
        union = Union(reader, [stem])
        for _ in range(5):
            seq = union.seek(seq - 1)
            if seq < 0:
                break
            if word := _word_of(read_documents(tx, [seq], nobody), stem):
                found[word] = None
                break
    return list(found)


def _word_of(documents: Iterable[Document], stem: str) -> str | None:
    for one in documents:
        text = clean(one.title, one.body, *one.ids, *one.tags)
        if any(term == stem for term, _ in terms(text)):
            for word in in_full(text):
                if any(term == stem for term, _ in terms(word)):
                    return str(word)
    return None


def _suggest(
    tx: Tx,
    req: SearchDocuments,
    unknown: dict[str, list[str]],
    counted: Sequence[str],
    *,
    empty: bool,
) -> None:
    """Calls that may find more."""
    corrected = req.text
    for word, near in unknown.items():
        if near:
            corrected = corrected.replace(word, near[0])
    if corrected != req.text:
        tx.suggest(SearchDocuments(text=corrected), "search for the nearest words that exist")
    narrowed = any((req.kind, req.author, req.task, req.since, req.path, req.branch, req.doc))
    if empty and narrowed:
        tx.suggest(SearchDocuments(text=req.text), "search everything")
    if empty and len(counted) > 1:
        rest = [word for word in counted if word not in unknown]
        if rest and len(rest) < len(counted):
            tx.suggest(SearchDocuments(text=" ".join(rest)), "search for the words that exist")
    if empty:
        tx.suggest(ShowDocument(doc_kind="notes"), "read the newest notes", priority="low")
