"""Autostart: only after a write, only if a runner is missing, only `longhouse runner`."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import Settings, load
from longhouse.house import House
from longhouse.jobs.autostart import BACKOFF_MS, RunnerProcesses, should_start
from longhouse.jobs.facts import STARTER
from longhouse.surfaces.cli.parse import ParsedLine, parse
from tests.jobs.kit import ended, new_job
from tests.kit import CountedIds, Lh, ManualClock
from tests.security.kit import Outsider


class Recorder:
    """A starter that starts nothing; reading it first waits for the work that follows answers."""

    def __init__(self) -> None:
        self._started: list[str] = []
        self.alive = False
        self.failed: str | None = None
        self.found: dict[str, tuple[str, ...]] = {"codex": ("fast", "deep", "audit")}
        self.house: House | None = None

    @property
    def started(self) -> list[str]:
        assert self.house is None or self.house.settle(5)
        return self._started

    def running(self, workspace: str) -> bool:
        return self.alive

    def start(self, workspace: str) -> None:
        self._started.append(workspace)

    def agents(self) -> dict[str, tuple[str, ...]]:
        return self.found

    def trouble(self, workspace: str) -> str | None:
        return self.failed


@pytest.fixture
def starter() -> Recorder:
    return Recorder()


@pytest.fixture
def lh(settings: Settings, clock: ManualClock, starter: Recorder) -> Any:
    with House(settings, clock=clock, ids=CountedIds(), services={STARTER: starter}) as house:
        starter.house = house
        yield Lh(house, clock)


@pytest.mark.proves("DEL-008", "DEL-009")
def test_the_rule_is_one_conjunction() -> None:
    flags = ("enabled", "queued", "online", "started")
    for values in itertools.product([False, True], repeat=4):
        for since in (None, 0, BACKOFF_MS - 1, BACKOFF_MS):
            given = dict(zip(flags, values, strict=True))
            wanted = values == (True, True, False, False) and since in (None, BACKOFF_MS)
            assert should_start(**given, since_last_ms=since) is wanted


@pytest.mark.proves("DEL-008")
def test_a_queued_job_without_a_runner_starts_one(lh: Lh, starter: Recorder) -> None:
    assert lh("jobs.create", title="x", prompt="y")["runner_autostart"] == {"enabled": True}
    assert starter.started == ["acme"]


@pytest.mark.proves("DEL-009")
def test_no_runner_is_started_while_one_holds_a_lease(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle", lease_ttl_ms=5_000)
    new_job(lh)
    assert starter.started == []
    clock.advance(5_000)
    new_job(lh)
    assert starter.started == ["acme"]


@pytest.mark.proves("DEL-009")
def test_no_runner_is_started_while_nothing_is_queued(
    settings: Settings, clock: ManualClock, starter: Recorder
) -> None:
    with House(settings, clock=clock) as house:
        job = ended(Lh(house, clock))
    with House(settings, clock=clock, services={STARTER: starter}) as house:
        starter.house, lh = house, Lh(house, clock)
        lh.refused("jobs.requeue", job="JOB-404")
        assert starter.started == []
        lh("jobs.requeue", job=job)
        assert starter.started == ["acme"]


def test_after_an_attempt_it_rests_and_a_living_child_is_enough(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    for _ in range(3):
        new_job(lh)
        assert len(starter.started) == 1
    clock.advance(BACKOFF_MS)
    starter.alive = True
    new_job(lh)
    assert len(starter.started) == 1
    starter.alive = False
    new_job(lh)
    assert len(starter.started) == 2


def upkeep(lh: Lh) -> None:
    """Run all periodic work of the leading server once."""
    lh.house.maintenance(lambda name, error: pytest.fail(f"{name}: {error!r}")).step(0)


def test_a_killed_runner_is_followed_by_another_without_any_write(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="live", lease_ttl_ms=60_000)
    for _ in range(4):
        new_job(lh)
    lh("jobs.claim", runner_id="r1", lease_ttl_ms=60_000)
    upkeep(lh)
    assert starter.started == []
    clock.advance(60_000)
    upkeep(lh)
    assert starter.started == ["acme"]


def test_a_claim_that_ran_out_is_work_that_waits(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="live", lease_ttl_ms=60_000)
    new_job(lh)
    lh("jobs.claim", runner_id="by-hand", lease_ttl_ms=90_000)
    clock.advance(89_999)
    upkeep(lh)
    assert starter.started == []
    clock.advance(1)
    upkeep(lh)
    assert starter.started == ["acme"]


def test_a_job_that_is_not_due_starts_a_runner_only_when_it_is(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    new_job(lh, not_before_ms=clock.now_ms() + 3_600_000)
    upkeep(lh)
    assert starter.started == []
    clock.advance(3_600_000)
    upkeep(lh)
    assert starter.started == ["acme"]


def test_a_job_whose_back_off_is_over_starts_a_runner(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="live", lease_ttl_ms=1_000)
    new_job(lh, max_attempts=2, retry_backoff_ms=100_000)
    claim = lh("jobs.claim", runner_id="r1")["job"]
    fence = {"job": claim["id"], "runner_id": "r1", "claim_revision": claim["revision"]}
    lh("jobs.complete", **fence, status="FAILED", summary="no luck")
    clock.advance(99_999)
    upkeep(lh)
    assert starter.started == []
    clock.advance(1)
    upkeep(lh)
    assert starter.started == ["acme"]


def test_starts_that_do_not_help_come_ever_more_seldom(
    lh: Lh, starter: Recorder, clock: ManualClock
) -> None:
    new_job(lh)
    waited, last = [], 0
    for second in range(10, 3_600, 10):
        clock.advance(10_000)
        before = len(starter.started)
        upkeep(lh)
        if len(starter.started) > before:
            waited.append(second - last)
            last = second
    assert waited == [30, 30, 60, 120, 240, 480, 600, 600, 600, 600]
    before = len(starter.started)
    clock.advance(BACKOFF_MS)
    new_job(lh)
    assert len(starter.started) == before + 1


@pytest.mark.proves("DEL-005")
def test_a_read_never_starts_anything(
    settings: Settings, clock: ManualClock, starter: Recorder
) -> None:
    with House(settings, clock=clock) as house:
        new_job(Lh(house, clock))
    with House(settings, clock=clock, services={STARTER: starter}) as house:
        starter.house, lh = house, Lh(house, clock)
        for cmd in ("jobs.radar", "jobs.list", "status"):
            lh(cmd)
        lh("jobs.open", job="JOB-001")
        lh("jobs.claim", runner_id="r1")
    assert starter.started == []


@pytest.mark.proves("DEL-011")
def test_switched_off_it_starts_only_when_asked_by_name(
    settings: Settings, clock: ManualClock, starter: Recorder
) -> None:
    off = settings._replace(runner_autostart=False)
    with House(off, clock=clock, services={STARTER: starter}) as house:
        starter.house, lh = house, Lh(house, clock)
        made = lh("jobs.create", title="x", prompt="y")
        assert made["runner_autostart"] == {"enabled": False}
        assert starter.started == []
        asked = lh("jobs.runner.start")
        assert asked["attempted"]
        assert asked["jobs"] == {"queued": 1, "running": 0}
        assert starter.started == ["acme"]
        lh("jobs.runner.start")
        assert starter.started == ["acme", "acme"]


def test_an_agent_starts_no_runner_where_the_person_switched_that_off(
    settings: Settings, clock: ManualClock, starter: Recorder
) -> None:
    for enabled in (False, True):
        given = settings._replace(runner_autostart=enabled)
        with House(given, clock=clock, services={STARTER: starter}) as house:
            starter.house, agent = house, Outsider(Lh(house, clock), "TOK-a")
            if enabled:
                assert agent("jobs.runner.start")["attempted"]
                assert starter.started == ["acme"]
            else:
                assert agent.refused("jobs.runner.start")["code"] == "FORBIDDEN"
                assert starter.started == []
                agent("jobs.create", title="x", prompt="y")
                offered = agent.envelope("status")["actions"]
                assert "next::runner.start" not in [one["action_id"] for one in offered]


def test_asked_by_name_it_starts_none_beside_one_that_is_there(lh: Lh, starter: Recorder) -> None:
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle")
    assert not lh("jobs.runner.start")["attempted"]
    assert starter.started == []


def test_a_house_that_starts_no_runners_says_how_to(new_house: Any, clock: ManualClock) -> None:
    lh = Lh(new_house(), clock)
    answer = lh.envelope("jobs.runner.start")
    assert [w["code"] for w in answer["warnings"]] == ["RUNNER_START_FAILED"]
    assert not answer["result"]["attempted"]
    assert answer["result"]["runner_bootstrap"]["cmd"].startswith("longhouse runner ")


@pytest.mark.proves("DEL-011", "DEL-012")
@pytest.mark.parametrize(
    "flags, environ, enabled",
    [
        ([], {}, True),
        (["--toolset=core"], {}, True),
        (["--toolset=daily"], {}, True),
        (["--toolset=full"], {}, False),
        ([], {"LONGHOUSE_TOOLSET": "full"}, False),
        (["--toolset=full"], {"LONGHOUSE_RUNNER_AUTOSTART": "1"}, True),
        ([], {"LONGHOUSE_RUNNER_AUTOSTART": "0"}, False),
        (["--runner-autostart"], {"LONGHOUSE_RUNNER_AUTOSTART": "0"}, True),
        (["--no-runner-autostart"], {"LONGHOUSE_RUNNER_AUTOSTART": "1"}, False),
        (["--runner-autostart", "--toolset=full"], {}, True),
    ],
)
def test_the_flag_wins_over_the_environment_over_the_toolset(
    tmp_path: Path, flags: list[str], environ: dict[str, str], enabled: bool
) -> None:
    line = ParsedLine()
    parse(["mcp", *flags], line)
    settings = load({"dir": str(tmp_path), **line.globals}, environ=environ, cwd=tmp_path)
    assert settings.runner_autostart is enabled


def test_a_runner_that_has_ended_makes_room_for_another(settings: Settings) -> None:
    class Child:
        ended: int | None = None

        def poll(self) -> int | None:
            return self.ended

    child = Child()
    starter = RunnerProcesses(str(settings.dir), spawn=lambda _: child, most=1)
    starter.start("acme")
    with pytest.raises(OSError, match="1 runners are already running"):
        starter.start("globex")
    child.ended = 0
    starter.start("globex")


@pytest.mark.proves("DEL-010")
def test_the_only_program_it_can_start_is_our_runner(settings: Settings) -> None:
    calls: list[list[str]] = []

    class Child:
        def poll(self) -> int | None:
            return None

    def spawn(argv: list[str]) -> Child:
        calls.append(argv)
        return Child()

    starter = RunnerProcesses(str(settings.dir), spawn=spawn, policy="full-auto")
    evil = "acme; rm -rf /"
    assert not starter.running(evil)
    starter.start(evil)
    assert starter.running(evil)
    assert calls == [
        [
            sys.executable,
            "-P",
            "-m",
            "longhouse",
            "runner",
            "--dir",
            str(settings.dir),
            "--workspace",
            evil,
            "--idle-exit-s",
            "600",
            "--log-to-file",
            "--attach",
            "--policy",
            "full-auto",
        ],
    ]
