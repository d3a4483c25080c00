"""Why a queued job does not run, and what would help: one rule for every answer.

A runner counts only if it can run the job. `Prospects` holds what can be known without guessing:
the runners online, and what a runner that this server starts would find on its machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from longhouse.jobs import runners
from longhouse.jobs.changes import apply_line
from longhouse.jobs.facts import JobFacts
from longhouse.jobs.room import sql
from longhouse.jobs.routing import Need, Offer, RunnerCandidate, can_run, lacks
from longhouse.jobs.types.presence import Waiting
from longhouse.jobs.values import HELD_MS, job_id
from longhouse.kernel.delegation import ARTIFACTS
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["STUCK", "Prospects", "waiting_needs", "why_work_waits"]

STUCK = ("no_agent", "no_runner", "declined", "runner_fails", "starting")
"""The reasons that concern runners: time alone does not end them."""

MOST_ROUTES = 32
START = "longhouse runner start"
INSTALL = "longhouse doctor"
"""It says how to install an agent."""


class Prospects:
    """The runners that a queued job could get."""

    def __init__(self, tx: Tx, present: list[RunnerCandidate] | None = None) -> None:
        self._tx = tx
        self._facts = tx.facts.of(JobFacts)
        self._given = present

    @cached_property
    def present(self) -> list[RunnerCandidate]:
        return runners.present(self._tx) if self._given is None else self._given

    @cached_property
    def local(self) -> RunnerCandidate | None:
        """The runner that this server could start; None if this process starts none."""
        if self._facts.starter is None:
            return None
        agents = {name: tuple(profiles) for name, profiles in self._facts.starter.agents().items()}
        found = Offer(
            executors=tuple(agents) or ("codex",),
            available=None if agents else {"codex": False},
            profiles=agents or None,
            supports_artifacts=tuple(ARTIFACTS),
        )
        return RunnerCandidate(runner_id="a runner here", offer=found)

    def is_served(self, need: Need) -> bool:
        """Whether a runner that is online could run it, or could have and declined."""
        fresh = need.afresh()
        return any(can_run(fresh, runner) for runner in self.present)

    def can_be_served(self, need: Need) -> bool:
        """Whether a runner that this server starts could run it."""
        return self.local is not None and can_run(need.afresh(), self.local)

    def why(self, row: Row) -> Waiting | None:
        """Why this job is not running; None if it is, or will be claimed at once."""
        if row["status"] != "QUEUED":
            return None
        job, due_ms = job_id(row["n"]), row["not_before_ms"]
        if row["changes"]:
            why = "it is done, and its changes have not landed"
            return Waiting(code="changes", why=why, fix=apply_line(job))
        if due_ms >= HELD_MS:
            why = "it came with an import or a restored backup"
            return Waiting(code="held", why=why, fix=f"longhouse release {job}")
        if row["waits"]:
            others = "another job" if row["waits"] == 1 else f"{row['waits']} other jobs"
            return Waiting(code="after", why=f"it comes after {others}")
        if due_ms > self._tx.now_ms:
            left_s = -(-(due_ms - self._tx.now_ms) // 1000)
            return Waiting(code="later", why=f"it is tried again in {left_s} s")
        return self.why_route(Need.from_route(row["route"]), job)

    def why_route(self, need: Need, job: str) -> Waiting | None:
        """The same for a job that could be claimed now."""
        able = [runner for runner in self.present if can_run(need, runner)]
        if any(runner.available for runner in able):
            return self._full()
        if able:
            names = ", ".join(runner.runner_id for runner in able[:3])
            busy = "is busy" if len(able) == 1 else "are busy"
            return Waiting(code="busy", why=f"{names} {busy} with other jobs")
        if self.is_served(need):
            return Waiting(
                code="declined",
                why="every runner that is online and could run it declined it",
                fix=f"see why: longhouse job show {job}; then: longhouse job requeue {job}",
            )
        return self._unserved(need)

    def _unserved(self, need: Need) -> Waiting:
        online = self._online(need)
        if self.local is None:
            return Waiting(code="no_runner", why=online, fix=START)
        if not self.can_be_served(need):
            if self.local.offer.ready:
                here = f"one started here {lacks(need, self.local.offer)}"
            else:
                here = "neither Codex nor Claude Code is installed on this machine"
            return Waiting(code="no_agent", why=f"{online}, and {here}", fix=INSTALL)
        assert self._facts.starter is not None
        if trouble := self._facts.starter.trouble(self._tx.workspace):
            why = f"{online}, and the one that the server started did not stay: {trouble}"
            return Waiting(code="runner_fails", why=why, fix="see why: longhouse runner")
        if not self._facts.autostart:
            why = f"{online}, and this server starts none by itself"
            return Waiting(code="no_runner", why=why, fix=START)
        return Waiting(code="starting", why="the server is starting a runner for it")

    def _online(self, need: Need) -> str:
        if not self.present:
            return "no runner is online"
        one = self.present[0]
        more = f"; {len(self.present) - 1} more are online" if len(self.present) > 1 else ""
        return f"no online runner can run it ({one.runner_id} {lacks(need, one.offer)}{more})"

    def _full(self) -> Waiting | None:
        most = self._facts.max_running
        if most and int(self._tx.value(sql.count_up_to, status="RUNNING", limit=most)) >= most:
            return Waiting(
                code="full",
                why=f"this workspace runs {most} jobs, as many as jobs_max_running allows",
            )
        return None


def waiting_needs(tx: Tx) -> list[Need]:
    """What the claimable jobs need, one for each route; expired claims and elapsed delays too."""
    rows = _routes(tx)
    rows += tx.all(sql.claim_delayed, now=tx.now_ms, limit=MOST_ROUTES)
    rows += tx.all(sql.claim_expired, now=tx.now_ms, limit=MOST_ROUTES)
    return [Need.from_route(route) for route in sorted({row["route"] for row in rows})]


def _routes(tx: Tx) -> list[Row]:
    """The first claimable job of each route, for at most MOST_ROUTES routes."""
    found: dict[str, Row] = {}
    last = ""
    while len(found) < MOST_ROUTES and (rows := tx.all(sql.claim_head, route=last)):
        for row in rows:
            found.setdefault(row["route"], row)
        last = rows[-1]["route"]
    return list(found.values())[:MOST_ROUTES]


def why_work_waits(tx: Tx) -> Waiting | None:
    """The first reason why claimable jobs lack a runner; None if they have one."""
    prospects = Prospects(tx)
    return first(
        prospects.why_route(Need.from_route(row["route"]), job_id(row["n"])) for row in _routes(tx)
    )


def first(reasons: Iterable[Waiting | None]) -> Waiting | None:
    found = [one for one in reasons if one is not None and one.code in STUCK]
    return min(found, key=lambda one: STUCK.index(one.code), default=None)
