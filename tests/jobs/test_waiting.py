"""Nothing waits in silence: a job that no runner can run says why, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from longhouse.config import Settings
from longhouse.house import House
from longhouse.jobs.autostart import BACKOFF_MS, LOOK_S, RunnerProcesses
from longhouse.jobs.facts import STARTER
from tests.jobs.kit import new_job
from tests.jobs.test_autostart import Recorder, upkeep
from tests.kit import CountedIds, Lh, ManualClock

CODEX = {"codex": ("fast", "deep", "audit")}


@pytest.fixture
def starter() -> Recorder:
    return Recorder()


@pytest.fixture
def server(settings: Settings, clock: ManualClock, starter: Recorder) -> Iterator[Lh]:
    with House(settings, clock=clock, ids=CountedIds(), services={STARTER: starter}) as house:
        starter.house = house
        yield Lh(house, clock)


def everywhere(lh: Lh, job: str = "JOB-001") -> list[dict[str, Any] | None]:
    """The reason as each read gives it."""
    (row,) = [row for row in lh("jobs.radar")["jobs"] if row["id"] == job]
    return [lh("jobs.open", job=job).get("waiting"), row.get("waiting")]


def reason(lh: Lh, job: str = "JOB-001") -> str | None:
    shown, in_radar = everywhere(lh, job)
    assert shown == in_radar
    return shown["code"] if shown else None


def process_only(lh: Lh, runner_id: str = "keeper") -> None:
    """A runner whose machine has no agent: it only keeps background processes alive."""
    lh(
        "jobs.runner.heartbeat",
        runner_id=runner_id,
        status="idle",
        executors=["codex"],
        available={"codex": False},
        lease_ttl_ms=300_000,
    )


def test_without_an_agent_every_answer_says_so_and_no_runner_is_started(
    server: Lh, starter: Recorder
) -> None:
    starter.found = {}
    made = server("jobs.create", title="x", prompt="y")
    assert made["waiting"]["code"] == "no_agent"
    assert "neither Codex nor Claude Code is installed" in made["waiting"]["why"]
    assert "longhouse doctor" in made["waiting"]["fix"]
    assert [one and one["code"] for one in everywhere(server)] == ["no_agent"] * 2
    status = server.envelope("status")
    assert status["result"]["jobs"]["waiting"]["code"] == "no_agent"
    assert "next::runner.start" not in [one["action_id"] for one in status["actions"]]
    assert any("— waits: no runner is online" in line for line in server.lines("jobs.radar"))
    assert any(line.startswith("waits: ") for line in server.lines("jobs.open", job="JOB-001"))
    assert "waits: no runner is online" in "\n".join(server.lines("status"))
    assert starter.started == []


def test_an_agent_that_is_installed_later_gets_a_runner_at_the_next_look(
    server: Lh, starter: Recorder, clock: ManualClock
) -> None:
    starter.found = {}
    new_job(server)
    for _ in range(3):
        clock.advance(BACKOFF_MS)
        upkeep(server)
    assert starter.started == []
    starter.found = dict(CODEX)
    clock.advance(LOOK_S * 1000)
    upkeep(server)
    assert starter.started == ["acme"]
    assert reason(server) == "starting"


@pytest.mark.proves("DEL-009")
def test_a_runner_that_only_keeps_processes_alive_does_not_count_for_jobs(
    server: Lh, starter: Recorder
) -> None:
    process_only(server)
    made = server("jobs.create", title="x", prompt="y")
    assert made["waiting"]["code"] == "starting"
    assert "routing" not in made
    assert "runner_bootstrap" in made
    assert starter.started == ["acme"]
    assert server("jobs.claim", runner_id="keeper")["job"] is None
    assert server.lines("jobs.radar")[0].endswith("runner=idle runners=live:0 idle:1 offline:0")


@pytest.mark.proves("DEL-009")
def test_a_lease_that_can_run_the_job_keeps_others_from_being_started(
    server: Lh, starter: Recorder
) -> None:
    server("jobs.runner.heartbeat", runner_id="r1", status="idle", executors=["codex"])
    new_job(server)
    assert reason(server) is None
    new_job(server, executor="claude_code")
    assert reason(server, "JOB-002") == "no_agent"
    assert starter.started == []
    starter.found = {**CODEX, "claude_code": ("fast", "deep", "audit")}
    new_job(server, executor="claude_code")
    assert starter.started == ["acme"]


def test_a_runner_whose_agent_appears_is_offered_what_it_could_not_run(lh: Lh) -> None:
    process_only(lh)
    new_job(lh)
    assert reason(lh) == "no_runner"
    (shown,) = {one["why"] for one in everywhere(lh) if one}
    assert shown == "no online runner can run it (keeper has no agent)"
    lh("jobs.runner.heartbeat", runner_id="keeper", status="idle", executors=["codex"])
    assert reason(lh) is None
    assert lh("jobs.claim", runner_id="keeper")["job"]["id"] == "JOB-001"


def test_each_reason_has_its_own_words(lh: Lh, clock: ManualClock) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle", executors=["codex"])
    first = new_job(lh)
    claim = lh("jobs.claim", runner_id="r1")["job"]
    assert reason(lh, first) is None
    busy, after = new_job(lh), new_job(lh, after=[first])
    later = new_job(lh, not_before_ms=clock.now_ms() + 60_000)
    assert [reason(lh, job) for job in (busy, after, later)] == ["busy", "after", "later"]
    lh(
        "jobs.release",
        job=first,
        runner_id="r1",
        claim_revision=claim["revision"],
        decline=True,
        reason="no room",
    )
    assert reason(lh, first) == "declined"
    lh("jobs.requeue", job=first)
    assert reason(lh, first) is None


def test_a_runner_that_does_not_stay_is_named_with_its_trouble(
    server: Lh, starter: Recorder
) -> None:
    new_job(server)
    assert reason(server) == "starting"
    starter.failed = "it exited with code 3"
    assert reason(server) == "runner_fails"
    assert "it exited with code 3" in server("jobs.open", job="JOB-001")["waiting"]["why"]


class Child:
    def __init__(self) -> None:
        self.code: int | None = None

    def poll(self) -> int | None:
        return self.code


def test_the_machine_is_looked_at_no_more_than_every_few_seconds() -> None:
    looks, now = [], [0.0]

    def look() -> dict[str, tuple[str, ...]]:
        looks.append(now[0])
        return dict(CODEX) if now[0] else {}

    made = RunnerProcesses("d", spawn=lambda _: Child(), agents=look, clock=lambda: now[0])
    assert [made.agents() for _ in range(3)] == [{}, {}, {}]
    now[0] = float(LOOK_S)
    assert made.agents() == CODEX
    assert looks == [0.0, LOOK_S]


def test_a_start_that_fails_and_a_child_that_dies_are_remembered() -> None:
    child = Child()
    made = RunnerProcesses("d", spawn=lambda _: child, most=1)
    made.start("one")
    assert made.trouble("one") is None
    with pytest.raises(OSError, match="already running"):
        made.start("two")
    assert made.trouble("two") == "1 runners are already running"
    child.code = 3
    assert made.trouble("one") == "it exited with code 3"
    child.code = 0
    made.start("two")
    assert made.trouble("two") is None
