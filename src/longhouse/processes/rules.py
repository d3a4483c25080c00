"""The policy rules of a workspace, as data."""

from __future__ import annotations

import msgspec

from longhouse.kernel.tool_policy import PolicyRule
from longhouse.processes.room import sql
from longhouse.store.tx import Tx

__all__ = ["rules_of"]


def rules_of(tx: Tx) -> list[PolicyRule]:
    """Those that hold, oldest first."""
    rows = tx.all(sql.rules_in_force)
    return [msgspec.json.decode(row["rule"], type=PolicyRule) for row in rows]
