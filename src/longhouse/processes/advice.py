"""What `status` says about processes: which hosts with unfinished tasks do not answer.

Every `status` loads this module, so it imports little.
"""

from __future__ import annotations

from longhouse.kernel.advice import Advice
from longhouse.processes.room import room, sql
from longhouse.store.tx import Tx

__all__ = ["SILENT_MS", "advise"]

SILENT_MS = 30_000
"""After how long without a word a host counts as silent."""
_PAGE = 200


@room.advises
def advise(tx: Tx) -> Advice:
    """Say in `status` which hosts with unfinished tasks are silent or frozen."""
    found = tx.all(sql.hosts_in_trouble, since=tx.now_ms - SILENT_MS, limit=_PAGE)
    if not found:
        return Advice()
    from longhouse.kernel.errors import Suggestion
    from longhouse.processes.records import state_of
    from longhouse.processes.types.running import ListHosts

    named = ", ".join(f"{row['host_id']} ({state_of(tx, row)})" for row in found[:3])
    return Advice(
        fingerprint=f"hosts(lost={len(found)})",
        suggestions=[
            Suggestion(
                ListHosts(),
                f"processes cannot be reached: their host is {named}",
                action_id="next::tool.hosts",
            )
        ],
    )
