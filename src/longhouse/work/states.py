"""The states of plans and tasks and the kinds of proof, as tables.

    TODO ⇄ ACTIVE ⇄ PARKED ⇄ DONE ⇄ CANCELED      any state can follow any other, except:

A task cannot be DONE while it has an open step. Leaving PARKED clears its timer.
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
"""How much argument a task asks for before a step may close."""
Checkpoint = Literal["criteria", "tests", "security", "perf", "docs"]
ProofMode = Literal["off", "warn", "require"]

OPEN: Final = ("TODO", "ACTIVE", "PARKED")
CLOSED: Final = ("DONE", "CANCELED")
"""The states of plans and tasks that need no more work."""
RANK: Final = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}
CHECKPOINTS: Final[tuple[Checkpoint, ...]] = ("criteria", "tests", "security", "perf", "docs")
ALWAYS_REQUIRED: Final[tuple[Checkpoint, ...]] = ("criteria", "tests")
"""The others are required if proof is linked or required, or the closing call names them."""
