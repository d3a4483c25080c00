"""Who acts in a call, and whether they may: role, workspace, and the name that the log records.

A token bound to a name acts as that agent and no other. A manager or operator may act as anyone.
Any other caller may use a name that is not registered, or an identity that it has proved to be its
own (`room.vouches`). A call that names no one acts as the identity that its connection has proved
to be (`room.recognizes`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from longhouse.dispatch.calls import Caller
from longhouse.facts import HouseFacts, fallback_workspace, permit_workspace
from longhouse.kernel.errors import Forbidden, LonghouseError, UnknownWorkspace
from longhouse.kernel.registry import Command, Outline, Role
from longhouse.kernel.standing import Standing

__all__ = ["Speaker", "choose_workspace", "require_role", "role_needed", "speaker"]


MOST_KNOWN = 4_096


class Speaker(NamedTuple):
    """Who acts; `claims` is a name that still has to be vouched for."""

    actor: str | None
    by: Standing
    claims: str | None = None


def role_needed(command: Command | Outline, *, writes: bool) -> Role:
    """The lowest role that may make the call."""
    return max(command.role, command.writes_role) if writes else command.role


def require_role(command: Command, caller: Caller, *, writes: bool) -> None:
    role = role_needed(command, writes=writes)
    if caller.role < role:
        needed, had = role.name.lower(), caller.role.name.lower()
        raise Forbidden(
            f"{command.cmd} requires the {needed} role; this caller has {had}",
            recovery=f"ask the person who runs this store, or an agent with the {needed} role, to "
            f"do it; or use a token from `longhouse token create --role {needed}` (for a client "
            f"set up by `longhouse init`: `longhouse init --role {needed}`)",
        ).asking(f"role:{needed}")


def speaker(facts: HouseFacts, caller: Caller, agent_id: str | None, *, writes: bool) -> Speaker:
    """Who acts in a call that names `agent_id`, or names no one."""
    session = caller.session
    connection = f"@{session.key}" if session is not None and session.key else None
    by = Standing(
        caller.owner,
        caller.role,
        connection,
        connection=connection,
        workspaces=caller.workspaces,
        runner=caller.runner,
        client=caller.client,
        payer=caller.payer,
    )
    if caller.agent:
        if agent_id not in (None, caller.agent):
            raise Forbidden(
                f"agent_id: this token acts as {caller.agent!r}, not as {agent_id!r}",
                recovery="leave agent_id out, or use that agent's token",
            )
        return Speaker(caller.agent, by._replace(who=caller.agent, named=True, agent=caller.agent))
    claimed = agent_id or caller.said
    if claimed and not by.leads:
        from longhouse.kernel.labels import refuse_rank

        refuse_rank("agent_id", claimed)
        return Speaker(claimed, by, claims=claimed)
    trusted = claimed or caller.name
    if trusted:
        named = by._replace(who=trusted, named=True)
        return Speaker(trusted, named, claims=trusted if writes else None)
    return Speaker(facts.agent_id, by)


def choose_workspace(
    facts: HouseFacts, asked: str | None, caller: Caller, *, needed: bool = True
) -> str:
    """The requested workspace, else the session's, else the configured one; never a guess."""
    chosen = caller.session.current if caller.session else None
    default = facts.default_workspace
    if caller.workspaces is not None and default not in caller.workspaces:
        default = caller.workspaces[0]
    if not needed and not asked:
        with suppress(LonghouseError):
            return _permit(facts, chosen or "", caller)
        return default if caller.workspaces else fallback_workspace(facts) or ""  # type: ignore[return-value]
    name = asked or chosen or default
    if not name:
        raise UnknownWorkspace
    if (name, caller.workspaces) in facts.permitted:
        return name
    return _permit(facts, name, caller)


def _permit(facts: HouseFacts, name: str, caller: Caller) -> str:
    permit_workspace(facts, name, caller.workspaces)
    if len(facts.permitted) >= MOST_KNOWN:
        facts.permitted.clear()
    facts.permitted.add((name, caller.workspaces))
    return name
