"""Identities as rows: finding, presenting and authenticating them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

from longhouse.crew.errors import AgentNotFound, AgentTokenRequired
from longhouse.crew.facts import alive
from longhouse.crew.room import binds, room, sql
from longhouse.crew.types.entities import Agent
from longhouse.crew.types.identity import Register
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion
from longhouse.kernel.redact import HIDDEN
from longhouse.kernel.values import Draft
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = [
    "acting",
    "agent_from",
    "agents_named",
    "binds_to",
    "digest",
    "existing",
    "holds",
    "named_or_own",
    "new_token",
    "on_connection",
    "proved",
    "recognize",
    "reissue",
    "vouch",
]


def new_token(tx: Tx) -> str:
    return "lha_" + tx.ids.token(24)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def binds_to(tx: Tx) -> str | None:
    """The owner to record for an identity proved in this call; None keeps the current one.

    A manager may act for any identity without becoming its owner.
    """
    return None if tx.by.leads else tx.by.owner


def holds(row: Row, token: str | None) -> bool:
    """Whether this is the identity's token."""
    return token is not None and hmac.compare_digest(row["token_digest"], digest(token))


def existing(
    tx: Tx, agent_id: str, error: type[AgentNotFound] = AgentNotFound, field: str = "agent"
) -> Row:
    """The identity with this name, which `field` gave; raises `error` if there is none."""
    name = agent_id.strip()
    if row := tx.one(sql.agent_by_id, agent_id=name):
        return row
    raise error(f"{field}: there is no agent {name[:80]!r}")


def named_or_own(tx: Tx, agent_id: str | None) -> str:
    """The name given, else the identity that this connection has proved to be."""
    if agent_id is not None:
        return agent_id
    if tx.by.agent is not None:
        return tx.by.agent
    raise InvalidInput(
        "agent: missing, and this connection is no one's",
        recovery="add agent=… and agent_token=…, or register with agents.register first",
        hints=[{"kind": "missing_required", "field": "agent"}],
        suggest=[Suggestion(Draft(Register, {}, ["role"]), "register an identity first")],
    )


def acting(
    tx: Tx, agent_id: str | None, token: str | None, error: type[AgentNotFound] = AgentNotFound
) -> Row:
    """The identity that acts: it exists, has not retired, and its token was passed.

    A connection that has proved to be it needs neither its name nor its token. Acting is a sign of
    life and renews the identity's reservations. From here on the log records this identity as the
    actor, whatever the caller calls itself.
    """
    known, proof = _with_proof(tx, named_or_own(tx, agent_id), token, error)
    name = known["agent_id"]
    seen, _ = tx.answers(
        [
            tx.ask(
                sql.agent_seen,
                agent_id=name,
                token_digest=proof,
                owner=binds_to(tx),
                connection=on_connection(tx, name, known["connection"]),
                now=tx.now_ms,
            ),
            tx.ask(sql.reservations_renew, agent_id=name, token_digest=proof, now=tx.now_ms),
        ]
    )
    if not seen:
        raise _not_its_own(name)
    _speaks(tx, name)
    _note_return(tx, known)
    return seen[0]


def proved(tx: Tx, agent_id: str, token: str | None) -> Row:
    """Like `acting`, but not a sign of life: for programs that report on behalf of an identity."""
    known, _ = _with_proof(tx, agent_id, token, AgentNotFound)
    _speaks(tx, known["agent_id"])
    return known


def _with_proof(
    tx: Tx, agent_id: str, token: str | None, error: type[AgentNotFound]
) -> tuple[Row, str]:
    """An identity that has not retired, and the digest of the token that proves it.

    The token is passed with the name, or was passed earlier on this connection.
    """
    known = existing(tx, agent_id, error)
    name = known["agent_id"]
    if known["retired_at_ms"] is not None:
        raise error(
            f"agent: {name} has retired", recovery="register a new identity with agents.register"
        )
    if token is None or token == HIDDEN:
        if tx.by.connection is not None and known["connection"] == tx.by.connection:
            return known, known["token_digest"]
        raise AgentTokenRequired(f"agent_token: missing; {name} can act only with its own token")
    if not holds(known, token):
        raise _not_its_own(name)
    return known, known["token_digest"]


def _not_its_own(name: str) -> AgentTokenRequired:
    return AgentTokenRequired(
        f"agent_token: not the token of {name}",
        recovery="pass its newest token; adoption by another session voids earlier tokens",
    )


def _speaks(tx: Tx, name: str) -> None:
    tx.actor = name
    tx.by = tx.by._replace(who=name, named=True, agent=name)


def on_connection(tx: Tx, name: str, before: str | None = None) -> str | None:
    """The connection on which this call proves to be `name`; it stops being any other identity."""
    connection = tx.by.connection
    if connection is not None and connection != before:
        tx.run(sql.connection_free, connection=connection, agent_id=name)
        tx.session.nobody_in.discard(tx.workspace)
    return connection


@room.recognizes
def recognize(tx: Tx) -> str | None:
    """The identity that the caller's connection has proved to be; a write is its sign of life."""
    known = tx.one(sql.agent_on, connection=tx.by.connection)
    if known is None:
        return None
    if tx.writes:
        _live(tx, known)
    return str(known["agent_id"])


@room.vouches
def vouch(tx: Tx, name: str) -> bool:
    """Whether `name` is an identity that the caller may act as; if so, records a sign of life.

    An unregistered name is only a label. An identity that another token owns is refused: a caller
    that has its agent_token proves that with any crew command, such as agents.heartbeat.
    """
    known = tx.one(sql.agent_by_id, agent_id=name)
    if known is None:
        return False
    retired = known["retired_at_ms"] is not None
    if not tx.by.leads and (retired or not _is_yours(tx, known)):
        raise AgentTokenRequired(
            f"{name} is an identity that this caller has not proved to be its own",
            recovery="leave the name out, or first call agents.heartbeat with its agent_token",
        )
    if tx.writes and not retired and name != tx.by.agent:  # recognizing it was a sign of life
        _live(tx, known)
    return True


def _is_yours(tx: Tx, known: Row) -> bool:
    return known["agent_id"] == tx.by.agent or bool(known["owner"] == tx.by.owner)


def _live(tx: Tx, known: Row) -> None:
    """Record a sign of life of an identity, which renews its reservations."""
    name = known["agent_id"]
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


def _note_return(tx: Tx, before: Row) -> None:
    """Log that a silent identity has returned."""
    if (was := alive(tx, before)) != "active":
        name = before["agent_id"]
        tx.append("crew", name, "returned", {"agent": name, "was": was})


def reissue(tx: Tx, answer: dict[str, Any], before: str) -> str:
    """A new token for an identity whose first token may not have reached the caller."""
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
    """The identities among these names."""
    rows = [row for part in binds(names) for row in tx.all(sql.agents_by_ids, **part)]
    return {row["agent_id"]: agent_from(tx, row) for row in rows}


def agent_from(tx: Tx, row: Row) -> Agent:
    """The identity as callers see it."""
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
