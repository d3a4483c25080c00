"""`graph.diff`: the nodes and edges that differ between two branches, as `to` shows them.

Only keys written since the branches diverged can differ. Keys written on `to` come first. Keys
written only on `from` follow, because the version that `to` still shows predates the divergence.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.memory.branches import ENDLESS, View, view_of
from longhouse.memory.entries import paginate
from longhouse.memory.graph.room import sql
from longhouse.memory.graph.rows import key_of, same, shown
from longhouse.memory.graph.view import unshadowed, visible
from longhouse.memory.merging import shared_with
from longhouse.memory.room import room
from longhouse.memory.types.graph import Change, DiffGraph, GraphDiff
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["diff_graphs"]

_CHUNK = 200


@room.command(
    "graph.diff",
    also="compare",
    example=DiffGraph(from_="main", to="main"),
    trim=[
        Clip("changes.to.text", 200),
        Pop("changes", leave=1, cursor="seq"),
        Drop("changes.to.meta"),
        Clip("changes.to.text", 80),
    ],
)
def diff_graphs(tx: Tx, req: DiffGraph) -> GraphDiff:
    """List nodes and edges that differ between two branches, newest first."""
    seen = view_of(tx, req.from_, req.doc, req.as_of, field="from")
    view = view_of(tx, req.to, req.doc, req.as_of, field="to")
    before = req.cursor if req.cursor is not None else ENDLESS
    rows: list[Row] = []
    for row in _differing(tx, seen, view, before):
        rows.append(row)
        if len(rows) > req.limit:
            break
    return GraphDiff(
        from_=req.from_,
        to=req.to,
        doc=req.doc,
        changes=[_change(row) for row in rows[: req.limit]],
        pagination=paginate([row["seq"] for row in rows], cursor=req.cursor, limit=req.limit),
    )


def _differing(tx: Tx, seen: View, view: View, before: int) -> Iterator[Row]:
    """The versions that `view` shows and that differ from what `seen` shows."""
    parted = shared_with(view, seen)
    for rows in _since(tx, view, parted, before):
        theirs = visible(tx, seen, (row["key"] for row in rows))
        yield from (row for row in rows if not same(row, theirs.get(row["key"])))
    only_there: dict[str, Row] = {}
    for rows in _since(tx, seen, shared_with(seen, view), ENDLESS):
        only_there.update((row["key"], row) for row in rows)
    places = {source.doc_id: parted.get(source.branch_id, 0) for source in view.written}
    older = [
        row
        for key, row in visible(tx, view, only_there).items()
        if row["seq"] < before
        and row["seq"] <= max(places.values(), default=0)
        and not same(row, only_there[key])
    ]
    yield from sorted(older, key=lambda row: -row["seq"])


def _since(tx: Tx, view: View, parted: dict[int, int], before: int) -> Iterator[list[Row]]:
    """The visible versions written on the view's branches since the two views diverged."""
    for depth, source in enumerate(view.written):
        after = parted.get(source.branch_id, 0)
        top = min(before, source.cut + 1)
        while True:
            rows = tx.all(
                sql.versions_between,
                doc_id=source.doc_id,
                after=after,
                before=top,
                cut=source.cut,
                limit=_CHUNK,
            )
            yield unshadowed(tx, view, depth, rows)
            if len(rows) < _CHUNK:
                break
            top = rows[-1]["seq"]


def _change(row: Row) -> Change:
    state = shown(row)
    assert state is not None
    if row["kind"] == "node":
        return Change(kind="node", seq=row["seq"], id=row["key"], to=state)
    return Change(kind="edge", seq=row["seq"], key=key_of(row["key"]), to=state)
