"""Renews leases (`Heartbeat`) and receives events of running jobs (`JobListener`).

A refused heartbeat means that the claim is gone. An unanswered one means nothing yet: the child's
guard knows how long the lease holds and ends the child when it expires.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.claim import ClaimLost
from longhouse.runner.job_worker import JobWorker
from longhouse.runner.runner_context import RunnerContext

__all__ = ["ActiveJobs", "Heartbeat", "JobListener"]

LAST_TTL_MS = 1_000
LISTEN_MS = 20_000
DEAF_S = 2.0
MAX_HEARD = 50
MOST_CALLS = 8
"""How many calls wait for events at the same time: a server limits the waits per token."""
STOP_S = 15.0
ENDED = ("DONE", "FAILED", "CANCELED", "QUEUED")


class ActiveJobs:
    """The jobs this runner is working on."""

    def __init__(self) -> None:
        self._workers: dict[str, JobWorker] = {}
        self._followed: set[JobWorker] = set()
        self._changed = threading.Condition()

    def add(self, worker: JobWorker) -> None:
        with self._changed:
            self._workers[worker.job_id] = worker
            self._changed.notify_all()

    def remove(self, worker: JobWorker) -> None:
        with self._changed:
            self._workers.pop(worker.job_id, None)
            self._changed.notify_all()

    def all(self) -> list[JobWorker]:
        with self._changed:
            return list(self._workers.values())

    def follow(self, most: int) -> list[JobWorker]:
        """Wait for jobs that no one follows; up to `most` of them, now followed by the caller."""
        with self._changed:
            taken = self._changed.wait_for(self._unfollowed)[:most]
            self._followed.update(taken)
            return taken

    def unfollow(self, workers: Iterable[JobWorker]) -> None:
        with self._changed:
            self._followed.difference_update(workers)
            self._changed.notify_all()

    def _unfollowed(self) -> list[JobWorker]:
        """The jobs to follow next; a lost one has no more events that concern this runner."""
        return [
            worker
            for worker in self._workers.values()
            if worker not in self._followed and worker.control.lost is None
        ]

    def await_none(self, timeout_s: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._workers, timeout_s)


class Heartbeat:
    """Renews the runner's own lease and the claim of every job it works on."""

    def __init__(
        self,
        context: RunnerContext,
        jobs: ActiveJobs,
        offers: Callable[[], dict[str, Any]],
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._context = context
        self._jobs = jobs
        self._offers = offers
        self._clock = clock
        self._wait = wait
        self._told: dict[str, Any] = {}
        self._changed = threading.Event()
        self._done = False
        self._thread = threading.Thread(target=self.run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def run(self) -> None:
        """Beat until `stop`: every `heartbeat_ms`, sooner after an unanswered beat.

        The interval includes the time a beat takes, so many jobs do not slow the pulse down.
        """
        every_s = self._context.options.heartbeat_ms / 1000
        while not self._done:
            due = self._clock()
            due += every_s if self._survives(self.beat) else min(every_s / 4, 2.0)
            while self._wait(self._changed, max(due - self._clock(), 0)) and not self._done:
                self._changed.clear()
                self._survives(self._tell_change)

    def _survives(self, act: Callable[[], bool]) -> bool:
        """Without this thread every lease would run out while the jobs go on."""
        try:
            return act()
        except Exception as error:
            self._context.log("heartbeat.defect", why=repr(error))
            return False

    def jobs_changed(self) -> None:
        """A job started or finished: report it soon. Claims were just renewed and need no beat."""
        self._changed.set()

    def stop(self) -> None:
        """Stop beating and let the lease expire at once, so that the runner reads as gone."""
        self._done = True
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join(STOP_S)
        self._runner_beat([], LAST_TTL_MS)

    def beat(self) -> bool:
        """Renew everything once; False if anything went unanswered."""
        workers = self._jobs.all()
        heard = self._runner_beat(workers, self._context.options.lease_ms)
        for worker in workers:
            try:
                worker.claim.heartbeat()
            except ClaimLost as lost:
                if worker in self._jobs.all():  # otherwise it has just finished normally
                    worker.control.lose(str(lost))
            except LonghouseError as error:
                heard = False
                self._trouble(error, worker.job_id)
            except Exception as error:  # the other jobs need theirs
                heard = False
                self._context.log("heartbeat.defect", job=worker.job_id, why=repr(error))
        return heard

    def introduce(self, workers: Sequence[JobWorker] = (), ttl_ms: int | None = None) -> None:
        """Report the runner's state and what it offers; a single attempt."""
        state = _state(workers)
        self._context.plane.once(
            "jobs.runner.heartbeat",
            runner_id=self._context.options.runner_id,
            lease_ttl_ms=ttl_ms or self._context.options.lease_ms,
            projects=self._context.projects,
            **state,
            **self._offers(),
        )
        self._told = state

    def _tell_change(self) -> bool:
        workers = self._jobs.all()
        if self._done or _state(workers) == self._told:
            return True
        return self._runner_beat(workers, self._context.options.lease_ms)

    def _runner_beat(self, workers: list[JobWorker], ttl_ms: int) -> bool:
        try:
            self.introduce(workers, ttl_ms)
        except LonghouseError as error:
            self._trouble(error)
            return False
        return True

    def _trouble(self, error: LonghouseError, job: str | None = None) -> None:
        if not error.retryable:  # an unreachable server is logged once, in plane.py
            self._context.log("heartbeat.refused", job=job, code=error.code, why=error.message)


def _state(workers: Sequence[JobWorker]) -> dict[str, Any]:
    if workers:
        return {"status": "live", "active_job_id": workers[0].job_id}
    return {"status": "idle"}


class JobListener:
    """Follows the events of running jobs: a canceled job ends at once, an answer wakes its job.

    Several calls wait at the same time, so a job claimed while others are waited for is followed at
    once. A runner with more jobs than calls follows several of them in one call.
    """

    def __init__(self, context: RunnerContext, jobs: ActiveJobs) -> None:
        self._context = context
        self._jobs = jobs

    def start(self) -> None:
        """Listen as long as the process lives."""
        # One more than the slots: the call of a job that has just left may still be waiting.
        for _ in range(min(self._context.options.max_parallel + 1, MOST_CALLS)):
            threading.Thread(target=self._follow, name="job-listener", daemon=True).start()

    def _follow(self) -> None:
        while True:
            workers = self._jobs.follow(MAX_HEARD)
            try:
                self._listen({worker.job_id: worker for worker in workers})
            except LonghouseError:
                time.sleep(DEAF_S)
            except Exception as error:  # else nobody would hear of a cancel any more
                self._context.log("listener.defect", why=repr(error))
                time.sleep(DEAF_S)
            finally:
                self._jobs.unfollow(workers)

    def _listen(self, workers: dict[str, JobWorker]) -> None:
        news = self._context.plane.listen(
            "jobs.wait",
            jobs=sorted(workers),
            after_seq=min(worker.heard_seq for worker in workers.values()),
            timeout_ms=LISTEN_MS,
            limit=50,
        )
        for event in news["events"]:
            if worker := workers.get(event["ref"].partition("@")[0]):
                worker.control.heard()
        for row in news["jobs"]:
            worker = workers[row["id"]]
            worker.heard_seq = news["next_cursor"]
            if row["status"] in ENDED and worker in self._jobs.all():
                worker.control.lose(f"it is {row['status']}")
