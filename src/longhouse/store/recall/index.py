"""Indexing: the terms of a document, stored in the transaction that writes what they describe.

A document is known by the seq at which it was written. Its terms first go into one row of
`search_fresh`; whenever enough rows have gathered, `folding.py` moves them into the blocks of each
term. What has an id of its own and goes on saying things (a job, a task) has several documents; the
log says whose they are, and what it says now is read from its room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from longhouse.kernel.redact import is_suspect
from longhouse.store.queries import Queries
from longhouse.store.recall.words import clean, terms
from longhouse.store.tx import Tx

__all__ = ["ENDLESS", "FOLD_AT", "Text", "index_part", "index_text", "index_texts", "sql"]

sql = Queries("longhouse.store.recall")

ENDLESS = 2**62
FOLD_AT = 256
"""How many documents may wait to be folded: a search reads them one by one."""
_LOOK_EVERY = 64
_MOST_CHARS = 120_000
TITLE, EXTRA, TIMES = 1 << 7, 1 << 6, 1 << 3
"""How a byte says where a term occurs: the title, ids or tags, and how often in the body. The last
three bits are the class of the document's length. Zero means that the document is never ranked."""
_ENDS = tuple(f"\t{byte:02x}\n" for byte in range(256))


class Text(NamedTuple):
    """What a document is found by. An unranked one is only found by those who ask for its words."""

    seq: int
    kind: str
    title: str | None = None
    body: str | None = None
    ids: Sequence[str] = ()
    tags: Sequence[str] = ()
    author: str | None = None
    task: str | None = None
    doc_id: int | None = None
    ranked: bool = True


def index_text(tx: Tx, text: Text) -> None:
    """Index an entry, message or anything else that never changes."""
    tx.run(sql.fresh_add, seq=text.seq, part="", terms=compiled(text))
    _fold_soon(tx, text.seq - 1, text.seq)


def index_texts(tx: Tx, texts: Sequence[Text]) -> None:
    """Index several, written together."""
    if len(texts) >= FOLD_AT:
        from longhouse.store.recall.folding import append_all  # rarely needed

        if append_all(tx, texts):
            return
    rows = [{"seq": one.seq, "part": "", "terms": compiled(one)} for one in texts]
    tx.many(sql.fresh_add, rows)
    _fold_soon(tx, texts[0].seq - 1, texts[-1].seq)


def index_part(tx: Tx, text: Text) -> None:
    """Index what something with an id of its own says at this seq, besides what it said before."""
    tx.run(sql.fresh_put, seq=text.seq, part=text.kind, terms=compiled(text))
    _fold_soon(tx, text.seq - 1, text.seq)


def compiled(text: Text) -> bytes:
    """The terms of a document as stored in `search_fresh`: a line each, the byte in hexadecimal."""
    lines = [term + _ENDS[byte] for term, byte in bytes_of(text).items()]
    return f"\n{''.join(lines)}".encode()


def bytes_of(text: Text) -> dict[str, int]:
    """Each term and mark of a document with its byte."""
    extra = " ".join([*text.ids, *text.tags, text.author or ""])
    parts = [text.title or "", text.body or "", extra]
    if is_suspect("\n".join(parts).encode(errors="surrogatepass")):
        parts = [clean(part) for part in parts]
    title, body, others = terms(parts[0]), terms(parts[1]), terms(parts[2])
    size = len(title) + len(body)
    length = min(7, max(0, size.bit_length() - 3))
    found: dict[str, int] = {}
    for term, _ in body:
        byte = found.get(term, length)
        if byte < 7 * TIMES:
            found[term] = byte + TIMES
    for more, bit in ((title, TITLE), (others, EXTRA)):
        for term, _ in more:
            found[term] = found.get(term, length) | bit
    if not text.ranked:
        found = dict.fromkeys(found, 0)
    if sum(map(len, found)) + len(found) > _MOST_CHARS:
        found = _bounded(found)
    found.update(dict.fromkeys(marks_of(text), int(text.ranked)))
    return found


def _bounded(found: dict[str, int]) -> dict[str, int]:
    """The first terms, up to a total length."""
    chars = 0
    for at, term in enumerate(found):
        chars += len(term) + 1
        if chars > _MOST_CHARS:
            return dict(islice(found.items(), at))
    return found


def marks_of(text: Text) -> Iterable[str]:
    """Terms that no text can hold: what a search can be narrowed to."""
    yield mark("all")
    if text.ranked:
        for kind in text.kind.split():
            yield mark("kind", kind)
        if text.author:
            yield mark("author", text.author)
    if text.task:
        yield mark("task", text.task)
    if text.doc_id is not None:
        yield mark("doc", str(text.doc_id))


@lru_cache(4_096)
def mark(what: str, value: str = "") -> str:
    return f"\x01{what} {value.casefold()[:120]}".replace("\n", " ").replace("\t", " ")


def _fold_soon(tx: Tx, before: int, last: int) -> None:
    if before // _LOOK_EVERY == last // _LOOK_EVERY:
        return
    if int(tx.value(sql.fresh_count) or 0) >= FOLD_AT:
        from longhouse.store.recall.folding import fold  # rarely needed

        fold(tx)
