"""Every interleaving of claims, reports, endings and clock jumps against a small model.

The model has the rules from the README. What the store accepts or refuses must match the model, and
the rows must always match the fold of their events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from longhouse.config import Settings
from longhouse.house import House
from longhouse.jobs.fold import differences
from longhouse.jobs.states import ACTIVE, ENDED, MOVES
from longhouse.store.tx import Call
from tests.kit import CountedIds, Lh, ManualClock

RUNNERS = st.sampled_from(["r1", "r2", "r3"])
TTL = 10_000


@dataclass
class Model:
    """The expected state of a job."""

    priority: int
    max_attempts: int
    after: tuple[str, ...] = ()
    status: str = "QUEUED"
    revision: int = 0
    runner: str | None = None
    expires: int = 0
    not_before: int = 0
    failures: int = 0
    declined: set[str] = field(default_factory=set)
    question: bool = False
    gate: bool = False
    error: bool = False

    def move(self, name: str) -> None:
        before, after = MOVES[name]  # type: ignore[index]
        assert self.status in before
        self.status = after
        self.revision += 1


class JobsMachine(RuleBasedStateMachine):
    """Drives a house and a model side by side."""

    base: Settings
    runs: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.workspace = f"run-{next(self.runs)}"
        self.house = self.open_house()
        self.lh = Lh(self.house, self.clock)
        self.jobs: dict[str, Model] = {}
        self.old: list[dict[str, Any]] = []
        self.seen: dict[str, int] = {}

    def open_house(self) -> House:
        own = self.base._replace(workspace=self.workspace)
        return House(own, clock=self.clock, ids=CountedIds())

    def teardown(self) -> None:
        self.house.close()

    # --- what the model says -----------------------------------------------------------------

    def waits(self, job: Model) -> int:
        return sum(self.jobs[name].status != "DONE" for name in job.after)

    def claimable(self, job: Model, runner: str, *, stale: bool) -> bool:
        now = self.clock.now_ms()
        if runner in job.declined:
            return False
        if job.status == "QUEUED":
            return self.waits(job) == 0 and job.not_before <= now
        return stale and job.status == "RUNNING" and job.expires <= now

    def fences(self) -> dict[str, dict[str, Any]]:
        return {
            name: {"job": name, "runner_id": job.runner, "claim_revision": job.revision}
            for name, job in self.jobs.items()
            if job.status == "RUNNING"
        }

    def taken(self, name: str, runner: str, result: dict[str, Any]) -> None:
        job = self.jobs[name]
        kind = "claimed" if job.status == "QUEUED" else "reclaimed"
        job.move("claim" if job.status == "QUEUED" else "reclaim")
        job.runner, job.expires, job.error = runner, self.clock.now_ms() + TTL, False
        assert result["event"]["kind"] == kind
        assert result["job"]["revision"] == job.revision
        self.old.append(
            {"job": name, "runner_id": runner, "claim_revision": result["job"]["revision"]}
        )

    def pick(self, data: st.DataObject) -> str | None:
        return data.draw(st.sampled_from(sorted(self.jobs))) if self.jobs else None

    # --- rules -------------------------------------------------------------------------------

    @rule(
        data=st.data(),
        priority=st.sampled_from(["low", "medium", "high"]),
        attempts=st.integers(1, 2),
    )
    def create(self, data: st.DataObject, priority: str, attempts: int) -> None:
        after = data.draw(
            st.lists(st.sampled_from(sorted(self.jobs)), max_size=2, unique=True)
            if self.jobs
            else st.just([])
        )
        name = self.lh(
            "jobs.create",
            title="x",
            prompt="y",
            priority=priority,
            after=after,
            max_attempts=attempts,
            retry_backoff_ms=5_000,
        )["job"]["id"]
        rank = {"low": 0, "medium": 1, "high": 2}[priority]
        self.jobs[name] = Model(rank, attempts, tuple(after))
        lost = any(self.jobs[dep].status in ("FAILED", "CANCELED") for dep in after)
        self.jobs[name].error = lost

    @rule(data=st.data(), runner=RUNNERS, stale=st.booleans())
    def claim_one(self, data: st.DataObject, runner: str, stale: bool) -> None:
        if (name := self.pick(data)) is None:
            return
        call = {"job": name, "runner_id": runner, "allow_stale": stale, "lease_ttl_ms": TTL}
        if self.claimable(self.jobs[name], runner, stale=stale):
            self.taken(name, runner, self.lh("jobs.claim", **call))
        else:
            assert self.lh.refused("jobs.claim", **call)["code"] in ("CONFLICT", "ROUTING_REFUSED")

    @rule(runner=RUNNERS, stale=st.booleans())
    def claim_next(self, runner: str, stale: bool) -> None:
        free = [n for n, job in self.jobs.items() if self.claimable(job, runner, stale=stale)]
        waiting = self.lh("jobs.wait", runner_id=runner, allow_stale=stale, timeout_ms=0)
        result = self.lh("jobs.claim", runner_id=runner, allow_stale=stale, lease_ttl_ms=TTL)
        if not free:
            assert result["job"] is None
            assert "claimable" not in waiting
            return
        best = min(free, key=lambda name: (-self.jobs[name].priority, int(name[4:])))
        assert result["job"]["id"] == waiting["claimable"]["id"] == best
        self.taken(best, runner, result)

    @rule(
        data=st.data(),
        kind=st.sampled_from(["progress", "heartbeat", "question", "proof_gate", "error"]),
    )
    def report(self, data: st.DataObject, kind: str) -> None:
        fences = self.fences()
        if not fences:
            return
        name = data.draw(st.sampled_from(sorted(fences)))
        self.lh("jobs.report", **fences[name], message="m", kind=kind, lease_ttl_ms=TTL)
        job = self.jobs[name]
        job.expires = self.clock.now_ms() + TTL
        job.question |= kind == "question"
        job.gate |= kind == "proof_gate"
        job.error |= kind == "error"

    @rule(data=st.data(), status=st.sampled_from(["DONE", "FAILED"]))
    def complete(self, data: st.DataObject, status: str) -> None:
        fences = self.fences()
        if not fences:
            return
        name = data.draw(st.sampled_from(sorted(fences)))
        result = self.lh("jobs.complete", **fences[name], status=status)
        job = self.jobs[name]
        job.failures += status == "FAILED"
        if status == "FAILED" and job.failures < job.max_attempts:
            job.move("retry")
            job.runner, job.error = None, True
            job.not_before = self.clock.now_ms() + 5_000 * 2 ** (job.failures - 1)
            assert result["event"]["kind"] == "retrying"
        else:
            job.move("done" if status == "DONE" else "fail")
            self.ended(name)

    @rule(data=st.data(), decline=st.booleans())
    def release(self, data: st.DataObject, decline: bool) -> None:
        fences = self.fences()
        if not fences:
            return
        name = data.draw(st.sampled_from(sorted(fences)))
        self.lh("jobs.release", **fences[name], reason="r", decline=decline)
        job = self.jobs[name]
        if decline and job.runner:
            job.declined.add(job.runner)
        job.move("release")
        job.runner = None
        job.error |= any(self.jobs[d].status in ("FAILED", "CANCELED") for d in job.after)

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if (name := self.pick(data)) is None:
            return
        job = self.jobs[name]
        if job.status in ACTIVE:
            self.lh("jobs.cancel", job=name)
            job.move("cancel")
            self.ended(name)
        else:
            assert self.lh.refused("jobs.cancel", job=name)["code"] == "CONFLICT"

    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        if (name := self.pick(data)) is None:
            return
        job = self.jobs[name]
        offered_anew = job.status == "QUEUED" and (job.declined or job.not_before)
        if job.status not in ENDED and not offered_anew:
            assert self.lh.refused("jobs.requeue", job=name)["code"] == "CONFLICT"
            return
        self.lh("jobs.requeue", job=name)
        job.move("requeue")
        job.runner, job.failures, job.not_before = None, 0, 0
        job.declined.clear()
        job.error = any(self.jobs[d].status in ("FAILED", "CANCELED") for d in job.after)
        self.retell(name)

    @rule(data=st.data())
    def message(self, data: st.DataObject) -> None:
        if (name := self.pick(data)) is None:
            return
        if self.jobs[name].status in ACTIVE:
            self.lh("jobs.message", job=name, message="go on")
            self.jobs[name].question = False
        else:
            assert self.lh.refused("jobs.message", job=name, message="m")["code"] == "CONFLICT"

    @rule(ms=st.sampled_from([1, 4_999, 5_000, TTL - 1, TTL, 60_000]))
    def clock_jumps(self, ms: int) -> None:
        self.clock.advance(ms)

    @precondition(lambda self: self.old)
    @rule(data=st.data(), cmd=st.sampled_from(["jobs.report", "jobs.complete", "jobs.release"]))
    def an_old_token_writes(self, data: st.DataObject, cmd: str) -> None:
        fence = data.draw(st.sampled_from(self.old))
        if fence == self.fences().get(fence["job"]):
            return
        args = {"jobs.report": {"message": "zombie"}, "jobs.complete": {"status": "DONE"}}
        more = args.get(cmd, {"reason": "zombie"})
        assert self.lh.refused(cmd, **fence, **more)["code"] == "CONFLICT"

    @rule()
    def the_process_ends_and_starts_again(self) -> None:
        self.house.close()
        self.house = self.lh.house = self.open_house()

    def ended(self, name: str) -> None:
        self.jobs[name].error = False
        self.retell(name)

    def retell(self, name: str) -> None:
        """Queued jobs that depend on a job which finished or was requeued are updated."""
        status = self.jobs[name].status
        for job in self.jobs.values():
            if name in job.after and job.status == "QUEUED":
                told = status != "DONE" or self.waits(job) == 0
                lost = any(self.jobs[d].status in ("FAILED", "CANCELED") for d in job.after)
                job.error = lost if told else job.error

    # --- what always holds -------------------------------------------------------------------

    @invariant()
    def rows_are_what_the_model_says(self) -> None:
        for row in self.lh("jobs.list", limit=200)["jobs"]:
            job = self.jobs[row["id"]]
            assert row["status"] == job.status
            assert row["revision"] == job.revision
            if job.status == "RUNNING":
                assert (row["runner"], row["claim_expires_at_ms"]) == (job.runner, job.expires)
            assert row["revision"] >= self.seen.get(row["id"], 0)
            self.seen[row["id"]] = row["revision"]

    @invariant()
    def attention_is_what_the_model_says(self) -> None:
        rows = {row["id"]: row for row in self.lh("jobs.radar", limit=200)["jobs"]}
        assert rows.keys() == {n for n, job in self.jobs.items() if job.status in ACTIVE}
        for name, row in rows.items():
            job, now = self.jobs[name], row["attention"]
            assert now["needs_manager"] == job.question
            assert now["needs_proof"] == job.gate
            assert now["has_error"] == job.error
            assert now["stale"] == (job.status == "RUNNING" and job.expires <= self.clock.now_ms())

    @invariant()
    def rows_are_a_fold_of_their_events(self) -> None:
        call = Call(now_ms=self.clock.now_ms(), ids=CountedIds())
        assert self.house.db.read(self.workspace, differences, call) == []


@pytest.mark.proves("DEL-016", "DEL-095", "DEL-096", "DEL-098", "DEL-099", "DEL-113")
def test_no_interleaving_breaks_the_rules(settings: Settings) -> None:
    machine = type("Machine", (JobsMachine,), {"base": settings, "runs": itertools.count()})
    machine.TestCase.settings = PROFILE  # type: ignore[attr-defined]
    machine.TestCase("runTest").runTest()  # type: ignore[attr-defined]


PROFILE = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
