"""What the examples of the jobs room need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.kit import Lh


def _claimed(lh: Lh) -> dict[str, Any]:
    job: dict[str, Any] = lh("jobs.claim", job="JOB-001", runner_id="runner-1")["job"]
    return job


def _failed(lh: Lh) -> None:
    revision = _claimed(lh)["revision"]
    lh(
        "jobs.complete",
        job="JOB-001",
        runner_id="runner-1",
        claim_revision=revision,
        status="FAILED",
        summary="the database was away",
    )


def _waits(lh: Lh) -> None:
    revision = _claimed(lh)["revision"]
    lh(
        "jobs.complete",
        job="JOB-001",
        runner_id="runner-1",
        claim_revision=revision,
        status="DONE",
        changes="its changes do not apply",
    )


def _second(lh: Lh) -> None:
    lh("jobs.create", title="Another", prompt="Look there too.")


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "jobs.apply": _waits,
    "jobs.complete": _claimed,
    "jobs.release": _claimed,
    "jobs.question": _claimed,
    "jobs.report": _claimed,
    "jobs.requeue": _failed,
    "tasks.macro.merge.report": _second,
}
