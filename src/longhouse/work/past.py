"""Plans, tasks and steps as of an earlier seq: today's rows, with later events taken back.

The event of an edit holds the previous values, and that of a deletion the rows. What events before
such values say (states, assignees, closed steps) is folded from those up to that seq. Counts,
traits and the order of ready tasks are derived by the functions that `verify` uses. Leases expire
by themselves and are not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from longhouse.kernel.contributions import Then
from longhouse.store.engine import Row
from longhouse.store.history import events_of, rows_after
from longhouse.store.tx import LogRow, Tx
from longhouse.work.events import STREAM
from longhouse.work.projections import encoded, pages, ready_at, traits
from longhouse.work.room import room, sql
from longhouse.work.states import CLOSED

__all__ = ["work_then"]

_PAGE = 500
_AROUND = ("job", "focus", "step_lease")
"""Events about a task that do not change it: their kinds begin so."""
_STATES = ("task_patched", "task_completed", "plan_updated")
_EMPTY_PLAN: Row = {
    "description": None,
    "context": None,
    "contract": None,
    "contract_data": None,
    "checklist": "[]",
    "checklist_at": 0,
    "checklist_doc": None,
    "priority": "MEDIUM",
    "tags": "[]",
    "revision": 1,
}
_EMPTY_TASK: Row = {
    "description": None,
    "context": None,
    "domain": None,
    "priority": "MEDIUM",
    "assignee": None,
    "reasoning_mode": "normal",
    "tags": "[]",
    "parked_until_ts_ms": None,
    "steps_total": 0,
    "steps_open": 0,
    "waits_for": 0,
    "revision": 1,
}


@room.rewinds(
    "plans",
    "tasks",
    "steps",
    "step_proofs",
    "step_leases",
    "task_traits",
    "task_dependencies",
    "work_counts",
)
def work_then(tx: Tx, then: Then) -> Iterator[tuple[str, Row]]:
    """The plans, tasks and steps that existed then, and what is derived from them."""
    since = _Since(tx, then)
    counts: Counter[tuple[str, str]] = Counter()
    for row in _plans(tx, since):
        counts["plans", row["status"]] += 1
        yield "plans", row
    links = _links(tx, since)
    counted = _Counted()
    for row in counted.through(_steps(tx, since)):
        yield "steps", row
    tasks = {row["task_id"]: row for row in _tasks(tx, since)}
    for name, row in tasks.items():
        if name in since.later:
            row |= {"steps_total": counted.total[name], "steps_open": counted.open[name]}
        after = [one for one in links.get(name, ()) if one in tasks]
        if name in since.later or after:
            row["waits_for"] = sum(tasks[one]["status"] not in CLOSED for one in after)
            row["ready_at"] = ready_at(row)
        yield "tasks", row
        yield from (("task_dependencies", _link(tx, name, one)) for one in after)
        for trait in traits(row):
            yield "task_traits", {"ws": tx.ws, "trait": trait, "number": row["number"]}
        counts["tasks", row["status"]] += 1
        counts[row["plan_id"], row["status"]] += 1
    for (scope, name), n in counts.items():
        yield "work_counts", {"ws": tx.ws, "scope": scope, "name": name, "n": n}
    for row in _proofs(tx, since):
        if row["step_id"] in counted.known:
            yield "step_proofs", row


class _Since:
    """What happened to plans and tasks after that seq, and their events up to it."""

    def __init__(self, tx: Tx, then: Then) -> None:
        self.then = then
        self.later: dict[str, list[LogRow]] = {}
        """The later events that changed something, by plan or task."""
        for row in rows_after(tx, STREAM, then.seq):
            if not row.kind.startswith(_AROUND):
                self.later.setdefault(row.subject, []).append(row)
        found = events_of(tx, STREAM, self.later, upto=then.seq)
        self.before = {
            entity: [event for event in events if not event.kind.startswith(_AROUND)]
            for entity, events in found.items()
        }
        """What had happened to these until then; those without an event did not exist yet."""
        self.was = {entity: _previous(events) for entity, events in self.later.items()}

    def gone(self, kind: str) -> dict[str, LogRow]:
        """What was deleted since."""
        return {
            entity: events[-1]
            for entity, events in self.later.items()
            if events[-1].kind == kind and entity in self.before
        }

    def rewound(self, row: Row, entity: str) -> Row | None:
        """A plan or task with its later events taken back; None if it did not exist yet."""
        if entity not in self.later:
            return dict(row)
        if not (events := self.before.get(entity)):
            return None
        found = {**row, **{name: encoded(value) for name, value in self.was[entity].items()}}
        found.pop("depends_on", None)
        said = next((one for one in map(_moved, reversed(events)) if "status" in one), {})
        found["status"] = said.get("status", "TODO")
        if "assignee" in row:
            found["parked_until_ts_ms"] = said.get("parked_until_ts_ms")
            if "assignee" not in self.was[entity]:
                found["assignee"] = _assignee(events, row, self.later[entity])
        at = {event.ts_ms for event in self.later[entity]}
        found["revision"] = max(1, row["revision"] - len(at))
        found["updated_at_ms"] = events[-1].ts_ms
        return found


def _moved(event: LogRow) -> dict[str, Any]:
    return event.data.get("payload", {}) if event.kind in _STATES else {}


def _assignee(events: list[LogRow], row: Row, later: list[LogRow]) -> Any:
    """Whose it was: as today unless that was changed later, else as the events say."""
    if not any("assignee" in _moved(event) for event in later):
        return row["assignee"]
    told = [said for event in events if "assignee" in (said := event.data.get("payload", {}))]
    return told[-1]["assignee"] if told else None


def _previous(events: list[LogRow]) -> dict[str, Any]:
    """What the fields that were edited in these events were before the first of them."""
    found: dict[str, Any] = {}
    for event in events:
        if not event.kind.endswith(("_deleted", "_defined")):
            found = {**event.data.get("payload", {}).get("before", {}), **found}
    return found


def _plans(tx: Tx, since: _Since) -> Iterator[Row]:
    for row in pages(tx, sql.plans_page):
        if found := since.rewound(row, row["plan_id"]):
            yield found
    for plan, event in since.gone("plan_deleted").items():
        lost = event.data["payload"].get("before", {}).get("plan") or _made(
            tx, since, plan, _EMPTY_PLAN
        )
        if found := since.rewound({**lost, "ws": tx.ws}, plan):
            yield found


def _tasks(tx: Tx, since: _Since) -> Iterator[Row]:
    for row in pages(tx, sql.tasks_page):
        if found := since.rewound(row, row["task_id"]):
            yield found
    for task, event in since.gone("task_deleted").items():
        lost = event.data["payload"].get("before", {}).get("task") or _made(
            tx, since, task, _EMPTY_TASK
        )
        if found := since.rewound({**lost, "ws": tx.ws}, task):
            yield found


def _made(tx: Tx, since: _Since, entity: str, empty: Row) -> Row:
    """A deleted plan or task whose deletion did not record its row."""
    made = since.before[entity][0]
    said = made.data["payload"]
    names = (
        {"plan_id": said.get("plan"), "task_id": entity}
        if "assignee" in empty
        else {"plan_id": entity}
    )
    return {
        **empty,
        **names,
        "ws": tx.ws,
        "number": int(entity.partition("-")[2]),
        "title": said.get("title", entity),
        "status": "TODO",
        "created_at_ms": made.ts_ms,
        "updated_at_ms": made.ts_ms,
    }


def _steps(tx: Tx, since: _Since) -> Iterator[Row]:
    """The steps that existed then; those of a task that changed since are folded."""
    folded = {task: _Steps(since.before.get(task, [])) for task in since.later}
    after = ""
    while rows := tx.all(sql.steps_page, after=after, limit=_PAGE):
        after = rows[-1]["step_id"]
        for row in rows:
            if row["task_id"] not in folded:
                yield row
            elif row["step_id"] in folded[row["task_id"]].known:
                folded[row["task_id"]].rows[row["step_id"]] = row
    for task, steps in folded.items():
        steps.take_back(since.later[task])
        yield from ({**steps.told(row), "ws": tx.ws} for row in steps.rows.values())


class _Steps:
    """The steps of one task after these events."""

    def __init__(self, events: list[LogRow]) -> None:
        self.rows: dict[str, Row] = {}
        """Their rows today, or when they were deleted."""
        self.known: dict[str, Row] = {}
        """What the events say of each."""
        self._ids: dict[str, str] = {}
        for event in events:
            self._hear(event)

    def _hear(self, event: LogRow) -> None:
        said, path = event.data.get("payload", {}), event.data.get("path")
        if event.kind == "steps_added":
            for step in said["steps"]:
                self._ids[step["path"]] = step["step_id"]
                fresh = {"completed": 0, "completed_at_ms": None, "confirmed": "[]"}
                fresh |= {"blocked": 0, "block_reason": None, "updated_at_ms": event.ts_ms}
                self.known[step["step_id"]] = fresh
        elif event.kind == "step_deleted":
            for step_id in said["steps"]:
                self.known.pop(step_id, None)
        else:
            step_id = event.data.get("step_id") or self._ids.get(path or "", "")
            if step_id in self.known:
                self.known[step_id] |= _change(event, said)

    def take_back(self, later: list[LogRow]) -> None:
        """Bring back what was deleted or described anew since."""
        for event in reversed(later):
            was = event.data.get("payload", {}).get("before", {})
            if event.kind in ("step_deleted", "task_deleted"):
                lost = {row["step_id"]: row for row in was.get("steps", ())}
                self.rows |= {
                    step_id: row for step_id, row in lost.items() if step_id in self.known
                }
            elif event.kind == "step_defined" and (
                row := self.rows.get(event.data.get("step_id", ""))
            ):
                self.rows[row["step_id"]] = {
                    **row,
                    **{name: encoded(value) for name, value in was.items()},
                }

    def told(self, row: Row) -> Row:
        return {**row, **self.known[row["step_id"]]}


def _change(event: LogRow, said: dict[str, Any]) -> Row:
    """What an event about a step changes in it."""
    changes: dict[str, Row] = {
        "step_done": {"completed": 1, "completed_at_ms": event.ts_ms},
        "step_reopened": {"completed": 0, "completed_at_ms": None, "confirmed": "[]"},
        "step_verified": {"confirmed": encoded(said.get("confirmed", []))},
        "step_blocked": {"blocked": 1, "block_reason": said.get("reason")},
        "step_unblocked": {"blocked": 0, "block_reason": None},
        "step_defined": {},
    }
    found = changes.get(event.kind)
    return {} if found is None else {**found, "updated_at_ms": event.ts_ms}


class _Counted:
    """Counts the steps that pass through, by task."""

    def __init__(self) -> None:
        self.total: Counter[str] = Counter()
        self.open: Counter[str] = Counter()
        self.known: set[str] = set()

    def through(self, steps: Iterable[Row]) -> Iterator[Row]:
        for row in steps:
            self.total[row["task_id"]] += 1
            self.open[row["task_id"]] += not row["completed"]
            self.known.add(row["step_id"])
            yield row


def _links(tx: Tx, since: _Since) -> dict[str, list[str]]:
    """What each task depended on."""
    found: dict[str, list[str]] = {}
    for row in tx.all(sql.dependencies_all):
        found.setdefault(row["task_id"], []).append(row["depends_on"])
    for task, event in since.gone("task_deleted").items():
        found[task] = event.data["payload"].get("before", {}).get("depends_on", [])
    edited = {task: was["depends_on"] for task, was in since.was.items() if "depends_on" in was}
    return found | edited


def _link(tx: Tx, task: str, other: str) -> Row:
    return {"ws": tx.ws, "task_id": task, "depends_on": other}


def _proofs(tx: Tx, since: _Since) -> Iterator[Row]:
    """The receipts up to then, those of steps that were deleted since included."""
    after, upto = 0, since.then.seq
    while rows := tx.all(sql.proofs_after, after=after, upto=upto, limit=_PAGE):
        last = rows[-1]["seq"]
        # A seq may have several rows: read the last one's again, unless it is alone.
        whole = [row for row in rows if row["seq"] < last] if len(rows) == _PAGE else rows
        yield from whole
        after = whole[-1]["seq"]
    for events in since.later.values():
        for event in events:
            if event.kind in ("step_deleted", "task_deleted"):
                lost = event.data["payload"].get("before", {}).get("proofs", ())
                yield from ({**row, "ws": tx.ws} for row in lost if row["seq"] <= upto)
