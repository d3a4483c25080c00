"""What other rooms may ask of memory: where the workspace stands."""

from __future__ import annotations

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.values import Value
from longhouse.memory.branches import MAIN, ensure_branch
from longhouse.memory.room import sql
from longhouse.store.tx import Tx

__all__ = ["LastEntry", "Targeting", "bootstrap", "last_entry", "targeting"]


class Targeting(Value, frozen=True, kw_only=True):
    """What a command without a target means: the focus, else the checkout."""

    checkout: str | None
    focus: str | None


class LastEntry(Value, frozen=True, kw_only=True):
    seq: int
    ts: str
    ts_ms: int
    branch: str
    doc: str
    kind: str


def targeting(tx: Tx) -> Targeting:
    row = tx.one(sql.targeting_get)
    return Targeting(**row) if row else Targeting(checkout=None, focus=None)


def last_entry(tx: Tx) -> LastEntry | None:
    """The newest document entry of the workspace."""
    row = tx.one(sql.entry_last)
    return LastEntry(**row, ts=rfc3339(row["ts_ms"])) if row else None


def bootstrap(tx: Tx) -> str:
    """Make `main` where there is no branch and check it out where nothing is; the checkout."""
    now = targeting(tx)
    if now.checkout is not None:
        return now.checkout
    branch = ensure_branch(tx, MAIN)
    tx.run(sql.checkout_set, branch_id=branch.branch_id)
    tx.append("memory", MAIN, "checkout", {"previous": None})
    return MAIN
