"""Lands what is due, and removes what killed runners and finished jobs left on this machine.

A job's worktree is removed once nobody needs it: its job is DONE, was canceled, or failed so many
days ago (its changes are then kept as a patch of the job). That of a job that is queued, running or
held is kept. A worktree in use is locked by the runner that works there.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longhouse.git import FAILED
from longhouse.kernel.delegation import JOB_ID, MAX_REASON
from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.trim import clip_text
from longhouse.runner.landing import CommitMessage
from longhouse.runner.locks import held, sweep_folders
from longhouse.runner.outputs import Outputs
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.worktrees import Worktree

__all__ = ["lock_of", "settle", "sweep"]


def lock_of(context: RunnerContext, job: str) -> Path:
    """The lock that whoever works in the worktree of a job holds."""
    return context.cache / "worktrees" / context.workspace / f"{job}.lock"


def settle(
    context: RunnerContext, worktree: Worktree, job: str, message: CommitMessage
) -> str | None:
    """Land a job's changes, record that, and remove its worktree; returns why they wait.

    Nobody says the word here, whatever an earlier run of the job noted as due.
    """
    if why := worktree.obstacle():
        return why
    outcome = worktree.land(message)
    if outcome.held:
        return outcome.held
    changed = worktree.changed(context.root)
    context.log("changes.landed", job=job, commit=outcome.commit, left=outcome.left)
    told = {"reason": clip_text(outcome.told(), MAX_REASON), "changed": changed}
    context.plane.write("jobs.apply", job=job, outcome="applied", **told)
    worktree.remove()
    return None


def sweep(context: RunnerContext, *, now: Callable[[], float] = time.time) -> None:
    """Look at everything of this workspace that is left on this machine."""
    if swept := sweep_folders(context.cache / "scratch"):
        context.log("scratch.swept", folders=swept)
    for home in (context.cache / "worktrees", context.home / "worktrees"):
        for job in sorted(_jobs_in(home / context.workspace)):
            worktree = Worktree(context.root, home / context.workspace, job, store=context.home)
            try:
                with held(lock_of(context, job), wait=False):
                    _look_at(context, worktree, job, now())
            except BlockingIOError:  # a runner works there
                continue
            except (LonghouseError, OSError, ValueError, *FAILED) as error:
                context.log("worktree.unswept", job=job, why=str(error)[:300])


def _jobs_in(home: Path) -> set[str]:
    names = {one.name.partition(".")[0] for one in home.iterdir()} if home.is_dir() else set()
    return {name for name in names if re.match(JOB_ID, name)}


def _look_at(context: RunnerContext, worktree: Worktree, job: str, now: float) -> None:
    if not worktree.is_here:  # it was never finished, so no agent has worked there
        worktree.remove()
        lock_of(context, job).unlink(missing_ok=True)
        return
    found = context.plane.ask("jobs.open", job=job, max_events=0)["job"]
    due = worktree.is_due
    if found.get("changes") and due:
        if why := settle(context, worktree, job, due):
            context.log("changes.wait", job=job, path=str(worktree.path), why=why)
    elif found["status"] == "DONE" or (
        _is_given_up(context, found, now) and _kept_as_patch(context, worktree, job)
    ):
        worktree.remove()
    if not worktree.path.exists():
        lock_of(context, job).unlink(missing_ok=True)
        context.log("worktree.swept", job=job, status=found["status"], path=str(worktree.path))


def _is_given_up(context: RunnerContext, found: dict[str, Any], now: float) -> bool:
    """Whether nobody goes on with a job: it was canceled, or it failed long ago."""
    if found["status"] == "FAILED":
        kept_s = context.options.failed_worktree_days * 86_400
        return bool(found["completed_at_ms"] / 1000 + kept_s < now)
    return bool(found["status"] == "CANCELED")


def _kept_as_patch(context: RunnerContext, worktree: Worktree, job: str) -> bool:
    """Store the changes of a job that was given up, so that removing its worktree loses nothing."""
    patch = worktree.patch()
    if not patch:
        return True
    stored = Outputs(context.plane, job, context.options.max_output_bytes).patch(patch)
    if stored.trouble:
        context.log("worktree.unswept", job=job, why=stored.trouble)
    return stored.ref is not None
