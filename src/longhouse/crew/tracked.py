"""Changes in an external tracker: each reading is compared with the last one recorded.

The first reading records no events. The recorded state is stored beside the log and changes in the
same transaction, under the workspace's lock, so each change is one event however many servers read
the tracker. An issue older than the recorded one (from another checkout's file) changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from longhouse.crew.facts import CrewFacts
from longhouse.crew.issues import CLOSED, Issue
from longhouse.crew.items import TrackerReading, source
from longhouse.crew.room import room, sql
from longhouse.crew.types.sessions import ItemChange, ItemsSynced, SyncItems
from longhouse.kernel.budget import Pop
from longhouse.store.tx import Tx

__all__ = [
    "differences",
]

STREAM = "beads"
LOOK_S = 2
MOST = 1000
"""The most changes that one transaction records; the next sync continues from there."""
PAGE = 1000
OF_A_NEW_ONE = ("title", "status", "priority", "type", "assignee")
FIELDS = {
    "title": "title_changed",
    "priority": "priority_changed",
    "assignee": "assignee_changed",
    "type": "type_changed",
    "description": "description_changed",
    "labels": "labels_changed",
    "due": "due_date_changed",
    "estimate": "estimate_changed",
}


class Difference(NamedTuple):
    """One change to an item: the event that records it."""

    kind: str
    data: dict[str, Any]


def differences(before: dict[str, Any] | None, after: dict[str, Any]) -> Iterator[Difference]:
    """What changed between two readings of an item; fields missing from `before` are ignored."""
    if before is None:
        yield Difference("created", {name: after[name] for name in OF_A_NEW_ONE})
        return
    was, now = before.get("status"), after["status"]
    if was != now:
        kind = "closed" if now in CLOSED else "reopened" if was in CLOSED else "status_changed"
        yield Difference(kind, {"field": "status", "from": was, "to": now})
    for field, kind in FIELDS.items():
        if field in before and before[field] != after[field]:
            shown: dict[str, Any] = (
                {} if field == "description" else {"from": before[field], "to": after[field]}
            )
            yield Difference(kind, {"field": field, **shown})
    edges, new = (_pairs(told.get("edges", [])) for told in (before, after))
    for kind, changed in (("added", new - edges), ("removed", edges - new)):
        for how, target in sorted(changed):
            yield Difference(f"dependency_{kind}", {"type": how, "depends_on": target})
    if after["comments"] > before.get("comments", after["comments"]):
        yield Difference("comment_added", {"comments": after["comments"]})


def _pairs(edges: list[list[str]]) -> set[tuple[str, str]]:
    return {(how, target) for how, target in edges}


@room.command(
    "agents.items.sync",
    writes=True,
    additive=True,
    idempotent=True,
    example=SyncItems(),
    trim=[Pop("changes")],
)
def sync(tx: Tx, req: SyncItems) -> ItemsSynced:
    """Record what changed in Beads since the last sync; a server does so every 2 s."""
    items = source(tx)
    look = items.look()
    changes = _tell(tx, look) if look else []
    return ItemsSynced(
        source=items.name,
        items=len(look.issues) if look else 0,
        changes=changes,
        count=len(changes),
        has_more=len(changes) >= MOST,
    )


@room.every(LOOK_S, when=lambda facts: facts.of(CrewFacts).items.moved())
def watch(tx: Tx) -> None:
    """Record changes as they appear, in the project's own workspace, while a server runs."""
    look = source(tx).look()
    if look and tx.workspace == tx.facts.default_workspace:
        _tell(tx, look)


def _tell(tx: Tx, look: TrackerReading) -> list[ItemChange]:
    before = tx.value(sql.tracked_digest)
    if before == look.digest:
        source(tx).told(look)  # the digest was read back, so it is committed
        return []
    known = _known(tx)
    rows: list[dict[str, Any]] = []
    changes: list[ItemChange] = []

    def tell(bead_id: str, difference: Difference) -> None:
        seq = tx.append(STREAM, bead_id, difference.kind, difference.data)
        changes.append(ItemChange(ref=f"{bead_id}@{seq}", bead_id=bead_id, kind=difference.kind))

    issues: dict[str, Issue] = {issue.id: issue for issue in look.issues}
    for _, issue in sorted(issues.items()):
        stored = known.pop(issue.id, None)
        if stored and stored[0] > issue.updated_at_ms > 0:
            continue
        now = _told(issue)
        if before is not None:
            for difference in differences(stored[1] if stored else None, now):
                tell(issue.id, difference)
        if stored != (issue.updated_at_ms, now):
            rows.append(_row(issue.id, issue.updated_at_ms, now))
        if len(changes) >= MOST:
            break
    else:
        for bead_id, (_, told) in known.items() if look.whole else ():
            tell(bead_id, Difference("deleted", {"title": told.get("title")}))
            tx.run(sql.tracked_drop, bead_id=bead_id)
        rows.append({"bead_id": "", "updated_at_ms": 0, "told": look.digest})
    tx.many(sql.tracked_put, rows)
    return changes


def _known(tx: Tx) -> dict[str, tuple[int, dict[str, Any]]]:
    """The recorded state of every item."""
    known: dict[str, tuple[int, dict[str, Any]]] = {}
    after = ""
    while rows := tx.all(sql.tracked_all, after=after, limit=PAGE):
        after = rows[-1]["bead_id"]
        for row in rows:
            known[row["bead_id"]] = (row["updated_at_ms"], msgspec.json.decode(row["told"]))
    return known


def _told(issue: Issue) -> dict[str, Any]:
    told = issue._asdict()
    del told["id"], told["updated_at_ms"]
    return {**told, "labels": list(issue.labels), "edges": [list(edge) for edge in issue.edges]}


def _row(bead_id: str, updated_at_ms: int, told: dict[str, Any]) -> dict[str, Any]:
    encoded = msgspec.json.encode(told).decode()
    return {"bead_id": bead_id, "updated_at_ms": updated_at_ms, "told": encoded}
