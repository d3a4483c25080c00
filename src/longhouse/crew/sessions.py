"""Sessions: work items with their owners and states.

Everything is derived on read from items, identities and the counts kept per item; a page costs the
same however many agents, items and events there are.
"""

from __future__ import annotations

from typing import Literal

from longhouse.crew.agents import agents_named
from longhouse.crew.facts import CrewFacts
from longhouse.crew.holdings import scope_of
from longhouse.crew.items import WorkItem, source
from longhouse.crew.protocol import event_from
from longhouse.crew.room import binds, room, sql
from longhouse.crew.scopes import FileScope, overlap
from longhouse.crew.types.entities import Agent
from longhouse.crew.types.sessions import (
    Communication,
    Epic,
    Group,
    ListSessions,
    SessionCard,
    Sessions,
    SessionState,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.clock import rfc3339
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx

__all__ = [
    "groups",
    "session_state",
    "stands",
]

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
INCURSIONS = 10
MOST_HELD = 500
UNCATEGORIZED = Epic(id="uncategorized", title="Uncategorized")


@room.command(
    "agents.sessions",
    also="sessions.list activity",
    example=ListSessions(),
    trim=[
        Pop("incursions", leave=3),
        Pop("sessions", cursor="id", leave=1),
        Pop("incursions"),
        Pop("groups"),
        Pop("agents"),
    ],
)
def sessions(tx: Tx, req: ListSessions) -> Sessions:
    """Show who works on what: work items with owner, state and waiting messages."""
    items = source(tx)
    found = list(items.page(tx, after=req.cursor, limit=req.limit + 1, open_only=req.open_only))
    shown = found[: req.limit]
    more = len(found) > req.limit
    owners = agents_named(tx, (item.assignee for item in shown if item.assignee))
    talk = {
        row["bead_id"]: row
        for part in binds(item.id for item in shown)
        for row in tx.all(sql.talk_of, **part)
    }
    recent = [
        LogRow.from_row(row)
        for row in tx.all(sql.incursions_newest, limit=INCURSIONS)
        if row["ts_ms"] > tx.now_ms - DAY_MS
    ]
    return Sessions(
        sessions=[_card(tx, i, owners.get(i.assignee or ""), talk.get(i.id)) for i in shown],
        agents=[owners[name] for name in sorted(owners)],
        groups=groups(list(owners.values())),
        incursions=[event_from(row) for row in recent],
        incursions_over=[row.ref for row in recent if not stands(tx, row)],
        stale_minutes=tx.facts.of(CrewFacts).stale_minutes,
        count=len(shown),
        has_more=more,
        next_cursor=shown[-1].id if more else None,
    )


def stands(tx: Tx, incursion: LogRow) -> bool:
    """Whether the owner still holds what was in the way."""
    wanted = FileScope.of(incursion.data["scope"] or "")
    held = tx.all(
        sql.reservations_live_of_agent,
        agent_id=incursion.data["to_agent"],
        bead_id=None,
        now=tx.now_ms,
        before=incursion.seq,
        limit=MOST_HELD,
    )
    return any(overlap(wanted, scope_of(row)) != "disjoint" for row in held)


def _card(tx: Tx, item: WorkItem, owner: Agent | None, talk: Row | None) -> SessionCard:
    last_ms = max(item.updated_at_ms, talk["last_at_ms"] if talk else 0)
    due = bool(talk and talk["due"])
    silent_ms = tx.now_ms - last_ms
    return SessionCard(
        id=item.id,
        title=item.title,
        epic=item.epic or UNCATEGORIZED,
        status=item.status,
        session_state=session_state(
            item,
            owner,
            due=due,
            quiet=silent_ms >= tx.facts.of(CrewFacts).stale_minutes * MINUTE_MS,
        ),
        owner=item.assignee,
        last_actor=talk["last_actor"] if talk else None,
        last_activity_at=rfc3339(last_ms),
        communication=Communication(
            unread_count=talk["unread"] if talk else 0,
            pending_required=due,
            latest_snippet=talk["latest_subject"] if talk else None,
        ),
    )


def groups(agents: list[Agent]) -> list[Group]:
    """The agents grouped by role, with each group's health."""
    found: dict[str, list[Agent]] = {}
    for agent in sorted(agents, key=lambda one: (one.role, one.agent_id)):
        found.setdefault(agent.role, []).append(agent)
    return [
        Group(role=role, agents=[one.agent_id for one in members], health=_health(members))
        for role, members in found.items()
    ]


def _health(members: list[Agent]) -> Literal["active", "warning", "critical", "offline"]:
    states = {one.liveness for one in members}
    if states == {"evicted"}:
        return "offline"
    return "critical" if "evicted" in states else "warning" if "stale" in states else "active"


def session_state(item: WorkItem, owner: Agent | None, *, due: bool, quiet: bool) -> SessionState:
    """The first that applies: done, the owner's own status, waiting, silent, working."""
    if item.done:
        return "completed"
    if owner is not None and owner.status in ("stuck", "dead"):
        return owner.status  # type: ignore[return-value]
    if item.blocked or due:
        return "needs_input"
    if owner is not None and owner.liveness != "active":
        return owner.liveness
    if quiet:
        return "stale"
    return "active" if item.in_progress else "deciding"
