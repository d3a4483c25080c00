"""Identities as rows: found, shown, and shown to be who they say they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from longhouse.crew.errors import AgentNotFound, AgentTokenRequired
from longhouse.crew.facts import CrewFacts
from longhouse.crew.liveness import Liveness, liveness
from longhouse.crew.room import binds, sql
from longhouse.crew.types.entities import Agent
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.redact import HIDDEN
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["acting", "agent_from", "agents_named", "alive", "digest", "existing", "new_token"]


def new_token(tx: Tx) -> str:
    return "lha_" + tx.ids.token(24)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def existing(tx: Tx, agent_id: str, error: type[AgentNotFound] = AgentNotFound) -> Row:
    """The identity of that name, or the error that fits who asks."""
    name = agent_id.strip()
    if row := tx.one(sql.agent_by_id, agent_id=name):
        return row
    raise error(f"agent: there is no agent {name[:80]!r}")


def acting(
    tx: Tx, agent_id: str, token: str | None, error: type[AgentNotFound] = AgentNotFound
) -> Row:
    """The identity that acts: known, not retired, holding its token. Acting is a sign of life.

    From here on the log names it as the actor, whatever the caller calls itself.
    """
    known = existing(tx, agent_id, error)
    name = known["agent_id"]
    if known["retired_at_ms"] is not None:
        raise error(
            f"agent: {name} has retired", recovery="take a new identity with agents.register"
        )
    if token is None or token == HIDDEN:
        raise AgentTokenRequired(f"agent_token: missing; {name} acts only with its own")
    seen = tx.one(sql.agent_seen, agent_id=name, token_digest=digest(token), now=tx.now_ms)
    if seen is None:
        raise AgentTokenRequired(
            f"agent_token: not the token of {name}",
            recovery="pass its newest token; one is void once another session adopted the identity",
        )
    tx.actor = name
    if (before := alive(tx, known)) != "active":
        tx.append("crew", name, "returned", {"agent": name, "was": before})
    return seen


def agents_named(tx: Tx, names: Iterable[str]) -> dict[str, Agent]:
    """Those of the names that are identities."""
    rows = [row for part in binds(names) for row in tx.all(sql.agents_by_ids, **part)]
    return {row["agent_id"]: agent_from(tx, row) for row in rows}


def agent_from(tx: Tx, row: Row) -> Agent:
    """The identity as callers see it now."""
    retired = row["retired_at_ms"]
    return Agent(
        agent_id=row["agent_id"],
        session_agent_id=row["agent_id"],
        logical_agent_id=row["agent_id"],
        kind=row["kind"],
        display_name=row["display_name"],
        role=row["role"],
        status=row["status"],
        liveness=alive(tx, row),
        created_at=rfc3339(row["created_at_ms"]),
        last_seen_at=rfc3339(row["last_seen_at_ms"]),
        rig=row["rig"],
        retired_at=rfc3339(retired) if retired is not None else None,
    )


def alive(tx: Tx, row: Row) -> Liveness:
    """Liveness now; a retired identity is evicted at once."""
    if row["retired_at_ms"] is not None:
        return "evicted"
    return liveness(row["last_seen_at_ms"], tx.now_ms, tx.facts.of(CrewFacts).stale_minutes)
