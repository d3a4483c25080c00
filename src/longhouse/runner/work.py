"""One claimed job, from its claim to its end: slice after slice, each judged, none lost.

    claimed → open → [worktree] → slice → DONE with proof | FAILED | CONTINUE → slice → …

A thread of its own drives it. Others may only say `stop` (the runner drains) or `lose` (the claim
is gone); both end the child at once, and what follows is decided here.
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.claim import Claim, ClaimLost, ProofMissing
from longhouse.runner.executors.base import PROFILES, Executor, Job, Plan
from longhouse.runner.outputs import Outputs
from longhouse.runner.slice_loop import Course, NoRoom, NotHere, Over, unable
from longhouse.runner.worktrees import UNREADABLE, NoWorktree, Worktree
from longhouse.supervisor.capture import Capture
from longhouse.supervisor.child import Child, Ended, child_env

if TYPE_CHECKING:
    from longhouse.runner.runner_context import Means

__all__ = ["Work"]


class Stopped(Exception):
    """The runner drains: give the job back."""


class Work:
    """Drives one job; call it in a thread."""

    def __init__(self, means: Means, claimed: dict[str, Any], asked_at: float) -> None:
        self.means = means
        self.job_id: str = claimed["id"]
        self.claim = Claim(
            means.plane,
            self.job_id,
            means.options.runner_id,
            claimed["revision"],
            means.options.lease_ms,
            self._renew,
        )
        self.short = False
        """Whether it was given back because the machine has no room just now."""
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._stopping = False
        self._lost: str | None = None
        self._news = threading.Event()
        self._renewed = asked_at

    # ---- what other threads may say

    def heard(self) -> None:
        """Something happened to the job."""
        self._news.set()

    def stop(self) -> None:
        """End the slice and give the job back."""
        self._stopping = True
        self._end_child("stop")

    def lose(self, why: str) -> None:
        """The claim is gone: end the child, report nothing."""
        self._lost = self._lost or why
        self._end_child("lost")

    def _end_child(self, why: str) -> None:
        self._news.set()
        with self._lock:
            if self._child is not None:
                self._child.end(why)

    # ---- the life of the job

    def __call__(self) -> None:
        try:
            self._run()
        except ClaimLost as lost:
            self.tell("job.lost", why=self._lost or str(lost))
        except Stopped:
            self._give_back("the runner is stopping")
        except NotHere as missing:
            self.short = isinstance(missing, NoRoom)
            reason = f"{self.claim.runner_id} cannot run it: {missing.message}"
            self._give_back(reason, decline=not self.short)
        except ProofMissing as missing:  # a dry run has nothing to show
            self._give_back(str(missing), decline=True)
        except LonghouseError as error:
            self.tell("job.trouble", code=error.code, why=error.message)
            self._give_back(f"{error.code}: {error.message}", decline=True)
        except Exception as error:
            self.tell("job.defect", why=repr(error))
            self._give_back(f"a defect of the runner: {error!r}", decline=True)

    def _give_back(self, reason: str, *, decline: bool = False) -> None:
        try:
            self.claim.release(reason, decline=decline)
            self.tell("job.declined" if decline else "job.released", why=reason)
        except ClaimLost as lost:
            self.tell("job.lost", why=str(lost))
        except LonghouseError as error:
            self.tell("job.unreleased", why=error.message, then="its lease will run out")

    def _run(self) -> None:
        view = self.means.plane.ask(
            "jobs.open",
            job=self.job_id,
            include_prompt=True,
            include_meta=True,
            include_events=False,
            max_chars=80_000,
        )
        meta, runtime = view.get("meta") or {}, view.get("runtime") or {}
        job = self._job(view, meta)
        if self.means.dry_run:
            self.claim.report("checkpoint", "runner: dry run, nothing is executed")
            return self._end(Over("DONE", "dry run: nothing was executed", []))
        executor = self._executor(meta)
        if executor is None:
            raise NotHere(self._lacks(meta))
        if view.get("prompt") is None:
            raise LonghouseError("its prompt could not be read whole")
        self.tell("job.started", executor=executor.name, title=job.title)
        try:
            scratch = tempfile.TemporaryDirectory(prefix="longhouse-", ignore_cleanup_errors=True)
        except OSError as error:
            raise unable("no folder can be made for it", error) from error
        with scratch as folder:
            return self._attempt(job, executor, runtime, Path(folder))

    def _attempt(
        self, job: Job, executor: Executor, runtime: dict[str, Any], scratch: Path
    ) -> None:
        worktree = self._worktree(job)
        course = Course(
            self, job, executor, runtime, worktree.path if worktree else self.means.root, scratch
        )
        while True:
            over: Over | None = course.run()
            assert over is not None
            try:
                return self._end(over, worktree)
            except ProofMissing as missing:
                if over := course.refused(missing):
                    return self._end(over, worktree)

    def _end(self, over: Over, worktree: Worktree | None = None) -> None:
        """Tell the server; only who still held the claim takes the changes back."""
        refs, summary = list(over.refs), over.summary
        patch, obstacle = b"", None
        if worktree:
            try:
                patch = worktree.patch()
            except UNREADABLE as error:
                obstacle = f"its changes cannot be read: {error}"
        if worktree and patch:
            outputs = Outputs(self.means.plane, self.job_id, self.means.options.max_output_bytes)
            stored = outputs.patch(patch)
            refs = [*([stored.ref] if stored.ref else []), *refs]
            if stored.trouble:
                self.claim.report("artifacts", f"no patch: {stored.trouble}")
            obstacle = worktree.obstacle(patch) if over.status == "DONE" else "it is not DONE"
        if worktree and obstacle:
            self.claim.report(
                "worktree_kept", f"the worktree {worktree.path} is kept: {obstacle}", refs=refs[:1]
            )
            summary = f"{summary}\n\nIts changes are in {worktree.path}: {obstacle}"
        self.claim.complete(over.status, summary, refs, proof=over.proof)
        self.tell("job.ended", status=over.status, summary=over.summary[:120])
        if worktree and not obstacle:
            obstacle = worktree.take_back(patch)
            if obstacle:  # someone was quicker; the job has ended, so a note has to say it
                self.means.plane.write(
                    "vcs.notes.commit",
                    title=f"The changes of {self.job_id} were kept aside",
                    content=f"They are in the worktree {worktree.path}: {obstacle}",
                )
        if worktree and obstacle:
            self.tell("worktree.kept", path=str(worktree.path), why=obstacle)

    # ---- what it runs with

    def _job(self, view: dict[str, Any], meta: dict[str, Any]) -> Job:
        row = view["job"]
        model = meta.get("executor_model")
        return Job(
            id=self.job_id,
            workspace=self.means.workspace,
            title=row["title"],
            prompt=view.get("prompt") or "",
            kind=row["kind"],
            profile=_profile(meta),
            runner_id=self.claim.runner_id,
            claim_revision=self.claim.revision,
            task=row.get("task_id"),
            anchor=row.get("anchor_id"),
            model=model if isinstance(model, str) else None,
            expected_artifacts=tuple(meta.get("expected_artifacts", ())),
            meta=meta,
        )

    def _executor(self, meta: dict[str, Any]) -> Executor | None:
        """The one that is asked for; for `auto` the most preferred of those that are allowed."""
        asked = meta.get("executor", "auto")
        policy = meta.get("policy") or {}
        offered = [
            name
            for name, executor in self.means.executors.items()
            if asked in ("auto", name) and name not in policy.get("forbid", ())
            if self.means.runnable(executor)
        ]
        prefer = list(policy.get("prefer", ()))
        deep = meta.get("executor_profile", "fast") != "fast"

        def rank(name: str) -> tuple[int, bool, bool, str]:
            place = prefer.index(name) if name in prefer else len(prefer)
            # A plug-in may take a prompt for anything, a script even: it comes after our own.
            plugged_in = name not in ("claude_code", "codex")
            return place, name != ("claude_code" if deep else "codex"), plugged_in, name

        best = min(offered, key=rank, default=None)
        return self.means.executors[best] if best else None

    def _lacks(self, meta: dict[str, Any]) -> str:
        have = [name for name, e in self.means.executors.items() if self.means.runnable(e)]
        found = ", ".join(have) or f"none of {', '.join(self.means.executors)}"
        return f"it asks for {meta.get('executor', 'auto')}, found here: {found}"

    def _worktree(self, job: Job) -> Worktree | None:
        wanted = job.meta.get("isolation", self.means.options.isolation)
        if wanted != "worktree":
            return None
        home = self.means.home / "worktrees" / job.workspace
        worktree = Worktree(self.means.root, home, job.id)
        try:
            worktree.open()
        except NoWorktree as error:
            if isinstance(error.__cause__, OSError):
                raise unable("no worktree can be made", error.__cause__) from error
            raise NotHere(f"no worktree can be made: {error.message}") from error
        return worktree

    # ---- what its course needs

    def tell(self, event: str, **facts: Any) -> None:
        self.means.tell(event, job=self.job_id, **facts)

    def run_child(self, plan: Plan, cwd: Path, until: float, stdout: Capture) -> Ended:
        """Start it, unless the job is not ours any more, and wait for its end."""
        with self._lock:
            self.check()
            child = self._child = Child(
                plan.argv,
                env=child_env(plan.env),
                cwd=cwd,
                stdin=plan.stdin,
                grace_s=self.means.options.kill_grace_s,
                lease_s=self._lease_left_s(),
                stdout=stdout,
            )
        try:
            return child.wait(until)
        finally:
            with self._lock:
                self._child = None

    def pause(self, seconds: float) -> None:
        """Wait, whatever happens to the job, unless it must end."""
        ends = time.monotonic() + seconds
        while (left_s := ends - time.monotonic()) > 0:
            self.await_news(left_s)

    def await_news(self, seconds: float) -> None:
        """Wait for something to happen to the job."""
        self._news.wait(seconds)
        self._news.clear()
        self.check()

    def check(self) -> None:
        """Raise what must end this."""
        if self._lost:
            raise ClaimLost(self._lost)
        if self._stopping:
            raise Stopped

    def _renew(self, asked_at: float) -> None:
        """The lease counts from then: pass it on to the child's guard."""
        with self._lock:
            self._renewed = max(self._renewed, asked_at)
            if self._child is not None:
                self._child.renew(self._lease_left_s())

    def _lease_left_s(self) -> float:
        lease_s = self.means.options.lease_ms / 1000
        return max(lease_s - (time.monotonic() - self._renewed), 0.001)


def _profile(meta: dict[str, Any]) -> str:
    """The profile asked for, or the least that its policy accepts."""
    asked = [meta.get("executor_profile"), (meta.get("policy") or {}).get("min_profile")]
    known = [PROFILES.index(profile) for profile in asked if profile in PROFILES]
    return PROFILES[max(known, default=0)]
