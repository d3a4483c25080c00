"""Card types, statuses and tags, and which cards are visible by default.

Visibility is a filter, not access control: asking for drafts, or for a card's id, finds any card.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.names import nearest

__all__ = [
    "CANON",
    "CANON_TYPES",
    "DEAD",
    "DRAFT",
    "ENDED",
    "PINNED",
    "STATUSES",
    "TYPES",
    "View",
    "check_status",
    "check_type",
    "has_draft_marker",
    "is_active",
    "is_draft",
    "is_shown",
    "lane_of",
]

TYPES = (
    "frame",
    "hypothesis",
    "question",
    "test",
    "evidence",
    "decision",
    "note",
    "update",
    "knowledge",
)
CANON_TYPES = frozenset({"hypothesis", "question", "test", "evidence", "decision", "update"})
"""Types shown unless a tag says otherwise; all other types are drafts."""

ENDED = frozenset({"closed", "done", "resolved", "superseded"})
"""Settled: no longer open, but still supporting other cards."""
DEAD = frozenset({"rejected", "refuted"})
"""Found wrong: no longer supports or blocks anything."""
STATUSES = ("open", "parked", "accepted", "confirmed", "passed", "failed", *sorted(ENDED | DEAD))

PINNED = "pinned"
CANON, DRAFT = "v:canon", "v:draft"
_AGENT_LANE = "lane:agent:"

View = Literal["smart", "explore", "audit"]


def is_active(status: str | None) -> bool:
    """Whether a card is still in play: neither settled nor found wrong."""
    return status not in ENDED and status not in DEAD


def has_draft_marker(tags: Iterable[str]) -> bool:
    """Whether a tag marks the card as a draft; `v:canon` overrides an agent's lane."""
    marks = set(tags)
    if DRAFT in marks:
        return True
    return CANON not in marks and any(tag.startswith(_AGENT_LANE) for tag in marks)


def is_draft(kind: str, tags: Iterable[str]) -> bool:
    """Whether a card is a draft, by its tags, else by its type."""
    marks = set(tags)
    if has_draft_marker(marks):
        return True
    return CANON not in marks and kind not in CANON_TYPES


def is_shown(kind: str, tags: Iterable[str]) -> bool:
    """Whether a card is visible by default: not a draft, or pinned without a draft marker."""
    marks = set(tags)
    return not is_draft(kind, marks) or (PINNED in marks and not has_draft_marker(marks))


def lane_of(tags: Iterable[str]) -> str:
    """`shared`, or an agent's lane from an older store."""
    lane = next((tag for tag in tags if tag.startswith("lane:")), "lane:shared")
    return lane.removeprefix("lane:")


def check_type(kind: str, field: str = "type") -> str:
    """A supported type, or InvalidInput that lists them."""
    wanted = kind.strip().lower()
    if wanted in TYPES:
        return wanted
    near = nearest(wanted, TYPES)
    raise InvalidInput(
        f"{field}: unknown card type {kind[:40]!r}; fix: {field}={near or 'note'}",
        recovery=f"supported_types: {', '.join(TYPES)}",
        hints=[{"kind": "choices", "field": field, "supported_types": list(TYPES)}],
    )


def check_status(status: str, field: str = "status") -> str:
    """A known status, or InvalidInput that lists them."""
    wanted = status.strip().lower()
    if wanted in STATUSES:
        return wanted
    near = nearest(wanted, STATUSES)
    raise InvalidInput(
        f"{field}: unknown card status {status[:40]!r}; fix: {field}={near or 'open'}",
        recovery=f"use one of {', '.join(STATUSES)}",
        hints=[{"kind": "choices", "field": field, "statuses": list(STATUSES)}],
    )
