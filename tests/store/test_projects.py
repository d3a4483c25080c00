"""Whose project a workspace is: the first write that is committed binds it."""

from __future__ import annotations

from longhouse.store.tx import sql
from tests.kit import Lh
from tests.store.kit import CALL


def binding(lh: Lh) -> str | None:
    row = lh.house.db.read("acme", lambda tx: tx.one(sql.workspace_binding), CALL)
    return row["binding"] if row else None


def test_a_write_that_fails_binds_nothing_and_the_next_one_does(lh: Lh) -> None:
    missing = [{"op": "node_delete", "id": "nobody"}]
    for _ in range(2):
        lh.refused("graph.apply", ops=missing)
        assert binding(lh) in (None, "open")
    lh("vcs.notes.commit", content="first")
    lh("vcs.notes.commit", content="second")
    assert binding(lh) == "bound"
