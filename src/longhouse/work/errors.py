"""The work room's refusals."""

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
    """The task is worked on strictly: the step needs a claim that was tested and argued against."""

    code = "REASONING_REQUIRED"
    fix = (
        "write down what you claim, its test and what speaks against it (think.card with step=…), "
        "or pass override={reason, risk} to tasks.macro.close.step, which is recorded"
    )


class ProofRequired(Conflict):
    """That needs proof: a command that succeeded, a link, a hash, or a ref that resolves."""

    code = "PROOF_REQUIRED"
    fix = (
        'attach it: tasks.evidence.capture checkpoint=tests checks=["CMD: make test (exit 0)"], '
        "then close again"
    )


class StepLeaseHeld(Conflict):
    """Someone else holds that step."""

    code = "STEP_LEASE_HELD"


class StepLeaseNotHeld(Conflict):
    """You do not hold that step."""

    code = "STEP_LEASE_NOT_HELD"


class BatchFailed(Conflict):
    """One of the operations was refused; none was carried out."""

    code = "BATCH_FAILED"
