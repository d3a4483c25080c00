"""Choosing the next job for a runner: among those it may run, by priority, then by age.

Consecutive claims in a batch share one read of the queue: each continues where the previous one
stopped.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from longhouse.jobs import runners
from longhouse.jobs.room import sql
from longhouse.jobs.routing import Need, RunnerCandidate, refusal
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["AHEAD", "LOOK_AT", "Chooser", "Pick"]

LOOK_AT = 50
"""How many delayed or expired jobs one claim considers."""

AHEAD = 16
"""How many jobs one read returns; the queries have the same limit."""


_ANYONE = Need().route()
"""The route of jobs that anyone may run."""


class Pick(NamedTuple):
    """A job that could be claimed; the smallest is the next one."""

    minus_priority: int
    n: int
    status: str
    route: str


class Queue:
    """One read of the queue: the first jobs of every route, and when the next job is due."""

    def __init__(self, tx: Tx, runner_id: str) -> None:
        self._routes: dict[str, deque[Pick]] = {}
        self._cut: set[str] = set()
        rows = tx.all(sql.claim_look, runner_id=runner_id)
        first = rows[0]
        self.due_ms: int | None = first["due_ms"]
        self._reader, self._lease = runner_id, first if first["offers"] else None
        route = self._see(rows) if first["n"] is not None else None
        while route != first["last_route"]:
            route = self._see(tx.all(sql.claim_head, route=route))

    @cached_property
    def leases(self) -> runners.RunnerOffers:
        """The offers of the runners that claim."""
        return runners.RunnerOffers(self._reader, self._lease)

    def offers_nothing(self, runner_id: str) -> bool:
        """Whether the runner is known to have no lease."""
        return self._lease is None and runner_id == self._reader

    def _see(self, rows: list[Row]) -> str:
        """Add the jobs to their routes; returns the last route, which may have more jobs."""
        picks = sorted(_picks("QUEUED", rows), key=attrgetter("route", "minus_priority", "n"))
        for pick in picks:
            self._routes.setdefault(pick.route, deque()).append(pick)
        last = picks[-1].route
        if len(picks) == AHEAD:
            self._cut.add(last)
        return last

    def heads(self) -> list[Pick]:
        """The first job of each route."""
        return [line[0] for line in self._routes.values()]

    def take(self, pick: Pick) -> bool:
        """Remove the head of its route; False if the route's next job was not read."""
        line = self._routes[pick.route]
        line.popleft()
        if not line:
            del self._routes[pick.route]
        return bool(line) or pick.route not in self._cut


class Chooser:
    """Chooses jobs for one runner; reads the other runners only if a policy has preferences."""

    def __init__(self, tx: Tx, runner_id: str) -> None:
        self._tx = tx
        self._runner_id = runner_id
        self._queue: Queue = tx.shared.pop(Queue, None) or Queue(tx, runner_id)
        self._picked: Pick | None = None

    @property
    def due_ms(self) -> int | None:
        """When the next delayed job becomes claimable."""
        return self._queue.due_ms

    def refusal(self, route: str) -> str | None:
        if route == _ANYONE and self._queue.offers_nothing(self._runner_id):
            return None
        need = Need.from_route(route)
        return refusal(need, self._runner, self._others if need.prefer else ())

    def next(self, *, queued: bool = True, allow_stale: bool, looking: bool = False) -> Pick | None:
        """The job to claim next; with `looking`, nothing is written."""
        tx = self._tx
        picks = self._queued(looking=looking) if queued else []
        if allow_stale:
            picks += _picks("RUNNING", tx.all(sql.claim_expired, now=tx.now_ms, limit=LOOK_AT))
        may = {route: self.refusal(route) is None for route in {pick.route for pick in picks}}
        self._picked = min((pick for pick in picks if may[pick.route]), default=None)
        return self._picked

    def leave_the_rest(self, taken: str | None = None) -> None:
        """Leave the queue, without the job just picked, to the next claim in the batch.

        A job `taken` by name may have been anywhere in the queue, so the next claim reads it again.
        """
        pick = self._picked
        if taken is None and (not pick or pick.status != "QUEUED" or self._queue.take(pick)):
            self._tx.shared[Queue] = self._queue

    @cached_property
    def _runner(self) -> RunnerCandidate:
        return self._queue.leases.runner(self._tx, self._runner_id)

    @cached_property
    def _others(self) -> list[RunnerCandidate]:
        return runners.present(self._tx)

    def _queued(self, *, looking: bool) -> list[Pick]:
        """The first job of each route, including delayed jobs that are now due."""
        tx = self._tx
        if self.due_ms is None or self.due_ms > tx.now_ms:
            return self._queue.heads()
        if looking:
            delayed = tx.all(sql.claim_delayed, now=tx.now_ms, limit=LOOK_AT)
            return self._queue.heads() + _picks("QUEUED", delayed)
        tx.run(sql.claim_due, now=tx.now_ms)
        self._queue = Queue(tx, self._runner_id)
        return self._queue.heads()


def _picks(status: str, rows: list[Row]) -> list[Pick]:
    return [Pick(-row["priority"], row["n"], status, row["route"]) for row in rows]
