"""Leases are renewed in one place, and news of running jobs is heard in another.

A heartbeat that is refused means that the claim is gone; one that gets no answer means nothing yet:
the child's guard holds the lease's time, and ends the child when it has run out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.claim import ClaimLost
from longhouse.runner.runner_context import Means
from longhouse.runner.work import Work

__all__ = ["Ears", "Heart", "Jobs"]

LAST_TTL_MS = 1_000
HEAR_MS = 20_000
DEAF_S = 2.0
MOST_HEARD = 50
STOP_S = 15.0
ENDED = ("DONE", "FAILED", "CANCELED", "QUEUED")


class Jobs:
    """The jobs that this runner works on."""

    def __init__(self) -> None:
        self._works: dict[str, Work] = {}
        self._changed = threading.Condition()

    def add(self, work: Work) -> None:
        with self._changed:
            self._works[work.job_id] = work
            self._changed.notify_all()

    def remove(self, work: Work) -> None:
        with self._changed:
            self._works.pop(work.job_id, None)
            self._changed.notify_all()

    def all(self) -> list[Work]:
        with self._changed:
            return list(self._works.values())

    def await_any(self) -> list[Work]:
        with self._changed:
            self._changed.wait_for(lambda: self._works)
            return list(self._works.values())

    def await_none(self, timeout_s: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._works, timeout_s)


class Heart:
    """Says that the runner is there, and renews the claim of every job it works on."""

    def __init__(self, means: Means, jobs: Jobs, offers: dict[str, Any]) -> None:
        self._means = means
        self._jobs = jobs
        self._offers = offers
        self._soon = threading.Event()
        self._done = False
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        """Beat until `stop`; sooner when a job came or went, or when a beat was not heard."""
        every_s = self._means.options.heartbeat_ms / 1000
        while not self._done:
            began = time.monotonic()
            heard = self.beat()
            took_s = time.monotonic() - began  # the pulse does not slow down with many jobs
            self._soon.wait(max(every_s - took_s, 0) if heard else min(every_s / 4, 2.0))
            self._soon.clear()

    def poke(self) -> None:
        self._soon.set()

    def stop(self) -> None:
        """Beat no more, and let the lease run out at once: everybody sees that we have left."""
        self._done = True
        self._soon.set()
        self._thread.join(STOP_S)
        self._runner_beat([], LAST_TTL_MS)

    def beat(self) -> bool:
        """Renew everything once; False when something was not heard."""
        works = self._jobs.all()
        heard = self._runner_beat(works, self._means.options.lease_ms)
        for work in works:
            try:
                work.claim.heartbeat()
            except ClaimLost as lost:
                if work in self._jobs.all():  # else it has ended meanwhile, as it should
                    work.lose(str(lost))
            except LonghouseError as error:
                heard = False
                self._trouble(error, work.job_id)
        return heard

    def _runner_beat(self, works: list[Work], ttl_ms: int) -> bool:
        try:
            self.introduce(works, ttl_ms)
        except LonghouseError as error:
            self._trouble(error)
            return False
        return True

    def introduce(self, works: Sequence[Work] = (), ttl_ms: int | None = None) -> None:
        """Say that the runner is there, what it does and what it offers; one try."""
        state: dict[str, Any] = {"status": "idle"}
        if works:
            state = {"status": "live", "active_job_id": works[0].job_id}
        self._means.plane.once(
            "jobs.runner.heartbeat",
            runner_id=self._means.options.runner_id,
            lease_ttl_ms=ttl_ms or self._means.options.lease_ms,
            **state,
            **self._offers,
        )

    def _trouble(self, error: LonghouseError, job: str | None = None) -> None:
        if not error.retryable:  # that the server is away is told once, elsewhere
            self._means.tell("heartbeat.refused", job=job, code=error.code, why=error.message)


class Ears:
    """Hears what happens to running jobs: a canceled one ends at once, an answer wakes its job."""

    def __init__(self, means: Means, jobs: Jobs) -> None:
        self._means = means
        self._jobs = jobs
        self._seen: int | None = None

    def run(self) -> None:
        """For as long as the process lives."""
        while True:
            works = {work.job_id: work for work in self._jobs.await_any()}
            try:
                self._hear(works)
            except LonghouseError:
                time.sleep(DEAF_S)

    def _hear(self, works: dict[str, Work]) -> None:
        after = {} if self._seen is None else {"after_seq": self._seen}
        news = self._means.plane.listen(
            "jobs.wait", jobs=sorted(works)[:MOST_HEARD], timeout_ms=HEAR_MS, limit=50, **after
        )
        self._seen = news["next_cursor"]
        for event in news["events"]:
            if work := works.get(event["ref"].partition("@")[0]):
                work.heard()
        for row in news["jobs"]:
            gone = works[row["id"]]
            if row["status"] in ENDED and gone in self._jobs.all():
                gone.lose(f"it is {row['status']}")
