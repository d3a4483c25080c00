"""Helpers that bring a job into the state a test needs."""

from __future__ import annotations

from typing import Any

from tests.kit import Lh

Fence = dict[str, Any]


def new_job(lh: Lh, title: str = "Look", **more: Any) -> str:
    job: str = lh("jobs.create", title=title, prompt=more.pop("prompt", "Look at it."), **more)[
        "job"
    ]["id"]
    return job


def claimed(lh: Lh, job: str | None = None, runner: str = "r1", **more: Any) -> Fence:
    """Claim a job; returns the arguments that reports and completions need."""
    found = lh("jobs.claim", runner_id=runner, **({"job": job} if job else {}), **more)["job"]
    assert found is not None
    return {"job": found["id"], "runner_id": runner, "claim_revision": found["revision"]}


def running(lh: Lh, runner: str = "r1", **more: Any) -> Fence:
    """A new job, claimed."""
    return claimed(lh, new_job(lh, **more), runner)


def ended(lh: Lh, status: str = "DONE", **more: Any) -> str:
    fence = running(lh, **more)
    lh("jobs.complete", **fence, status=status, summary=status.lower())
    return str(fence["job"])


def attention(lh: Lh, job: str) -> dict[str, Any]:
    found: dict[str, Any] = lh("jobs.open", job=job)["attention"]
    return found


def kinds(lh: Lh, job: str) -> list[str]:
    """The kinds of a job's events, oldest first."""
    return [event["kind"] for event in lh("jobs.tail", job=job, limit=200)["events"]]


def events(lh: Lh, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lh("jobs.tail", job=job, limit=200)["events"]
    return found


def note(lh: Lh, content: str = "what was done") -> str:
    """The ref of a new note, to use as proof."""
    ref: str = lh("vcs.notes.commit", content=content)["ref"]
    return ref


def seq_now(lh: Lh) -> int:
    seq: int = lh("status")["seq"]
    return seq
