"""Branches: a name, a base and a cutoff. A branch is never copied.

Everything written to a derived branch has a higher seq than its cutoff, so its view is its own
entries followed by its base's view up to the cutoff, all the way down.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.errors import UnknownId
from longhouse.kernel.values import Value
from longhouse.memory.room import sql
from longhouse.store.tx import Tx

__all__ = ["MAIN", "MAX_DEPTH", "Branch", "branch_named", "checkout", "ensure_branch", "sources"]

MAIN = "main"
MAX_DEPTH = 32
ENDLESS = 2**62


class Branch(Value, frozen=True, kw_only=True):
    branch_id: int
    name: str
    base_branch_id: int | None
    base_seq: int | None


def branch_named(tx: Tx, name: str) -> Branch:
    """The branch of that name, or UnknownId."""
    if row := tx.one(sql.branch_by_name, name=name):
        return Branch(**row)
    raise UnknownId(
        f"branch: there is no branch {name!r}", recovery="list branches with vcs.branch.list"
    )


def ensure_branch(tx: Tx, name: str) -> Branch:
    """The branch of that name, made without a base when it is missing."""
    made = tx.one(sql.branch_add, name=name, base_branch_id=None, base_seq=None, now=tx.now_ms)
    return Branch(**made) if made else branch_named(tx, name)


def checkout(tx: Tx) -> str | None:
    """The branch that is checked out, if any."""
    row = tx.one(sql.targeting_get)
    return row["checkout"] if row else None


def sources(tx: Tx, branch: Branch) -> Iterator[tuple[Branch, int]]:
    """The branches a view is made of, newest first, each with its highest visible seq."""
    cutoff = ENDLESS
    for _ in range(MAX_DEPTH + 1):
        yield branch, cutoff
        if branch.base_branch_id is None:
            return
        cutoff = min(cutoff, branch.base_seq or 0)
        row = tx.one(sql.branch_by_id, branch_id=branch.base_branch_id)
        branch = Branch(**row)  # type: ignore[arg-type]
