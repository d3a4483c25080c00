"""The states of plans and tasks and the kinds of proof, as tables.

    TODO ⇄ ACTIVE ⇄ PARKED ⇄ DONE ⇄ CANCELED      any to any, for people change their minds, but:

A task is DONE only while no step of it is open. Leaving PARKED forgets its timer.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = [
    "ALWAYS_REQUIRED",
    "CHECKPOINTS",
    "CLOSED",
    "OPEN",
    "RANK",
    "Checkpoint",
    "Priority",
    "ProofMode",
    "ReasoningMode",
    "Status",
]

Status = Literal["TODO", "ACTIVE", "PARKED", "DONE", "CANCELED"]
Priority = Literal["LOW", "MEDIUM", "HIGH"]
ReasoningMode = Literal["normal", "deep", "strict"]
Checkpoint = Literal["criteria", "tests", "security", "perf", "docs"]
ProofMode = Literal["off", "warn", "require"]

OPEN: Final = ("TODO", "ACTIVE", "PARKED")
CLOSED: Final = ("DONE", "CANCELED")
RANK: Final = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}
CHECKPOINTS: Final[tuple[Checkpoint, ...]] = ("criteria", "tests", "security", "perf", "docs")
ALWAYS_REQUIRED: Final[tuple[Checkpoint, ...]] = ("criteria", "tests")
"""The others are required once they matter: proof is linked, asked for, or named in the close."""
