"""The errors of the work room."""

from __future__ import annotations

from longhouse.kernel.errors import Conflict

__all__ = [
    "BatchFailed",
    "CheckpointsNotConfirmed",
    "ProofRequired",
    "ReasoningRequired",
    "StepLeaseHeld",
    "StepLeaseNotHeld",
]


class CheckpointsNotConfirmed(Conflict):
    """A step closes only when its checkpoints are confirmed."""

    code = "CHECKPOINTS_NOT_CONFIRMED"


class ReasoningRequired(Conflict):
    """A step of a strict task needs a claim that was tested and argued against."""

    code = "REASONING_REQUIRED"
    fix = (
        "write down your claim, its test and the counterargument (think.card with step=…), "
        "or pass override={reason, risk} to tasks.macro.close.step, which is recorded"
    )


class ProofRequired(Conflict):
    """Proof is required: a command that succeeded, a link, a hash, or a ref that resolves."""

    code = "PROOF_REQUIRED"
    fix = (
        'attach it: tasks.evidence.capture checkpoint=tests checks=["CMD: make test (exit 0)"], '
        "then close again"
    )


class StepLeaseHeld(Conflict):
    """Another agent holds that step."""

    code = "STEP_LEASE_HELD"


class StepLeaseNotHeld(Conflict):
    """You do not hold that step."""

    code = "STEP_LEASE_NOT_HELD"


class BatchFailed(Conflict):
    """One of the operations was refused, so none was applied."""

    code = "BATCH_FAILED"
