"""Parses the issues that `bd` exports as lines of JSON.

Everything here is a pure function of text. Anything that is not an issue is skipped, because the
file is not ours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from longhouse.crew.items import WorkItem
from longhouse.crew.types.sessions import Epic

__all__ = ["CLOSED", "Issue", "items_of", "parse", "parse_all"]

HIDDEN_LABEL = "gt:agent"
CLOSED = ("closed", "tombstone")
IN_PROGRESS = ("in_progress", "hooked")
LONGEST_ID = 128
SHOWN = 200


class Issue(NamedTuple):
    """One issue from Beads; of its description, only the digest."""

    id: str
    title: str
    status: str
    type: str
    priority: int
    assignee: str | None
    description: str
    labels: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    comments: int
    due: str | None
    estimate: int | None
    updated_at_ms: int

    @property
    def parent(self) -> str | None:
        return next((target for kind, target in self.edges if kind == "parent"), None)

    @property
    def blocked_by(self) -> tuple[str, ...]:
        return tuple(target for kind, target in self.edges if kind == "blocks")


def parse(text: str, *, everything: bool = False) -> list[Issue]:
    """The issues in a JSON list or in lines of JSON; a line that is not an issue is skipped.

    Deleted issues, and agents that older versions stored as issues, only with `everything`.
    """
    return parse_all(text, everything=everything)[0]


def parse_all(text: str, *, everything: bool = False) -> tuple[list[Issue], bool]:
    """The issues, and whether all of the text was valid JSON: a file may be half-written."""
    found, broken = [], False
    for raw in _objects(text):
        if raw is None:
            broken = True
            continue
        hidden = raw.get("status") == "tombstone" or HIDDEN_LABEL in _words(raw.get("labels"))
        if (everything or not hidden) and (issue := _issue(raw)):
            found.append(issue)
    return found, not broken


def _objects(text: str) -> Iterator[dict[str, Any] | None]:
    """Each object in the text; None for a part that is not JSON."""
    if text.lstrip().startswith("["):
        rows = _json(text)
        if rows is None:
            yield None
        yield from (row for row in rows or () if isinstance(row, dict))
        return
    for line in text.splitlines():
        if line.strip():
            row = _json(line)
            if row is None or isinstance(row, dict):
                yield row


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _issue(raw: dict[str, Any]) -> Issue | None:
    id_, title = _text(raw.get("id")), _text(raw.get("title"))
    if not id_ or not title or len(id_) > LONGEST_ID:
        return None
    if any(char.isspace() or not char.isprintable() for char in id_):
        return None
    described = _text(raw.get("description")) or ""
    comments = raw.get("comments")
    return Issue(
        id=id_,
        title=title[:SHOWN],
        status=_text(raw.get("status")) or "open",
        type=_text(raw.get("issue_type")) or "task",
        priority=_small(raw.get("priority"), 2),
        assignee=_text(raw.get("assignee")),
        description=hashlib.sha256(described.encode()).hexdigest()[:16] if described else "",
        labels=tuple(sorted(_words(raw.get("labels")))),
        edges=tuple(sorted(set(_edges(raw.get("dependencies"))))),
        comments=len(comments) if isinstance(comments, list) else _small(raw.get("comment_count")),
        due=_text(raw.get("due_at")),
        estimate=_small(raw.get("estimated_minutes")) or None,
        updated_at_ms=_ms(raw.get("updated_at") or raw.get("created_at")),
    )


def _edges(rows: Any) -> Iterator[tuple[str, str]]:
    """An issue's dependencies, each with its kind; `parent-child` names the parent."""
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            target = _text(row.get("depends_on_id")) or _text(row.get("target"))
            kind = _text(row.get("type")) or "blocks"
            if target:
                yield ("parent" if kind == "parent-child" else kind.replace("-", "_"), target)


def _text(value: Any) -> str | None:
    """The text as valid UTF-8, which databases require: JSON can contain lone surrogates."""
    return value.encode("utf-8", "replace").decode() or None if isinstance(value, str) else None


def _words(value: Any) -> list[str]:
    return [word for raw in value if (word := _text(raw))] if isinstance(value, list) else []


def _small(value: Any, default: int = 0) -> int:
    return value if isinstance(value, int) and abs(value) < 2**31 else default


def _ms(text: Any) -> int:
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return 0
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def items_of(issues: Iterable[Issue]) -> list[WorkItem]:
    """The issues as work items, sorted by id; one is blocked while a blocker is open."""
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
    """The topmost parent of an issue or, without a parent, the issue that its id extends."""
    seen = {issue.id}
    top = issue
    while (parent := top.parent) and parent in known and parent not in seen:
        seen.add(parent)
        top = known[parent]
    if top is issue:
        prefix = issue.id.partition(".")[0]
        if prefix == issue.id or prefix not in known:
            return None
        top = known[prefix]
    return Epic(id=top.id, title=top.title, status=top.status)
