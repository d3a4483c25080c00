"""What was replaced stands behind what replaced it, which is shown even if it says it otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.memory.branches import view_of
from longhouse.memory.documenting import read_nodes
from longhouse.memory.graph.view import visible
from longhouse.memory.narrowing import Narrowed
from longhouse.store.recall.documents import Document
from longhouse.store.recall.judging import Judge, Judged
from longhouse.store.tx import Tx

__all__ = ["behind_what_replaced"]

_BEHIND = 4
"""One replaced document is shown for so many others at most."""


def behind_what_replaced(
    tx: Tx, ranked: list[Judged], judge: Judge, within: Narrowed, told: set[str]
) -> Iterator[Judged]:
    """The same documents, each replaced one after the one that counts."""
    here = {one.document.thing: one for one in ranked}
    said: set[str] = set()
    later: list[Judged] = []
    for one in _in_order(tx, ranked, here, judge, within, told):
        if one.document.thing in said:
            continue
        said.add(one.document.thing)
        told.add(one.document.thing)
        if one.document.instead:
            later.append(one)
            continue
        yield one
        if later and len(said) % _BEHIND == 0:
            yield later.pop(0)
    yield from later


def _in_order(
    tx: Tx,
    ranked: list[Judged],
    here: dict[str, Judged],
    judge: Judge,
    within: Narrowed,
    told: set[str],
) -> Iterator[Judged]:
    """What replaced something, then what it replaced."""
    for one in ranked:
        chain = [one]
        while (thing := _instead(chain[-1].document)) and len(chain) < 8:
            later = here.get(thing)
            if later is None and thing not in told:
                later = _fetched(tx, chain[-1].document, judge, within)
            if later is None or later in chain:
                break
            chain.append(later)
        yield from reversed(chain)


def _instead(document: Document) -> str | None:
    return f"node {document.doc} {document.instead}" if document.instead else None


def _fetched(tx: Tx, document: Document, judge: Judge, within: Narrowed) -> Judged | None:
    """The node that replaced this one, though the words did not find it."""
    assert document.doc is not None
    assert document.branch is not None
    assert document.instead is not None
    view = view_of(tx, within.look.branch or document.branch, document.doc, within.look.as_of)
    row = visible(tx, view, [document.instead]).get(document.instead)
    if row is None or row["deleted"]:
        return None
    found = within.kept(tx, read_nodes(tx, [row["seq"]], within.look))
    if not found:
        return None
    return judge.judge(found[0]) or Judged(found[0], 0.0, False, ())
