"""Calls that share a transaction have the same answers and effects as calls made in sequence."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from longhouse.dispatch import Caller
from longhouse.jobs.claim_queue import AHEAD
from longhouse.jobs.fold import differences
from longhouse.jobs.room import sql
from longhouse.jobs.runners import MOST
from longhouse.kernel.registry import Role
from longhouse.store.tx import Call, Tx
from longhouse.store.tx import sql as store_sql
from tests.kit import CountedIds, Lh
from tests.store.kit import lane_held

Made = tuple[str, dict[str, Any]]

JOBS = st.sampled_from([f"JOB-{n:03d}" for n in range(1, 6)])
RUNNERS = st.sampled_from(["r1", "r2", "r3"])
FENCE = {"job": JOBS, "runner_id": RUNNERS, "claim_revision": st.sampled_from([1, 1, 1, 2, 3])}
CREATE = {
    "title": st.just("Look"),
    "prompt": st.just("Look."),
    "priority": st.sampled_from(["low", "medium", "high"]),
    "executor": st.sampled_from(["auto", "auto", "codex"]),
    "max_attempts": st.sampled_from([1, 2]),
}
CALLS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "jobs.create": CREATE,
    "jobs.claim": {"runner_id": RUNNERS, "lease_ttl_ms": st.sampled_from([1_000, 60_000])},
    "jobs.report": {
        **FENCE,
        "message": st.just("half"),
        "kind": st.sampled_from(["progress", "question", "error", "heartbeat"]),
    },
    "jobs.complete": {**FENCE, "status": st.sampled_from(["DONE", "DONE", "FAILED"])},
    "jobs.release": {**FENCE, "reason": st.just("no"), "decline": st.booleans()},
    "jobs.cancel": {"job": JOBS, "reason": st.just("enough")},
    "jobs.requeue": {"job": JOBS, "reason": st.just("again")},
    "jobs.message": {"job": JOBS, "message": st.just("go on")},
    "jobs.runner.heartbeat": {
        "runner_id": RUNNERS,
        "status": st.just("idle"),
        "executors": st.sampled_from([["codex"], ["claude_code"]]),
    },
}
OFTEN = ["jobs.claim"] * 6 + ["jobs.create"] * 5 + ["jobs.report"] * 2 + ["jobs.complete"] * 2
MORE: dict[str, list[dict[str, Any]]] = {
    "jobs.create": [
        {"policy": st.just({"prefer": ["codex"]})},
        {"after": st.lists(JOBS, max_size=2, unique=True)},
    ],
    "jobs.claim": [{}, {"job": JOBS}, {"allow_stale": st.just(True)}],
}


def made(cmd: str) -> st.SearchStrategy[Made]:
    variants: list[dict[str, Any]] = [{}, *MORE.get(cmd, [])]
    arguments = st.one_of([st.fixed_dictionaries(CALLS[cmd] | more) for more in variants])
    return st.tuples(st.just(cmd), arguments)


KEYS = st.sampled_from([{}, {}, *({"idempotency_key": f"k{n}"} for n in range(20))])
ANY = st.tuples(st.sampled_from([*OFTEN, *CALLS]).flatmap(made), KEYS).map(
    lambda pair: (pair[0][0], pair[0][1] | pair[1])
)
BATCHES = st.tuples(
    st.lists(made("jobs.create"), min_size=3, max_size=6),
    *[st.lists(ANY, min_size=2, max_size=12)] * 4,
)
RUNS = itertools.count()


async def at_once(lh: Lh, workspace: str, calls: list[Made]) -> list[dict[str, Any]]:
    """Run the calls in one transaction."""
    call, me = lh.house.dispatcher.call_async, Caller(Role.OPERATOR)
    async with lane_held(lh.house.db, workspace):
        tasks = [
            asyncio.create_task(call(cmd, {**args, "workspace": workspace}, me))
            for cmd, args in calls
        ]
    return [answer.envelope for answer in await asyncio.gather(*tasks)]


def one_by_one(lh: Lh, workspace: str, calls: list[Made]) -> list[dict[str, Any]]:
    return [lh.envelope(cmd, **args, workspace=workspace) for cmd, args in calls]


def left(lh: Lh, workspace: str) -> list[Any]:
    """All events, whether they account for the rows, and the current state of every job."""

    def look(tx: Tx) -> list[Any]:
        rows = tx.all(store_sql.log_after, after=0, limit=10_000)
        jobs = tx.all(sql.jobs_newest, before=10**9, limit=1_000)
        without = [{key: value for key, value in row.items() if key != "ws"} for row in jobs]
        assert differences(tx) == []
        return [*rows, *without]

    return lh.house.db.read(workspace, look, Call(now_ms=lh.clock.now_ms(), ids=CountedIds()))


@profile(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(batches=BATCHES)
def check(lh: Lh, batches: tuple[list[Made], ...]) -> None:
    run = next(RUNS)
    alone, crowd = f"alone-{run}", f"crowd-{run}"
    for calls in batches:
        one = one_by_one(lh, alone, calls)
        several = asyncio.run(at_once(lh, crowd, calls))
        for call, expected, found in zip(calls, one, several, strict=True):
            assert json.dumps(found).replace(crowd, alone) == json.dumps(expected), call
        lh.clock.advance(1_500)
    assert left(lh, crowd) == left(lh, alone)


@pytest.mark.proves("DEL-016")
def test_a_batch_is_as_one_call_after_the_other(lh: Lh) -> None:
    check(lh)


FENCED = {"runner_id": "r9", "claim_revision": 1}
BETWEEN: dict[str, Made] = {
    "created": ("jobs.create", {"title": "new", "prompt": "p", "priority": "high"}),
    "canceled": ("jobs.cancel", {"job": "JOB-004", "reason": "enough"}),
    "claimed": ("jobs.claim", {"job": "JOB-004", "runner_id": "r2"}),
    "released": ("jobs.release", {"job": "JOB-001", **FENCED, "reason": "no"}),
    "retried": ("jobs.complete", {"job": "JOB-001", **FENCED, "status": "FAILED"}),
    "requeued": ("jobs.requeue", {"job": "JOB-002", "reason": "again"}),
    "offered": (
        "jobs.runner.heartbeat",
        {"runner_id": "r1", "status": "idle", "executors": ["claude_code"]},
    ),
}


@pytest.mark.parametrize("between", BETWEEN)
async def test_a_claim_sees_what_a_call_before_it_changed(lh: Lh, between: str) -> None:
    def ready(workspace: str) -> None:
        """Two high ones, one running and one done; then three to claim, the third for codex."""

        def do(cmd: str, **args: Any) -> None:
            lh(cmd, **args, workspace=workspace)

        for _ in range(2):
            do(
                "jobs.create",
                title="high",
                prompt="p",
                priority="high",
                max_attempts=2,
                retry_backoff_ms=0,
            )
            do("jobs.claim", runner_id="r9")
        do("jobs.complete", job="JOB-002", **FENCED, status="DONE")
        for executor in ("auto", "auto", "claude_code", "auto"):
            do("jobs.create", title=executor, prompt="p", executor=executor)

    claim = ("jobs.claim", {"runner_id": "r1"})
    calls = [claim, BETWEEN[between], claim, claim, claim]
    for workspace in ("alone", "crowd"):
        ready(workspace)
    one, several = one_by_one(lh, "alone", calls), await at_once(lh, "crowd", calls)
    assert json.dumps(several).replace("crowd", "alone") == json.dumps(one)
    assert left(lh, "crowd") == left(lh, "alone")


@pytest.mark.parametrize("other", [False, True])
async def test_a_claim_sees_what_a_job_that_ended_before_it_made_ready(lh: Lh, other: bool) -> None:
    for workspace in ("alone", "crowd"):
        before: list[Made] = [
            *[("jobs.create", {"title": "first", "prompt": "p"})] * 2,
            *[("jobs.claim", {"runner_id": "r9"})] * 2,
            (
                "jobs.create",
                {"title": "next", "prompt": "p", "priority": "high", "after": ["JOB-001"]},
            ),
            *[("jobs.create", {"title": "other", "prompt": "p"})] * other,
        ]
        assert all(answer["success"] for answer in one_by_one(lh, workspace, before))
    ends: Made = ("jobs.complete", {"job": "JOB-001", **FENCED, "status": "DONE"})
    asks: Made = ("jobs.complete", {"job": "JOB-002", **FENCED, "status": "DONE"})
    calls: list[Made] = [ends, asks, ("jobs.claim", {"runner_id": "r1"})]
    one, several = one_by_one(lh, "alone", calls), await at_once(lh, "crowd", calls)
    assert several[2]["result"]["job"]["title"] == "next"
    assert json.dumps(several).replace("crowd", "alone") == json.dumps(one)
    assert left(lh, "crowd") == left(lh, "alone")


async def test_a_batch_that_claims_more_than_one_look_shows_looks_again(lh: Lh) -> None:
    policies: list[dict[str, Any]] = [{}, {"expected_artifacts": ["diff"]}]
    for n in range(AHEAD * 2 + 6):
        lh("jobs.create", title=f"{n}", prompt="p", **policies[n % 2])
    claim: Made = ("jobs.claim", {"runner_id": "r1"})
    found = await at_once(lh, "acme", [claim] * (AHEAD * 2 + 8))
    jobs = [answer["result"]["job"] for answer in found]
    assert [job and job["title"] for job in jobs] == [
        *(f"{n}" for n in range(AHEAD * 2 + 6)),
        None,
        None,
    ]


async def test_of_very_many_runners_each_is_known_by_its_lease(lh: Lh) -> None:
    for n in range(MOST + 5):
        lh("jobs.runner.heartbeat", runner_id=f"r{n:03d}", status="idle", executors=["codex"])
    for _ in range(5):
        lh("jobs.create", title="codex", prompt="p", executor="codex")
    runners = ["r000", f"r{MOST + 4}", f"r{MOST + 3}", "stranger", f"r{MOST + 4}"]
    calls: list[Made] = [("jobs.claim", {"runner_id": runner}) for runner in runners]
    found = [answer["result"]["job"] for answer in await at_once(lh, "acme", calls)]
    assert [job and job["runner"] for job in found] == [
        "r000",
        f"r{MOST + 4}",
        f"r{MOST + 3}",
        None,
        f"r{MOST + 4}",
    ]


async def test_a_lease_holds_at_the_time_of_each_call(lh: Lh) -> None:
    """Calls read the clock before they queue, so times in a batch may go backwards."""
    lh(
        "jobs.runner.heartbeat",
        runner_id="r2",
        status="idle",
        executors=["codex"],
        lease_ttl_ms=1_000,
    )
    lh("jobs.create", title="codex", prompt="p", executor="codex", priority="high")
    for _ in range(3):
        lh("jobs.create", title="auto", prompt="p")
    start = lh.clock.now_ms()
    times = iter([1_000, 1_000, 999])
    lh.clock.now_ms = lambda: start + next(times, 1_000)  # type: ignore[method-assign]
    calls: list[Made] = [("jobs.claim", {"runner_id": runner}) for runner in ("r1", "r3", "r2")]
    found = [answer["result"]["job"]["title"] for answer in await at_once(lh, "acme", calls)]
    assert found == ["auto", "auto", "codex"]


@pytest.mark.parametrize("keyed", [False, True])
async def test_one_look_at_the_queue_serves_the_claims_of_a_batch(
    lh: Lh, monkeypatch: pytest.MonkeyPatch, keyed: bool
) -> None:
    for n in range(6):
        lh("jobs.create", title=f"{n}", prompt="p", priority="high" if n == 3 else "medium")
    looks = []
    every = Tx.all

    def seen(tx: Tx, query: Any, **params: Any) -> Any:
        looks.extend([query] if query.name.startswith("longhouse.jobs.claim_look") else [])
        return every(tx, query, **params)

    monkeypatch.setattr(Tx, "all", seen)
    keys = [{"idempotency_key": f"claim-{n}"} if keyed else {} for n in range(8)]
    calls = [("jobs.claim", {"runner_id": "r1", **key}) for key in keys]
    found = await at_once(lh, "acme", calls)
    jobs = [envelope["result"]["job"] for envelope in found]
    titles = [job and job["title"] for job in jobs]
    assert titles == ["3", "0", "1", "2", "4", "5", None, None]
    assert len(looks) == 1
