"""What jobs have used, by day, task and agent; an unreported cost is unknown, not 0."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.jobs.kit import claimed, new_job
from tests.kit import Lh

DAY_MS = 86_400_000


def use(lh: Lh, agent: str, task: str | None = None, **usage: Any) -> str:
    job = new_job(lh, **({"task": task} if task else {}))
    claim = lh("jobs.claim", job=job, runner_id="r1")["job"]
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    lh("jobs.report", **fence, message="slice 1", usage={"agent": agent, **usage})
    return job


def test_an_unknown_cost_reads_unknown_and_a_partial_one_says_so(lh: Lh) -> None:
    job = use(lh, "codex", input_tokens=100, output_tokens=20)
    shown = lh("jobs.open", job=job)["job"]["usage"]
    assert shown["cost_usd"] == "unknown"
    fence = {"job": job, "runner_id": "r1", "claim_revision": 1}
    lh("jobs.report", **fence, message="m", usage={"input_tokens": 1, "cost_usd": 0.25})
    shown = lh("jobs.open", job=job)["job"]["usage"]
    assert (shown["cost_usd"], shown["cost_is_partial"]) == (0.25, True)


def test_totals_are_told_by_day_task_and_agent(lh: Lh) -> None:
    task = lh("tasks.macro.start", task_title="Make the search fast")["task_id"]
    use(lh, "codex", input_tokens=100, output_tokens=20)
    lh.clock.advance(DAY_MS)
    use(lh, "claude_code", task, input_tokens=10, output_tokens=2, cost_usd=0.5)
    use(lh, "claude_code", input_tokens=1, output_tokens=1, cost_usd=0.25)

    days = lh("jobs.usage")["used"]
    assert [(day["jobs"], day["input_tokens"], day["cost_usd"]) for day in days] == [
        (2, 11, 0.75),
        (1, 100, "unknown"),
    ]
    assert days[0]["what"] > days[1]["what"]
    agents = {row["what"]: row["output_tokens"] for row in lh("jobs.usage", by="agent")["used"]}
    assert agents == {"claude_code": 3, "codex": 20}
    tasks = {row["what"]: row["cost_usd"] for row in lh("jobs.usage", by="task")["used"]}
    assert tasks == {"no task": 0.25, task: 0.5}
    total = lh("jobs.usage", by="task")["total"]
    assert (total["input_tokens"], total["cost_usd"], total["cost_is_partial"]) == (111, 0.75, True)
    assert lh("jobs.usage", days=1)["total"]["input_tokens"] == 11


def test_what_a_failed_attempt_used_is_counted_too(lh: Lh) -> None:
    job = new_job(lh, max_attempts=2)
    lh("jobs.claim", runner_id="r1")
    fence = {"job": job, "runner_id": "r1", "claim_revision": 1}
    used = {"input_tokens": 7, "agent": "codex"}
    lh("jobs.complete", **fence, status="FAILED", summary="no", usage=used)
    lh("jobs.requeue", job=job)
    lh("jobs.claim", runner_id="r1")
    fence["claim_revision"] = lh("jobs.open", job=job)["job"]["revision"]
    lh("jobs.complete", **fence, status="DONE", summary="yes", usage=used)
    assert lh("jobs.usage")["total"]["input_tokens"] == 14


def test_what_reports_add_up_to_may_be_more_than_one_report_says(lh: Lh) -> None:
    """Every answer with a total conforms to its own schema."""
    most = {"input_tokens": 10**12, "output_tokens": 10**12, "cost_usd": 1_000_000.0}
    fence = claimed(lh, new_job(lh))
    for _ in range(2):
        lh("jobs.report", **fence, message="on it", usage=most)
    more = {**most, "cost_usd": 1_000_000.5}
    assert lh.refused("jobs.report", **fence, message="x", usage=more)["code"] == "INVALID_INPUT"
    for cmd, args, where in (
        ("jobs.open", {"job": fence["job"]}, ("job", "usage")),
        ("jobs.usage", {"by": "day"}, ("total",)),
    ):
        result = lh(cmd, **args)
        msgspec.convert(result, lh.house.registry.get(cmd).result)
        for name in where:
            result = result[name]
        assert (result["input_tokens"], result["cost_usd"]) == (2 * 10**12, 2_000_000.0)
