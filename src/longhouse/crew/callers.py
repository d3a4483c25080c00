"""The identity that a view is made for.

Naming an identity takes its token, or a connection that has proved to be that agent. A caller with
neither gets the anonymous view. This personalizes views; it is not access control within a
workspace. Nothing here writes, so asking does not count as a heartbeat.
"""

from __future__ import annotations

from typing import Any

from longhouse.crew.agents import agents_named, existing, holds
from longhouse.crew.errors import AgentTokenRequired
from longhouse.store.tx import Tx

__all__ = ["asker"]


def asker(tx: Tx, req: Any) -> str | None:
    """The caller's identity, which the transaction then acts as; None if it has none."""
    if req.agent_token is None:
        if req.agent is not None:
            tx.warn(
                "AGENT_TOKEN_MISSING",
                f"{req.agent[:80]!r} was given without agent_token: this is the anonymous view",
                "pass agent_token as well",
            )
        known = tx.actor if tx.by.named else None
        return known if known and agents_named(tx, [known]) else None
    row = existing(tx, req.agent or tx.actor or "")
    name: str = row["agent_id"]
    if row["retired_at_ms"] is not None or not holds(row, req.agent_token):
        raise AgentTokenRequired(
            f"agent_token: not the token of {name}",
            recovery="pass its newest token, or leave agent and agent_token out",
        )
    tx.actor = name
    tx.by = tx.by._replace(who=name, named=True, agent=name)
    return name
