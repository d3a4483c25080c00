"""Reservations and unanswered messages, for everyone, one agent or one work item."""

from __future__ import annotations

from typing import Any

from longhouse.crew.agents import existing
from longhouse.crew.facts import alive
from longhouse.crew.holdings import live_rows, reservation_from
from longhouse.crew.messages import message_from
from longhouse.crew.outside import changes_outside
from longhouse.crew.room import ENDED, ENDLESS, room, sql
from longhouse.crew.types.reservations import CrewStatus, GetCrewStatus, Summary
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.lines import clip
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["status"]

CHANGES = 20


def _status_lines(result: dict[str, Any]) -> list[str]:
    s = result["summary"]
    head = f"crew reservations={s['active']} unacked={s['unacked_required_messages']}"
    rows = [
        f"{r['scope']} {r['agent_id']} {r['owner_liveness']} for={r['bead_id']}"
        for r in result["reservations"]
    ]
    waits = [
        f"{m['message_id']} ! {m['category']} to={m['to_agent']} {clip(m['subject'], 80)}"
        for m in result["unacked_required_messages"]
    ]
    outside = [
        f"{o['ref']} ! changed outside {'' if o.get('job_id') else 'seen_'}by={o['agent_id']} "
        + _files(o)
        for o in result["outside"]
    ]
    return [head, *rows, *waits, *outside]


def _files(change: dict[str, Any]) -> str:
    named = [f["path"] + (f" of {f['holder']}" if f.get("holder") else "") for f in change["files"]]
    counted = {"more in the log": change["unnamed"], "not compared": change["more"]}
    rest = [f"({n} {words})" for words, n in counted.items() if n]
    return " ".join([clip(", ".join(named), 120), *rest])


@room.command(
    "agents.status",
    also="holdings reservations agents.reservations.list locks",
    example=GetCrewStatus(),
    lines=_status_lines,
    trim=[
        Clip("unacked_required_messages.body", 120),
        Pop("outside", leave=3),
        Pop("unacked_required_messages", leave=3),
        Pop("reservations", cursor="seq", leave=1),
        Pop("outside"),
        Pop("unacked_required_messages"),
    ],
)
def status(tx: Tx, req: GetCrewStatus) -> CrewStatus:
    """Show reservations and unanswered messages, of everyone, one agent or one work item."""
    agent = existing(tx, req.agent)["agent_id"] if req.agent else None
    bead_id = (req.bead_id or "").strip() or None
    rows = live_rows(tx, agent, bead_id, before=req.cursor or ENDLESS, limit=req.limit + 1)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    waiting = tx.all(sql.messages_due, agent_id=agent, bead_id=bead_id, limit=req.limit)
    return CrewStatus(
        reservations=[reservation_from(row, alive(tx, row)) for row in shown],
        unacked_required_messages=[message_from(row) for row in waiting],
        outside=changes_outside(tx, agent, bead_id, CHANGES),
        summary=Summary(
            **_counted(tx, agent, bead_id),
            unacked_required_messages=tx.value(
                sql.messages_due_counted, agent_id=agent, bead_id=bead_id
            ),
        ),
        count=len(shown),
        has_more=more,
        next_cursor=shown[-1]["seq"] if more else None,
    )


def _counted(tx: Tx, agent: str | None, bead_id: str | None) -> Row:
    if agent:
        found = tx.one(
            sql.reservations_counted_of_agent, agent_id=agent, bead_id=bead_id, now=tx.now_ms
        )
    elif bead_id:
        found = tx.one(sql.reservations_counted_of_bead, bead_id=bead_id, now=tx.now_ms)
    else:
        found = tx.one(sql.reservations_unended, now=tx.now_ms)
        assert found is not None
        ended = {state: tx.counted(counter) for state, counter in ENDED.items()}
        return {
            "active": found["active"],
            "released": ended["released"],
            "expired": found["expired"] + ended["expired"],
        }
    assert found is not None
    return found
