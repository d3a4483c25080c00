"""`docs.search`: a question in plain words, answered from everything that rooms declare searchable.

The index proposes documents, their rooms read them back as the caller may see them, and what they
say decides. The number of documents read per call is bounded; paging goes on where a page ended.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.memory.answering import HitPage, Narrowed, answer, lines_of
from longhouse.memory.beside import with_neighbors
from longhouse.memory.branches import ENDLESS
from longhouse.memory.narrowing import narrowed, read_documents
from longhouse.memory.replacing import behind_what_replaced
from longhouse.memory.room import room
from longhouse.memory.types.documents import SearchDocuments, SearchResult, TranscriptsFound
from longhouse.store.recall.asking import SearchQuery, parsed
from longhouse.store.recall.documents import Document
from longhouse.store.recall.judging import Judge, Judged
from longhouse.store.recall.locating import ask, located
from longhouse.store.recall.nearest import nearest_terms
from longhouse.store.recall.ranking import Weighed, candidates, weigh
from longhouse.store.recall.reading import Reader
from longhouse.store.recall.words import STOP
from longhouse.store.tx import Tx

__all__ = ["find_documents", "search_documents"]

_AT_ONCE = 96
_MOST_LOOKED_AT = 960
_MOST_LOCATED = 2_000
_GUESSED = 0.5
_MOST_SPOKEN = 5
_PLACES = 1 << 20


@room.command(
    "docs.search",
    also="find grep query notes.search memory.search vcs.search recall ask memory.recall",
    example=SearchDocuments(text="why does the login test fail"),
    trim=[
        Clip("text", 400),
        Drop("hits.around"),
        Pop("transcripts.hits", leave=1),
        Clip("hits.text", 120),
        Clip("transcripts.hits.text", 120),
        Pop("hits", leave=1, cursor="at"),
        Clip("hits.text", 40),
    ],
    lines=lines_of,
    slow=True,
)
def search_documents(tx: Tx, req: SearchDocuments) -> SearchResult:
    """Find anything that was written, by a question in plain words; the best answer first."""
    return find_documents(tx, req, transcripts=req.transcripts)


def find_documents(tx: Tx, req: SearchDocuments, *, transcripts: bool = False) -> SearchResult:
    """The same; transcripts are on this machine, not in the store, and not everybody wants them."""
    within = narrowed(tx, req)
    if req.order == "newest":
        return _newest(tx, req, within)
    asked = parsed(req.text)
    if all(word.shown in STOP for word in asked.words):
        return _newest(tx, req, within)
    reader = Reader(tx)
    weighed = weigh(reader, asked.words, within.before)
    nearest = _nearest(reader, weighed)
    weighed = [_guessed(reader, one, nearest, within) for one in weighed]
    found = candidates(
        reader, asked, weighed, before=within.before, after=within.after, marks=within.marks
    )
    average = max(8.0, reader.words / max(1, reader.docs) - 3)
    judge = Judge(asked, weighed, average, tx.last_seq())
    everything = [one._replace(terms=one.word.terms or one.terms) for one in weighed]
    spoken = Judge(asked, everything, average, tx.last_seq())
    start = _offset(req)
    ranked = _ranked(tx, judge, [seq for seq, _ in found.ranked], within)
    hits = list(islice(ranked, start, start + req.limit + 1))
    page = HitPage(
        hits=hits[: req.limit],
        more=len(hits) > req.limit,
        places=[_sign(req) * _PLACES + start + at + 1 for at in range(len(hits))],
        nearest=nearest,
        dropped=list(asked.dropped),
        bounded=found.bounded,
        transcripts=_transcripts(tx, req, asked, spoken, within) if transcripts else None,
    )
    return answer(tx, req, page, judge, reader, weighed)


def _transcripts(
    tx: Tx, req: SearchDocuments, asked: SearchQuery, judge: Judge, within: Narrowed
) -> TranscriptsFound | None:
    """What clients' sessions say, unless the search is narrowed to what only the record has."""
    look = tx.facts.registry.provided.get("transcripts found")
    alone = within.kinds == {"transcript"}
    narrow = (req.author, req.task, req.since, req.path, req.branch, req.doc, req.as_of, req.cursor)
    if look is None or any(one is not None for one in narrow) or (within.kinds and not alone):
        return None
    found: TranscriptsFound | None = look(
        tx, asked, judge, req.limit if alone else min(req.limit, _MOST_SPOKEN), alone=alone
    )
    return found


def _ranked(tx: Tx, judge: Judge, seqs: list[int], within: Narrowed) -> Iterator[Judged]:
    """Documents by what they say, best first; a part of the candidates after the other."""
    told: set[str] = set()
    for at in range(0, min(len(seqs), _MOST_LOOKED_AT), _AT_ONCE):
        best: dict[str, Judged] = {}
        for document in read_documents(tx, seqs[at : at + _AT_ONCE], within):
            if document.thing in told:
                continue
            judged = judge.judge(document)
            held = best.get(document.thing)
            if judged and (held is None or _order(judged) < _order(held)):
                best[document.thing] = judged
        told.update(best)
        some = sorted(best.values(), key=_order)
        if at == 0:
            some = sorted(with_neighbors(tx, some, judge, within, told), key=_order)
        yield from behind_what_replaced(tx, some, judge, within, told)


def _order(judged: Judged) -> tuple[bool, float, int, str]:
    gone = judged.document.gone is not None
    return (not judged.whole, -judged.score, -judged.document.seq, f"{gone}{judged.document.ref}")


def _newest(tx: Tx, req: SearchDocuments, within: Narrowed) -> SearchResult:
    """Everything that holds all words as they are written, newest first."""
    query = ask(req.text)
    reader = Reader(tx)
    before = min(within.before, req.cursor if req.cursor is not None else ENDLESS)
    seqs = located(reader, query, before=before)
    hits: list[Document] = []
    told: set[str] = set()
    more_from = None
    looked_at = 0
    while more_from is None and (chunk := list(islice(seqs, req.limit + 1))):
        read = read_documents(tx, [seq for seq in chunk if seq > within.after], within)
        by_seq: dict[int, list[Document]] = {}
        for one in read:
            if query.matches(one.title, one.body, *one.ids) and one.ref not in told:
                told.add(one.ref)
                by_seq.setdefault(one.seq, []).append(one)
        hits += [one for seq in sorted(by_seq, reverse=True) for one in by_seq[seq]]
        looked_at += len(chunk)
        if len(hits) > req.limit:
            more_from = hits[req.limit - 1].seq
        elif chunk[-1] <= within.after:
            break
        elif looked_at >= _MOST_LOCATED:
            more_from = chunk[-1]
    asked = SearchQuery((), (), (), ())
    words = parsed(" ".join(word for word, _ in query.terms)).words
    judge = Judge(asked, weigh(reader, words, within.before), 30.0, tx.last_seq())
    shown = [Judged(one, 0.0, True, ()) for one in hits[: req.limit]]
    page = HitPage(
        hits=shown,
        more=more_from is not None,
        places=[one.document.seq for one in shown],
        next_place=more_from,
    )
    return answer(tx, req, page, judge, reader, [])


def _nearest(reader: Reader, weighed: list[Weighed]) -> dict[str, list[str]]:
    """For each word found nowhere, the terms that come nearest."""
    lost = [one.word for one in weighed if not one.found and not one.word.extra]
    return {word.shown: nearest_terms(reader, word.shown) for word in lost[:6]}


def _guessed(
    reader: Reader, one: Weighed, nearest: dict[str, list[str]], within: Narrowed
) -> Weighed:
    """A word found nowhere, replaced by the nearest, at less weight."""
    near = nearest.get(one.word.shown)
    if not near or one.terms:
        return one
    word = one.word._replace(terms=tuple((term, 1.0) for term in near))
    made = weigh(reader, [word], within.before)[0]
    return made._replace(idf=made.idf * _GUESSED)


def _sign(req: SearchDocuments) -> int:
    """What a cursor of this query is recognized by."""
    asked = (
        req.text,
        req.kind,
        req.author,
        str(req.task),
        req.since,
        req.path,
        req.branch,
        req.doc,
    )
    return zlib.crc32(repr((asked, req.as_of)).encode()) & 0xFFFFFF


def _offset(req: SearchDocuments) -> int:
    if req.cursor is None:
        return 0
    sign, offset = divmod(req.cursor, _PLACES)
    if sign != _sign(req):
        raise InvalidInput(
            "cursor: it belongs to another query",
            recovery="pass the cursor with the arguments it came with, or leave it out",
        )
    return offset
