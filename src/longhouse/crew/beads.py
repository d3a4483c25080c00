"""Beads as a source of work items: read from what `bd` exported, and never written.

Nothing here runs a program. `longhouse beads refresh` has `bd` list its issues into a file of ours;
else the file that `bd` itself exports is read. A file is read again when it has changed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.crew.items import Epic, WorkItem
from longhouse.store.tx import Tx

__all__ = ["BeadsItems", "Issue", "items_of", "parse"]

HIDDEN_LABEL = "gt:agent"
CLOSED = ("closed", "tombstone")
IN_PROGRESS = ("in_progress", "hooked")


class Issue(NamedTuple):
    """One issue as Beads tells of it."""

    id: str
    title: str
    status: str
    type: str
    priority: int
    assignee: str | None
    parent: str | None
    blocked_by: tuple[str, ...]
    updated_at_ms: int


def parse(text: str, *, everything: bool = False) -> list[Issue]:
    """The issues in a JSON list or in lines of JSON; a line that is no issue is skipped.

    What was deleted, and agents that older versions kept as issues, only with `everything`.
    """
    found = []
    for raw in _objects(text):
        labels = raw.get("labels") or []
        hidden = raw.get("status") == "tombstone" or HIDDEN_LABEL in labels
        if (everything or not hidden) and (issue := _issue(raw)):
            found.append(issue)
    return found


def _objects(text: str) -> Iterator[dict[str, Any]]:
    if text.lstrip().startswith("["):
        try:
            rows = json.loads(text)
        except ValueError:
            rows = []
        yield from (row for row in rows if isinstance(row, dict))
        return
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def _issue(raw: dict[str, Any]) -> Issue | None:
    id_, title = raw.get("id"), raw.get("title")
    if not (isinstance(id_, str) and id_ and isinstance(title, str) and title):
        return None
    parent, blocked_by = None, []
    for edge in raw.get("dependencies") or []:
        if not isinstance(edge, dict):
            continue
        target = edge.get("depends_on_id") or edge.get("target")
        if edge.get("type") in ("parent-child", "parent"):
            parent = target
        elif edge.get("type", "blocks") == "blocks" and isinstance(target, str):
            blocked_by.append(target)
    priority = raw.get("priority")
    return Issue(
        id=id_,
        title=title[:200],
        status=str(raw.get("status") or "open"),
        type=str(raw.get("issue_type") or "task"),
        priority=priority if isinstance(priority, int) else 2,
        assignee=raw.get("assignee") or None,
        parent=parent,
        blocked_by=tuple(blocked_by),
        updated_at_ms=_ms(raw.get("updated_at") or raw.get("created_at")),
    )


def _ms(text: Any) -> int:
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return 0
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def items_of(issues: Iterable[Issue]) -> list[WorkItem]:
    """What can be worked on, by id; an issue waits while one that blocks it is open."""
    known = {issue.id: issue for issue in issues}
    open_ = {id_ for id_, issue in known.items() if issue.status not in CLOSED}
    return [
        WorkItem(
            id=issue.id,
            title=issue.title,
            status=issue.status,
            assignee=issue.assignee,
            epic=_epic(issue, known),
            updated_at_ms=issue.updated_at_ms,
            done=issue.status in CLOSED,
            in_progress=issue.status in IN_PROGRESS,
            blocked=issue.status == "blocked" or not open_.isdisjoint(issue.blocked_by),
        )
        for _, issue in sorted(known.items())
        if issue.type != "epic"
    ]


def _epic(issue: Issue, known: dict[str, Issue]) -> Epic | None:
    """What an issue is part of in the end: along its parents, or by the start of its id."""
    seen = {issue.id}
    top = issue
    while top.parent and top.parent in known and top.parent not in seen:
        seen.add(top.parent)
        top = known[top.parent]
    if top is issue:
        prefix = issue.id.partition(".")[0]
        if prefix == issue.id or prefix not in known:
            return None
        top = known[prefix]
    return Epic(id=top.id, title=top.title, status=top.status)


class _Snapshot(NamedTuple):
    stamp: tuple[Any, ...]
    items: list[WorkItem]
    ids: list[str]
    by_id: dict[str, WorkItem]


class BeadsItems:
    """Work items from the first of these files that exists."""

    def __init__(self, *files: Path) -> None:
        self._files = files
        self._snapshot = _Snapshot((), [], [], {})

    def knows(self, item_id: str) -> bool:  # noqa: ARG002
        """An export may be behind: an id that it lacks may be an issue all the same."""
        return False

    def get(self, tx: Tx, item_id: str) -> WorkItem | None:  # noqa: ARG002
        return self._now().by_id.get(item_id)

    def in_progress_of(self, tx: Tx, assignee: str) -> Sequence[WorkItem]:  # noqa: ARG002
        return [i for i in self._now().items if i.in_progress and i.assignee == assignee]

    def page(
        self,
        tx: Tx,  # noqa: ARG002
        *,
        after: str | None,
        limit: int,
        open_only: bool,
    ) -> Sequence[WorkItem]:
        now = self._now()
        start = bisect_right(now.ids, after) if after else 0
        rest = islice(now.items, start, None)
        return list(islice((i for i in rest if not (open_only and i.done)), limit))

    def _now(self) -> _Snapshot:
        """What the file says, read again only when it is another one."""
        for path in self._files:
            try:
                stat = path.stat()
                stamp = (path, stat.st_mtime_ns, stat.st_size, stat.st_ino)
                if stamp != self._snapshot.stamp:
                    items = items_of(parse(path.read_text(encoding="utf-8", errors="replace")))
                    self._snapshot = _Snapshot(
                        stamp, items, [i.id for i in items], {i.id: i for i in items}
                    )
            except OSError:
                continue
            return self._snapshot
        return _Snapshot((), [], [], {})
