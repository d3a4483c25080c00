"""How other threads control a running job, and how its own thread finds out.

The job's thread runs one child at a time and waits here. Other threads may only call `stop` (the
runner is leaving), `lose` (the claim is gone) or `heard` (something happened to the job). The first
two end the child at once; the job's own thread then raises from `check` and decides what to do.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from longhouse.executors import Invocation
from longhouse.runner.claim import ClaimLost
from longhouse.supervisor import Child, Ended, StreamCapture, child_env

__all__ = ["JobControl", "RunnerLeaving"]


class RunnerLeaving(Exception):
    """The runner is leaving: give the job back."""


class JobControl:
    """One job's child and its lease; threads may share it."""

    def __init__(
        self, lease_s: float, grace_s: float, claimed_at: float, spare: Path | None = None
    ) -> None:
        """`spare` is the lock of the store's server, which must survive the end of an agent."""
        self.lost: str | None = None
        """Why the claim was lost; None while it holds."""
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._spare = spare
        self._renewed = claimed_at
        self._stopping = False
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._news = threading.Event()

    # ---- called by other threads

    def heard(self) -> None:
        """Something happened to the job."""
        self._news.set()

    def stop(self) -> None:
        """End the slice and give the job back."""
        self._stopping = True
        self._end_child("stop")

    def lose(self, why: str) -> None:
        """The claim is gone: end the child, report nothing."""
        self.lost = self.lost or why
        self._end_child("lost")

    def renewed(self, asked_at: float) -> None:
        """Extend the child's lease, which counts from `asked_at`."""
        with self._lock:
            self._renewed = max(self._renewed, asked_at)
            if self._child is not None:
                self._child.renew(self._lease_left_s())

    # ---- called by the job's own thread

    def check(self) -> None:
        """Raise ClaimLost or RunnerLeaving if work on this job must stop."""
        if self.lost:
            raise ClaimLost(self.lost)
        if self._stopping:
            raise RunnerLeaving

    def run_child(self, plan: Invocation, cwd: Path, until: float, stdout: StreamCapture) -> Ended:
        """Start a child, unless the work must stop, and wait until it has ended."""
        with self._lock:
            self.check()
            child = self._child = Child(
                plan.argv,
                env=child_env(plan.env),
                cwd=cwd,
                stdin=plan.stdin,
                grace_s=self._grace_s,
                lease_s=self._lease_left_s(),
                stdout=stdout,
                spare=self._spare,
            )
        try:
            return child.wait(until)
        finally:
            with self._lock:
                self._child = None

    def pause(self, seconds: float) -> None:
        """Wait that long regardless of events, unless the work must stop."""
        ends = time.monotonic() + seconds
        while (left_s := ends - time.monotonic()) > 0:
            self.await_news(left_s)

    def await_news(self, seconds: float) -> None:
        """Wait for something to happen to the job."""
        self._news.wait(seconds)
        self._news.clear()
        self.check()

    def _end_child(self, why: str) -> None:
        self._news.set()
        with self._lock:
            if self._child is not None:
                self._child.end(why)

    def _lease_left_s(self) -> float:
        return max(self._lease_s - (time.monotonic() - self._renewed), 0.001)
