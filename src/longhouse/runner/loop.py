"""The runner's main loop: finds work it may do, starts it, and shuts down cleanly.

main thread           starts the others, waits for a signal, drains
scout                 lists and claims jobs while a slot is free, waits in `jobs.wait` for more
heartbeat, listeners  see heartbeat.py
one thread per job    see job_worker.py
background processes  see tool_tasks/speaker.py
"""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from typing import Any

from longhouse.kernel.delegation import ARTIFACTS
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.claim import new_agent_token
from longhouse.runner.heartbeat import ActiveJobs, Heartbeat, JobListener
from longhouse.runner.job_worker import JobWorker
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.settling import sweep
from longhouse.runner.slice_files import account_for_lost
from longhouse.runner.tool_tasks.speaker import TaskSpeaker

__all__ = ["Runner", "offers_of"]

WAIT_MS = 20_000
SIGNAL_S = 1.0
"""How soon a signal is noticed that did not interrupt the main thread."""
REST_S = 2.0
GONE_S = 30.0
CLAIM_S = 10.0
SHORT_S = (15.0, 600.0)
SWEEP_S = 600.0


def offers_of(context: RunnerContext) -> dict[str, Any]:
    """What this runner advertises now; `available` is false where a program is missing."""
    options = context.options
    context.look_again()
    known, ready = list(context.executors.items()), context.ready()
    return {
        "executors": [name for name, _ in known],
        "available": {name: name in ready for name, _ in known},
        "profiles": {name: list(one.profiles) for name, one in known},
        "supports_artifacts": list(ARTIFACTS),
        "max_parallel": options.max_parallel,
        "sandbox_policy": options.sandbox,
        "meta": {
            "unsandboxed": _unsandboxed(context),
            "pid": os.getpid(),
            "heartbeat_ms": options.heartbeat_ms,
            "isolation": options.isolation,
            "dry_run": context.dry_run,
        },
    }


def _unsandboxed(context: RunnerContext) -> list[str]:
    """The agents whose commands may do all that the user may."""
    if context.options.sandbox == "read-only":
        return []
    full = context.options.sandbox == "full"
    known = [(name, context.executors[name]) for name in context.ready()]
    return [name for name, one in known if full or getattr(one, "unsandboxed", False)]


class Runner:
    """One process that runs jobs."""

    def __init__(
        self,
        context: RunnerContext,
        *,
        once: bool = False,
        attach: bool = False,
    ) -> None:
        self._context = context
        self._once = once
        self._attach = attach
        self._heard_at = time.monotonic()
        self._jobs = ActiveJobs()
        self._heartbeat = Heartbeat(context, self._jobs, partial(offers_of, context))
        self._listener = JobListener(context, self._jobs)
        self._tasks = TaskSpeaker(context)
        self._slots = threading.Semaphore(context.options.max_parallel)
        self._leave = threading.Event()
        self._hurry = threading.Event()
        self._retiring = threading.Event()
        self._claiming = threading.Lock()
        self._worked_at = time.monotonic()
        self._waiting = False
        self._more_wait = False
        self._short_s = 0.0
        self._rests_until = time.monotonic()
        self._why = ""
        self._swept_at = time.monotonic()

    def run(self) -> int:
        """Work until told to stop; returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGUSR1, self._on_retire)
        if self._greet():
            self._heartbeat.start()
            self._listener.start()
            threading.Thread(target=self._scout, name="scout", daemon=True).start()
            if not self._once and not self._context.dry_run:
                self._tasks.start()
            while not self._leave.wait(SIGNAL_S):
                pass  # another thread may be given the signal, which then waits until this one runs
            self._drain()
            self._tasks.leave()
        self._context.plane.close()
        self._context.log("runner.left", why=self._why)
        return 0

    def leave(self, why: str) -> None:
        self._why = self._why or why
        self._leave.set()

    def _greet(self) -> bool:
        """Register before asking for work: routing depends on what runners offer."""
        options = self._context.options
        while not self._leave.is_set():
            try:
                self._heartbeat.introduce()
                break
            except LonghouseError as error:
                if not error.retryable:
                    raise
                self._miss()
        else:
            return False
        self._context.log(
            "runner.ready",
            runner_id=options.runner_id,
            workspace=self._context.workspace,
            executors=",".join(self._context.ready()),
            max_parallel=options.max_parallel,
            root=str(self._context.root),
            pid=os.getpid(),
        )
        return True

    def _on_signal(self, number: int, _frame: Any) -> None:
        if self._leave.is_set():
            self._hurry.set()
        self.leave(signal.Signals(number).name)

    def _on_retire(self, _number: int, _frame: Any) -> None:
        """Finish the current jobs, then leave: a new runner takes over with new settings."""
        self._retiring.set()

    # ---- finding work

    def _scout(self) -> None:
        self._account()
        self._sweep()
        try:
            if self._once:
                self._are_queued()
                self._take()
                self._jobs.await_none(None)
                self.leave("once")
            else:
                self._keep_taking()
        except Exception as error:
            self._context.log("runner.defect", why=repr(error))
            self.leave("a defect")

    def _keep_taking(self) -> None:
        while not self._leave.is_set():
            self._slots.acquire()
            misses, claimable = 0, False
            while not self._leave.is_set():
                if self._retiring.is_set():
                    self._jobs.await_none(None)
                    self.leave("told to leave after its jobs")
                    break
                if (rest_s := self._rests_until - time.monotonic()) > 0:
                    self._leave.wait(rest_s)
                    continue
                if (claimable or self._are_queued()) and self._take():
                    break
                if claimable:  # another runner was faster, or the workspace is full
                    misses += 1
                    self._leave.wait(min(0.02 * 2**misses, REST_S))
                claimable = self._await_work()
                if time.monotonic() > self._swept_at + SWEEP_S:
                    self._sweep()

    def _are_queued(self) -> bool:
        """Whether any job is queued. Jobs whose lease expired can be claimed too, but only
        `jobs.wait` reports those."""
        try:
            listed = self._context.plane.listen("jobs.list", status="QUEUED", limit=1)
        except LonghouseError:
            return False
        self._more_wait = bool(listed["has_more"])
        return bool(listed["jobs"])

    def _await_work(self) -> bool:
        """Wait, for a limited time, until the server has work for this runner."""
        options = self._context.options
        wait_ms = self._idle_ms()
        if not wait_ms:
            return False
        self._waiting = True
        self._heartbeat.jobs_changed()
        try:
            found = self._context.plane.listen(
                "jobs.wait", runner_id=options.runner_id, allow_stale=True, timeout_ms=wait_ms
            )
        except LonghouseError as error:
            if not error.retryable:
                self._context.log("runner.trouble", code=error.code, why=error.message)
            self._miss()
            return False
        finally:
            self._waiting = False
        self._heard_at = time.monotonic()
        return bool(found.get("claimable"))

    def _idle_ms(self) -> int:
        """How long to wait for work; 0 after leaving because of `idle_exit_s`."""
        if self._tasks.is_busy:
            self._worked_at = time.monotonic()
        if not self._context.options.idle_exit_s or self._jobs.all():
            return WAIT_MS
        left_s = self._context.options.idle_exit_s - (time.monotonic() - self._worked_at)
        if left_s > 0:
            return min(WAIT_MS, int(left_s * 1000) + 1)
        self.leave("idle")
        return 0

    def _miss(self) -> None:
        """The server did not answer: pause. A runner started with `attach` leaves eventually."""
        gone = time.monotonic() - self._heard_at > GONE_S
        if self._attach and gone and not self._jobs.all():
            self.leave("no server is running")
        self._leave.wait(REST_S)

    def _take(self) -> bool:
        """Claim the next job that this runner may run, and start on it."""
        options = self._context.options
        with self._claiming:
            if self._leave.is_set():
                return False
            asked_at = time.monotonic()
            agent_token, agent_digest = new_agent_token()
            try:
                claimed = self._context.plane.write(
                    "jobs.claim",
                    runner_id=options.runner_id,
                    agent_digest=agent_digest,
                    projects=self._context.projects,
                    allow_stale=True,
                    lease_ttl_ms=options.lease_ms,
                    max_chars=20_000,
                )["job"]
            except LonghouseError as error:
                self._context.log("claim.refused", code=error.code, why=error.message)
                return False
            if claimed is None:
                return False
            worker = JobWorker(self._context, claimed, asked_at, agent_token)
            self._jobs.add(worker)
        self._context.log(
            "job.claimed",
            job=claimed["id"],
            revision=claimed["revision"],
            executor=worker.executor,
            more_wait=self._more_wait or None,
        )
        self._more_wait = False
        self._heartbeat.jobs_changed()
        threading.Thread(target=self._do, args=(worker,), name=worker.job_id, daemon=True).start()
        return True

    def _do(self, worker: JobWorker) -> None:
        try:
            worker()
        finally:
            self._worked_at = time.monotonic()
            self._rest(short=worker.short_of_room)
            self._jobs.remove(worker)
            self._slots.release()
            self._account()
            if self._waiting:  # otherwise the next job may start at once, and its beat says more
                self._heartbeat.jobs_changed()

    def _account(self) -> None:
        """Account for unreported slices, whose runner was killed or lost its claim."""
        try:
            account_for_lost(self._context)
        except Exception as error:  # jobs continue without it
            self._context.log("slice.uncounted", why=repr(error))

    def _sweep(self) -> None:
        """Land what a killed runner left due, and remove what nobody needs."""
        self._swept_at = time.monotonic()
        if self._context.dry_run:
            return
        try:
            sweep(self._context)
        except Exception as error:  # jobs continue without it
            self._context.log("worktree.unswept", why=repr(error))

    def _rest(self, *, short: bool) -> None:
        """Take no jobs for a while if the machine is out of space, longer each time."""
        first_s, longest_s = SHORT_S
        self._short_s = min(max(self._short_s * 2, first_s), longest_s) if short else 0.0
        self._rests_until = time.monotonic() + self._short_s
        if short:
            self._context.log("runner.rests", why="no room for jobs", seconds=self._short_s)

    # ---- leaving

    def _drain(self) -> None:
        """Let slices finish for `drain_s`, then give jobs back; a second signal ends the wait."""
        options = self._context.options
        self._context.log("runner.leaving", why=self._why, running=len(self._jobs.all()) or None)
        # A claim in flight becomes a job that is drained like the others; if the server does not
        # answer, give up on it.
        if not self._claiming.acquire(timeout=CLAIM_S):
            self._context.plane.give_up()
            self._claiming.acquire()
        self._claiming.release()
        ends = time.monotonic() + (0 if self._why == "once" else options.drain_s)
        while self._jobs.all() and time.monotonic() < ends and not self._hurry.is_set():
            self._jobs.await_none(0.2)
        for worker in self._jobs.all():
            worker.control.stop()
        if not self._jobs.await_none(options.kill_grace_s + 10):
            self._context.plane.give_up()
            self._jobs.await_none(5)
        self._heartbeat.stop()
