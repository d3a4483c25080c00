"""Identities as rows: found, shown, and shown to be who they say they are."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

from longhouse.crew.errors import AgentNotFound, AgentTokenRequired
from longhouse.crew.facts import CrewFacts
from longhouse.crew.liveness import Liveness, liveness
from longhouse.crew.room import binds, room, sql
from longhouse.crew.types.entities import Agent
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Conflict
from longhouse.kernel.redact import HIDDEN
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = [
    "acting",
    "agent_from",
    "agents_named",
    "alive",
    "binds_to",
    "digest",
    "existing",
    "holds",
    "new_token",
    "proved",
    "reissue",
    "vouch",
]


def new_token(tx: Tx) -> str:
    return "lha_" + tx.ids.token(24)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def binds_to(tx: Tx) -> str | None:
    """Who holds an identity once it was proved in this call; None leaves that as it is.

    Whoever leads may speak for any identity and takes none away by it.
    """
    return None if tx.by.leads else tx.by.owner


def holds(row: Row, token: str | None) -> bool:
    """Whether a token is the one of this identity."""
    return token is not None and hmac.compare_digest(row["token_digest"], digest(token))


def existing(tx: Tx, agent_id: str, error: type[AgentNotFound] = AgentNotFound) -> Row:
    """The identity of that name, or the error that the caller asks for."""
    name = agent_id.strip()
    if row := tx.one(sql.agent_by_id, agent_id=name):
        return row
    raise error(f"agent: there is no agent {name[:80]!r}")


def acting(
    tx: Tx, agent_id: str, token: str | None, error: type[AgentNotFound] = AgentNotFound
) -> Row:
    """The identity that acts: known, not retired, holding its token.

    Acting is a sign of life and renews what the identity has reserved. From here on the log names
    it as the actor, whatever the caller calls itself.
    """
    known, token = _with_token(tx, agent_id, token, error)
    name = known["agent_id"]
    seen, _ = tx.answers(
        [
            tx.ask(
                sql.agent_seen,
                agent_id=name,
                token_digest=digest(token),
                owner=binds_to(tx),
                now=tx.now_ms,
            ),
            tx.ask(
                sql.reservations_renew, agent_id=name, token_digest=digest(token), now=tx.now_ms
            ),
        ]
    )
    if not seen:
        raise _not_its_own(name)
    _speaks(tx, name)
    _note_return(tx, known)
    return seen[0]


def proved(tx: Tx, agent_id: str, token: str | None) -> Row:
    """As `acting`, but no sign of life: for what a program reports on behalf of an identity."""
    known, token = _with_token(tx, agent_id, token, AgentNotFound)
    if not holds(known, token):
        raise _not_its_own(known["agent_id"])
    _speaks(tx, known["agent_id"])
    return known


def _with_token(
    tx: Tx, agent_id: str, token: str | None, error: type[AgentNotFound]
) -> tuple[Row, str]:
    """An identity that has not retired, and the token that came with its name."""
    known = existing(tx, agent_id, error)
    name = known["agent_id"]
    if known["retired_at_ms"] is not None:
        raise error(
            f"agent: {name} has retired", recovery="take a new identity with agents.register"
        )
    if token is None or token == HIDDEN:
        raise AgentTokenRequired(f"agent_token: missing; {name} acts only with its own")
    return known, token


def _not_its_own(name: str) -> AgentTokenRequired:
    return AgentTokenRequired(
        f"agent_token: not the token of {name}",
        recovery="pass its newest token; one is void once another session adopted the identity",
    )


def _speaks(tx: Tx, name: str) -> None:
    tx.actor = name
    tx.by = tx.by._replace(who=name, named=True)


@room.vouches
def vouch(tx: Tx, name: str) -> bool:
    """Whether `name` is an identity that the caller may act as, which then shows a sign of life.

    A name that nobody registered is only a label. An identity that another token holds is refused:
    whoever has its agent_token proves it with any crew command, agents.heartbeat for one.
    """
    known = tx.one(sql.agent_by_id, agent_id=name)
    if known is None:
        return False
    retired = known["retired_at_ms"] is not None
    if not tx.by.leads and (retired or known["owner"] != tx.by.owner):
        raise AgentTokenRequired(
            f"{name} is an identity that this caller has not shown to be its own",
            recovery="leave that name out, or show it first: agents.heartbeat with its agent_token",
        )
    if tx.writes and not retired:
        tx.answers(
            [
                tx.ask(sql.agent_acts, agent_id=name, now=tx.now_ms),
                tx.ask(
                    sql.reservations_renew,
                    agent_id=name,
                    token_digest=known["token_digest"],
                    now=tx.now_ms,
                ),
            ]
        )
        _note_return(tx, known)
    return True


def _note_return(tx: Tx, before: Row) -> None:
    """Log that a silent identity is back."""
    if (was := alive(tx, before)) != "active":
        name = before["agent_id"]
        tx.append("crew", name, "returned", {"agent": name, "was": was})


def reissue(tx: Tx, answer: dict[str, Any], before: str) -> str:
    """Another token for an identity whose first one may have got lost on its way to the caller."""
    name, token = answer["agent"]["agent_id"], new_token(tx)
    if not tx.one(
        sql.agent_reissue, agent_id=name, before=before, token_digest=digest(token), now=tx.now_ms
    ):
        raise Conflict(
            f"idempotency_key: {name} has retired or was adopted since this key was answered",
            recovery="continue it with agents.adopt, or register another with a new key",
        )
    tx.actor = name
    tx.append("crew", name, "token_reissued", {"agent": name})
    return token


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
