"""The conversation of a work item: its events, messages and activity in one timeline."""

from __future__ import annotations

from typing import Any

from longhouse.crew.items import linked_item
from longhouse.crew.messages import message_from
from longhouse.crew.protocol import EVENT_TYPES, event_from
from longhouse.crew.room import ENDLESS, room, sql
from longhouse.crew.types.sessions import Conversation, Moment, Timeline
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.lines import clip
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["LABELS", "moment"]

LABELS = {
    "HANDOFF": "Passed to",
    "BLOCKED": "Needs input",
    "DECISION": "Deciding",
    "INFO": "Update",
    "INCURSION": "Reservation conflict",
    "RESUME": "Resumed",
    "changed_outside": "Changed outside its reservations",
    "seen": "Seen",
    "accepted": "Accepted",
    "answered": "Answered",
}
"""Labels for people; a kind without one is shown under its own name."""


def _lines(result: dict[str, Any]) -> list[str]:
    rows = [
        f"{row['ref']} {row['label']} by={row.get('actor', '-')} " + clip(_subject(row), 80)
        for row in result["thread"]
    ]
    head = f"conversation {result['bead_id']} count={result['count']}"
    return [head, *(row.strip() for row in rows)]


def _subject(row: dict[str, Any]) -> str:
    """What a row is about: a message's subject, or the title that a change of the work item has."""
    said = row.get("message") or (row.get("data") or {}).get("payload") or {}
    return str(said.get("subject") or said.get("title") or "")


@room.command(
    "agents.conversation",
    also="thread chat messages talk",
    example=Conversation(bead_id="TASK-001"),
    lines=_lines,
    trim=[
        Clip("thread.message.body", 400),
        Pop("thread", oldest="first", leave=1, cursor="seq"),
        Clip("thread.message.body", 80),
    ],
)
def conversation(tx: Tx, req: Conversation) -> Timeline:
    """Show everything said and done about a work item: the latest page, oldest first."""
    bead_id = linked_item(tx, req.bead_id)
    found = tx.all(
        log_sql.log_of_subject_before,
        subject=bead_id,
        before=req.cursor or ENDLESS,
        limit=req.limit + 1,
    )
    shown = found[: req.limit]
    more = len(found) > req.limit
    mail: dict[int, Row] = {}
    if shown:
        rows = tx.all(
            sql.messages_between, bead_id=bead_id, first=shown[-1]["seq"], last=shown[0]["seq"]
        )
        mail = {row["seq"]: row for row in rows}
    return Timeline(
        bead_id=bead_id,
        thread=[moment(LogRow.from_row(row), mail.get(row["seq"])) for row in reversed(shown)],
        count=len(shown),
        has_more=more,
        next_cursor=shown[-1]["seq"] if more else None,
    )


def moment(row: LogRow, mail: Row | None) -> Moment:
    """A log row as the timeline shows it, with its message if it has one."""
    protocol = row.stream == "crew" and row.kind in EVENT_TYPES
    message = message_from(mail) if mail else None
    kind = message.category if message else row.kind
    label = LABELS.get(kind, kind.replace("_", " ").capitalize())
    if kind == "changed_outside" and "job" not in row.data:
        label = "Saw a change outside any reservation"
    actor = row.data.get("from_agent") or row.data.get("agent") if row.stream == "crew" else None
    if row.kind in ("seen", "accepted", "answered"):
        actor = row.data["agent"]
    return Moment(
        seq=row.seq,
        ref=row.ref,
        type="protocol" if protocol else "message" if message else "activity",
        kind=kind,
        label=label,
        timestamp=rfc3339(row.ts_ms),
        actor=actor or row.actor,
        event=event_from(row) if protocol else None,
        message=message,
        data={} if protocol or message else row.data,
    )
