"""What a step still needs before it can close: checkpoints to confirm, and proof."""

from __future__ import annotations

from collections.abc import Iterable

from longhouse.store.tx import Tx
from longhouse.work.room import sql
from longhouse.work.states import ALWAYS_REQUIRED, CHECKPOINTS, Checkpoint, ProofMode
from longhouse.work.types.entities import Step

__all__ = ["Proofs", "is_shown", "missing_checkpoints", "missing_proof", "proofs_of"]

Proofs = dict[tuple[str, str | None], tuple[int, int]]
"""Per step and checkpoint: how many receipts prove something, and how many there are."""


def proofs_of(tx: Tx, task_id: str) -> Proofs:
    """The receipts of a task, counted."""
    return {
        (row["step_id"], row["checkpoint"]): (int(row["proofs"]), int(row["receipts"]))
        for row in tx.all(sql.proofs_of_task, task_id=task_id)
    }


def missing_checkpoints(
    step: Step, proofs: Proofs, named: Iterable[Checkpoint] = ()
) -> list[Checkpoint]:
    """The checkpoints that must still be confirmed before the step can close."""
    required = [
        kind
        for kind in CHECKPOINTS
        if kind in ALWAYS_REQUIRED
        or kind in named
        or (step.step_id, kind) in proofs
        or step.proof_modes.get(kind) == "require"
    ]
    return [kind for kind in required if kind not in step.confirmed]


def missing_proof(step: Step, proofs: Proofs, mode: ProofMode = "require") -> list[Checkpoint]:
    """The checkpoints whose proof mode is `mode` and that have no proof."""
    return [
        kind
        for kind in CHECKPOINTS
        if step.proof_modes.get(kind) == mode and not proofs.get((step.step_id, kind), (0, 0))[0]
    ]


def is_shown(step: Step, proofs: Proofs) -> bool:
    """Whether any receipt proves that the step was done."""
    return any(found[0] for (owner, _), found in proofs.items() if owner == step.step_id)
