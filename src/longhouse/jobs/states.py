"""The states of a job and the moves between them, as one table.

No other move exists; the queries enforce the same conditions.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["ACTIVE", "ENDED", "EVENT_OF", "MOVES", "STATUSES", "Move", "Status"]

Status = Literal["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"]
Move = Literal[
    "claim",
    "reclaim",
    "release",
    "retry",
    "hold",
    "arrive",
    "done",
    "fail",
    "apply",
    "drop",
    "cancel",
    "requeue",
]

STATUSES: Final[tuple[Status, ...]] = ("QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED")
ACTIVE: Final[frozenset[Status]] = frozenset({"QUEUED", "RUNNING"})
ENDED: Final[frozenset[Status]] = frozenset(STATUSES) - ACTIVE

MOVES: Final[dict[Move, tuple[frozenset[Status], Status]]] = {
    "claim": (frozenset({"QUEUED"}), "RUNNING"),
    "reclaim": (frozenset({"RUNNING"}), "RUNNING"),
    "release": (frozenset({"RUNNING"}), "QUEUED"),
    "retry": (frozenset({"RUNNING"}), "QUEUED"),
    "hold": (frozenset({"RUNNING"}), "QUEUED"),
    "arrive": (ACTIVE, "QUEUED"),
    "done": (frozenset({"RUNNING"}), "DONE"),
    "fail": (frozenset({"RUNNING"}), "FAILED"),
    "apply": (frozenset({"QUEUED"}), "DONE"),
    "drop": (frozenset({"QUEUED"}), "FAILED"),
    "cancel": (ACTIVE, "CANCELED"),
    "requeue": (ENDED, "QUEUED"),
}
"""Each move: the states it may start from, and the state it ends in."""

EVENT_OF: Final[dict[Move, str]] = {
    "claim": "claimed",
    "reclaim": "reclaimed",
    "release": "released",
    "retry": "retrying",
    "hold": "changes_wait",
    "arrive": "held",
    "done": "completed",
    "fail": "failed",
    "apply": "completed",
    "drop": "failed",
    "cancel": "canceled",
    "requeue": "requeued",
}
"""The kind of the event that records each move."""
