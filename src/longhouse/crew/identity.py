"""Identities: registering, retiring, heartbeats, and the list of all of them.

A name belongs to one session at a time and is never reused; continuing an earlier identity is
adoption (see `adoption`). The connection that proved to be an identity last acts as it without
naming it; it brings along the focus and checkout that it had before it registered.
"""

from __future__ import annotations

from typing import Any

from longhouse.crew.agents import (
    acting,
    agent_from,
    binds_to,
    digest,
    existing,
    new_token,
    on_connection,
    reissue,
)
from longhouse.crew.errors import DuplicateAgentId, InvalidRole
from longhouse.crew.names import check_name, generate
from longhouse.crew.room import ENDED, room, sql
from longhouse.crew.types.identity import (
    AgentHeartbeat,
    AgentPage,
    AgentShown,
    ListAgents,
    Register,
    Registered,
    Retire,
    Retired,
    ShowAgent,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.memory import take_place
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["end_identity"]

TOKEN = "lha_" + "0" * 48
"""A placeholder in examples for the token that agents.register returns."""


@room.command(
    "agents.register",
    also="join create new add hello login",
    writes=True,
    additive=True,
    example=Register(name="misty-heron", role="ui"),
    reveals=["agent_token"],
    reissue=reissue,
)
def register(tx: Tx, req: Register) -> Registered:
    """Register an identity: a unique name, and the token that proves it."""
    role = req.role.strip()
    if not role or not role.isprintable():
        raise InvalidRole(f"role: {req.role!r} is not a valid role")
    if req.name is None:
        name, collisions = generate(tx.ids, lambda n: bool(tx.one(sql.agent_by_id, agent_id=n)))
        reason = "generated: no name was requested"
        if collisions:
            reason += f"; candidates that were taken: {collisions}"
    else:
        name, reason = check_name(req.name), "registered: the name was free"
    token, connection = new_token(tx), on_connection(tx, name)
    row = tx.one(
        sql.agent_add,
        agent_id=name,
        kind=req.kind,
        role=role,
        rig=req.rig,
        now=tx.now_ms,
        display_name=req.display_name or name,
        status=req.status or "idle",
        token_digest=digest(token),
        owner=binds_to(tx),
        connection=connection,
    )
    if row is not None:
        tx.actor = name
        if connection:
            take_place(tx, connection, name)
        tx.append("crew", name, "registered", {"agent": name, "role": role, "kind": req.kind})
        return Registered(agent=agent_from(tx, row), agent_token=token, recommendation=reason)
    return _update(tx, req, name, role)


def _update(tx: Tx, req: Register, name: str, role: str) -> Registered:
    """Update an identity whose name is taken; only its own session may do so."""
    if not req.force_update:
        raise DuplicateAgentId(
            f"name: {name!r} is taken",
            recovery="choose another name, or continue that identity with agents.adopt",
            suggest=[Suggestion(Register(role=role), "register under a free name")],
        )
    before = acting(tx, name, req.agent_token)
    assert req.agent_token is not None
    row = tx.one(
        sql.agent_update,
        agent_id=name,
        role=role,
        token_digest=digest(req.agent_token),
        display_name=req.display_name or before["display_name"],
        status=req.status or before["status"],
    )
    assert row is not None
    was = {"role": before["role"], "status": before["status"]}
    was["display_name"] = before["display_name"]
    said = {"agent": name, "role": role, "status": row["status"], "before": was}
    tx.append("crew", name, "updated", said)
    return Registered(
        agent=agent_from(tx, row),
        agent_token=req.agent_token,
        recommendation="updated: the token proves that it is yours",
    )


@room.command(
    "agents.retire",
    also="leave remove delete logout unregister",
    writes=True,
    destructive=True,
    example=Retire(agent="amber-otter", agent_token=TOKEN),
)
def retire(tx: Tx, req: Retire) -> Retired:
    """Retire an identity: its reservations are released and its name is never reused."""
    name = acting(tx, req.agent, req.agent_token)["agent_id"]
    gone, released = end_identity(tx, name)
    return Retired(agent=agent_from(tx, gone), released=released)


def end_identity(tx: Tx, name: str) -> tuple[Row, int]:
    """Retire an identity; returns its row and how many reservations were released."""
    released = [
        row["seq"] for row in tx.all(sql.reservations_release_all, agent_id=name, now=tx.now_ms)
    ]
    if released:
        tx.count(ENDED["released"], len(released))
    gone = tx.one(sql.agent_retire, agent_id=name, now=tx.now_ms)
    assert gone is not None
    tx.append("crew", name, "retired", {"agent": name, "released": sorted(released)})
    return gone, len(released)


@room.command(
    "agents.heartbeat",
    also="ping alive keepalive",
    writes=True,
    additive=True,
    idempotent=True,
    example=AgentHeartbeat(agent="amber-otter", agent_token=TOKEN),
)
def heartbeat(tx: Tx, req: AgentHeartbeat) -> AgentShown:
    """Report that you are still active: updates last_seen_at and renews your reservations."""
    return AgentShown(agent=agent_from(tx, acting(tx, req.agent, req.agent_token)))


@room.command(
    "agents.show",
    also="get info describe profile whois lookup",
    example=ShowAgent(agent="amber-otter"),
)
def show(tx: Tx, req: ShowAgent) -> AgentShown:
    """Show one identity with its liveness."""
    return AgentShown(agent=agent_from(tx, existing(tx, req.agent)))


def _agent_lines(result: dict[str, Any]) -> list[str]:
    rows = [f"{a['agent_id']} {a['liveness']} role={a['role']}" for a in result["agents"]]
    return [f"agents count={result['count']}", *rows]


@room.command(
    "agents.list",
    also="who ls online members crew.list workspace.agents crew agents.agents team "
    "teammates peers colleagues",
    example=ListAgents(),
    lines=_agent_lines,
    trim=[Pop("agents", cursor="agent_id", leave=1)],
)
def list_agents(tx: Tx, req: ListAgents) -> AgentPage:
    """List identities with their liveness."""
    which: dict[str, Any] = {
        "role": req.role,
        "status": req.status,
        "retired": int(req.include_retired),
        "limit": req.limit + 1,
    }
    by_name = req.order == "name"
    if req.cursor and not by_name:
        raise InvalidInput(
            "cursor: order=seen has only one page",
            recovery="leave out cursor, or use order=name",
        )
    if by_name:
        rows = tx.all(sql.agents_after, after=req.cursor or "", **which)
    else:
        rows = tx.all(sql.agents_newest, **which)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    return AgentPage(
        agents=[agent_from(tx, row) for row in shown],
        count=len(shown),
        has_more=more,
        next_cursor=shown[-1]["agent_id"] if more and by_name else None,
    )
