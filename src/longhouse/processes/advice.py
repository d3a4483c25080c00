"""What `status` says about processes: which run, and which of their hosts do not answer.

Every `status` loads this module, so it imports little.
"""

from __future__ import annotations

import json
from typing import Any

from longhouse.kernel.advice import Advice
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.lines import clip
from longhouse.processes.room import room, sql
from longhouse.store.tx import Tx

__all__ = ["SILENT_MS", "active_processes", "advise"]

SILENT_MS = 30_000
"""After how long without a word a host counts as silent."""
_PAGE = 200
MOST_SHOWN = 6


@room.advises
def advise(tx: Tx) -> Advice:
    """Say in `status` what runs, and which hosts with unfinished tasks are silent or frozen."""
    running = active_processes(tx)
    if not running:
        return Advice()  # without unfinished tasks no host can be in trouble
    shown = {"processes": [_words(one) for one in running]}
    found = tx.all(sql.hosts_in_trouble, since=tx.now_ms - SILENT_MS, limit=_PAGE)
    if not found:
        return Advice(shown=shown)
    from longhouse.kernel.errors import Suggestion
    from longhouse.processes.records import state_of
    from longhouse.processes.types.running import ListHosts

    named = ", ".join(f"{row['host_id']} ({state_of(tx, row)})" for row in found[:3])
    shown["processes"].insert(0, f"some cannot be reached: host {named}")
    return Advice(
        fingerprint=f"hosts(lost={len(found)})",
        shown=shown,
        suggestions=[
            Suggestion(
                ListHosts(),
                f"processes cannot be reached: their host is {named}",
                action_id="next::tool.hosts",
            )
        ],
    )


def _words(one: dict[str, Any]) -> str:
    """`dev:5173 running since 2026-11-15T09:28Z`; what has no name begins with its id."""
    port = f":{one['port']}" if "port" in one else ""
    return f"{one['name']}{port} {one['state']} since {one['since'][:16]}Z"


def active_processes(tx: Tx, limit: int = MOST_SHOWN) -> list[dict[str, Any]]:
    """The unfinished processes, newest first: what each is, its state, its port, since when."""
    found = []
    for row in tx.all(sql.tasks_going, limit=limit):
        state, spec = json.loads(row["state"]), json.loads(row["spec"])
        ran = spec["args"].get("command") or " ".join(spec["args"].get("argv") or ())
        one = {
            "id": f"PROC-{row['n']:03d}",
            "name": row["name"] or f"PROC-{row['n']:03d} ({clip(spec.get('title') or ran, 40)})",
            "state": row["status"],
            "since": rfc3339(state.get("started_at_ms") or row["created_at_ms"]),
        }
        if ports := state.get("ports"):
            one["port"] = ports[0]
        found.append(one)
    return found
