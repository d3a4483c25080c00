"""Citations: which records a card cites, and what cites a record.

The index is only a hint. Whether a card still cites something is read from its current version.
"""

from __future__ import annotations

from collections.abc import Iterable

from longhouse.kernel.errors import UnknownId
from longhouse.kernel.opening import opens
from longhouse.kernel.refs import ref_grammar
from longhouse.memory.types.graph import Node
from longhouse.store.tx import Tx
from longhouse.thinking.finding import find_card
from longhouse.thinking.room import sql
from longhouse.thinking.types.cards import Citation
from longhouse.work import steps_shown_by

__all__ = ["MOST_REFS", "cite", "cited_by", "cites_the_same", "refs_in"]

MOST_REFS = 64
_MOST_CITERS = 50


def refs_in(
    tx: Tx,
    given: Iterable[str] | None,
    *texts: str | None,
    before: Node | None = None,
    own_id: str | None = None,
) -> list[str]:
    """The refs of a card: those it lists, which must open, and those its text mentions, if they do.

    If `given` is None, the refs listed by the previous version stay. A card does not cite itself.
    """
    named = _listed(given, own_id)
    if given is None and before is not None:
        said = [*_mentions(before.title), *_mentions(before.text)]
        named = [ref for ref in (before.meta or {}).get("refs") or () if ref not in said]
    for ref in named if given is not None else ():
        if opens(tx, ref) is False:
            raise UnknownId(
                f"card.refs: there is no {ref}",
                recovery="cite refs that `open` accepts, or leave it out",
            )
    mentioned = (ref for text in texts for ref in _mentions(text))
    found = [
        ref
        for ref in dict.fromkeys(mentioned)
        if ref not in named and ref != own_id and opens(tx, ref)
    ]
    return [*named, *found][:MOST_REFS]


def cites_the_same(before: Node, given: Iterable[str] | None, refs: Iterable[str]) -> bool:
    """Whether a repeated card cites what it did, apart from records that its text mentions.

    Something that it mentions may have been made, or removed, since it was written.
    """
    then = set((before.meta or {}).get("refs") or ())
    mentioned = {*_mentions(before.title), *_mentions(before.text)}
    listed = set(_listed(given, before.id))
    return listed <= then and (then ^ set(refs)) <= mentioned


def _listed(given: Iterable[str] | None, own_id: str | None) -> list[str]:
    named = dict.fromkeys(ref.strip() for ref in given or ())
    return [ref for ref in named if ref and ref != own_id]


def _mentions(text: str | None) -> list[str]:
    grammar = ref_grammar()
    return [ref for ref in grammar.find(text or "") if grammar.may_cite(ref)]


def cite(tx: Tx, citer: str, kind: str, refs: Iterable[str], seq: int) -> None:
    """Record what `citer` cites; commands and links among `refs` are receipts and are skipped."""
    ids = [ref for ref in refs if ref != citer and ref_grammar().may_cite(ref)]
    rows = [{"ref": ref, "citer": citer, "kind": kind, "seq": seq} for ref in ids]
    if rows:
        tx.many(sql.citation_add, rows)


def cited_by(tx: Tx, ref: str) -> list[Citation]:
    """What cites a record, newest first: cards, jobs, and the steps it serves as proof for."""
    proofs = [
        Citation(ref=step["ref"], kind="proof", title=step["title"], status=step["status"])
        for step in steps_shown_by(tx, ref)
    ]
    return [*_indexed(tx, ref), *proofs]


def _indexed(tx: Tx, ref: str) -> Iterable[Citation]:
    for row in tx.all(sql.citations_of, ref=ref, limit=_MOST_CITERS):
        if row["kind"] != "card":
            yield Citation(ref=row["citer"], kind=row["kind"])
            continue
        card = find_card(tx, row["citer"])
        if card is not None and ref in ((card.node.meta or {}).get("refs") or ()):
            yield Citation(
                ref=card.node.id,
                kind=card.node.type,
                title=card.node.title,
                status=card.node.status,
            )
