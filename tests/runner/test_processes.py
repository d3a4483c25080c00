"""Runner processes against a real server over MCP: recipes, crashes and shutdowns."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.runner.processes import GATE, Desk, alive, desk, environment, until

__all__ = ["desk"]

LATE = {"slice_recovered", "refused"}
"""What a runner may still add to a job that it lost: its usage, and that it came too late."""


@pytest.mark.proves("DEL-043", "DEL-027", "DEL-007")
def test_two_runners_serve_one_workspace_as_the_operator_sees_it(desk: Desk) -> None:
    ref = desk.note()
    jobs = [desk.job(f"remember(); {GATE}; done({ref!r})"), desk.job("ask('Which database?')")]
    runners = [desk.runner(name) for name in ("r1", "r2")]
    until(lambda: bool(desk.trace(jobs[0])) and "question" in desk.kinds(jobs[1]), "both at work")

    radar = desk.radar()
    assert " runner=live runners=live:" in radar[0]
    assert sum(line.startswith(("runner live r", "runner idle r")) for line in radar) == 2
    (asking,) = [line for line in radar if f" ? {jobs[1]} " in line]
    assert asking.startswith(f"{jobs[1]}@")
    assert f"reply reply_job={jobs[1]} reply_message=" in asking

    desk("jobs.radar", reply_job=jobs[1], reply_message="Staging.")
    desk.open_gate(jobs[0])
    desk.await_status(jobs[0], "DONE")
    claims = {
        event["by"]
        for job in jobs
        for event in desk("jobs.tail", job=job)["events"]
        if event["kind"] == "claimed"
    }
    assert claims == {"r1", "r2"}
    lease = desk("open", id="runner:r1")["lease"]
    assert lease["offers"]["executors"] == ["codex"]
    assert lease["offers"]["profiles"] == {"codex": ["fast", "deep", "audit"]}
    assert lease["offers"]["max_parallel"] == 1
    assert "patch" in lease["offers"]["supports_artifacts"]
    assert lease["offers"]["sandbox_policy"] == "workspace-write"
    before = lease["lease_expires_at_ms"]
    until(lambda: desk("open", id="runner:r1")["lease"]["lease_expires_at_ms"] > before, "renewal")
    assert [runner.stop() for runner in runners] == [0, 0]


@pytest.mark.proves("DEL-044")
def test_the_operators_recipe_shows_who_is_alive_and_doing_what_at_a_glance(desk: Desk) -> None:
    ref = desk.note()
    desk("tasks.macro.start", task_title="Make the search fast")
    made = [
        desk("tasks.macro.delegate", task_title=title, description=f"[[*: {script}]]")
        for title, script in (
            ("Search: find the slow query", f"remember(); {GATE}; done({ref!r})"),
            ("Search: choose the database", "remember(); ask('Which database?')"),
        )
    ]
    assert {one["plan_id"] for one in made} == {"PLAN-001"}
    busy, asking = (one["job"]["id"] for one in made)

    runners = [desk.runner(name) for name in ("r1", "r2")]
    until(lambda: bool(desk.trace(busy)) and "question" in desk.kinds(asking), "both at work")
    until(lambda: "live:2" in desk.radar()[0], "both said so")

    head, *rows = desk.radar()
    assert " count=2 runner=live runners=live:2 idle:0 offline:0" in head
    held = {
        e["by"]: job
        for job in (busy, asking)
        for e in desk("jobs.tail", job=job)["events"]
        if e["kind"] == "claimed"
    }
    for name in ("r1", "r2"):
        assert (
            f"runner live {name} | open id=runner:{name} job={held[name]} | open id={held[name]}"
        ) in rows
    for job, title in ((busy, "find the slow query"), (asking, "choose the database")):
        (row,) = [row for row in rows if f" {job} (RUNNING) Search: {title}" in row]
        last = row.split()[0]
        assert last.startswith(f"{job}@")
        assert f"| open id={last}" in row
        assert ("reply reply_job=" in row) == (job == asking)

    # What needs a decision is resolved by the one command on its row.
    desk("jobs.radar", reply_job=asking, reply_message=f"Staging; see {ref}.")
    assert not any(" ? " in row for row in desk.radar())
    desk.open_gate(busy)
    desk.await_status(busy, "DONE")
    assert [runner.stop() for runner in runners] == [0, 0]
    until(lambda: " runner=offline runners=" in desk.radar()[0], "both have left")


def test_a_runner_that_is_told_to_stop_gives_its_job_back_and_says_goodbye(desk: Desk) -> None:
    job = desk.job("remember(os.getpid()); time.sleep(300)")
    runner = desk.runner("r1", heartbeat_ms=60_000)  # its lease would last
    until(lambda: bool(desk.trace(job)), "a child")
    assert runner.stop() == 0
    assert desk.status(job) == "QUEUED"
    assert not alive(int(desk.trace(job)[0]))
    assert "job.released job=JOB-001" in runner.said()
    until(lambda: desk("jobs.radar")["runner_status"]["status"] == "offline", "offline")


def test_a_runner_that_is_killed_takes_its_child_along_and_another_finishes(desk: Desk) -> None:
    ref = desk.note()
    job = desk.job(
        f"remember(os.getpid()); detach(300); "
        f"time.sleep(300) if len(open(STATE / 'trace').readlines()) < 3 else done({ref!r})"
    )
    first = desk.runner("r1", heartbeat_ms=400)
    until(lambda: len(desk.trace(job)) == 2, "a child and a grandchild")
    first.kill()
    until(lambda: not any(alive(int(pid)) for pid in desk.trace(job)[:2]), "the end of the tree")
    desk.runner("r2", heartbeat_ms=400)
    desk.await_status(job, "DONE")
    assert desk.kinds(job).count("reclaimed") == 1


def test_the_slice_of_a_killed_runner_is_counted_and_its_transcript_kept_by_the_next(
    desk: Desk,
) -> None:
    ref = desk.note()
    job = desk.job(
        "emit(type='turn.completed', usage={'input_tokens': 70, 'output_tokens': 7}); remember(); "
        f"time.sleep(300) if len(open(STATE / 'trace').readlines()) < 2 else done({ref!r})"
    )
    first = desk.runner("r1", heartbeat_ms=400)
    until(lambda: bool(desk.trace(job)), "a child")
    kept = desk.served.dir / "slices" / "acme"
    until(lambda: any(b"turn.completed" in f.read_bytes() for f in kept.glob("*.jsonl")), "output")
    first.kill()
    desk.runner("r2", heartbeat_ms=400)
    desk.await_status(job, "DONE")
    until(lambda: "slice_recovered" in desk.kinds(job), "the lost slice")
    used = desk("jobs.open", job=job)["job"]["usage"]
    assert used["input_tokens"] == 70 + 100
    recovered = [e for e in desk("jobs.tail", job=job)["events"] if e["kind"] == "slice_recovered"]
    assert len(recovered) == 1
    assert "turn.completed" in desk("open", id=recovered[0]["refs"][0])["parts"][0]["text"]


def test_a_guard_that_is_killed_takes_its_tree_along_and_the_job_goes_on(desk: Desk) -> None:
    ref = desk.note()
    hidden = "subprocess.Popen(['env', '-i', 'setsid', 'sleep', '300'])"
    job = desk.job(
        f"remember(os.getppid()); remember(os.getpid()); detach(300); "
        f"remember({hidden}.pid); time.sleep(300)",
        f"done({ref!r})",
    )
    other = desk.job("remember(os.getpid()); time.sleep(300)")
    runner = desk.runner("r1", max_parallel=2)
    until(lambda: len(desk.trace(job)) == 4 and bool(desk.trace(other)), "two trees")
    guard, *tree = map(int, desk.trace(job))
    assert all(map(alive, tree))
    os.kill(guard, signal.SIGKILL)
    desk.await_status(job, "DONE")
    assert not any(map(alive, tree))
    (error,) = [e for e in desk("jobs.tail", job=job)["events"] if e["kind"] == "error"]
    assert "the child's guard was killed" in error["message"]
    assert alive(int(desk.trace(other)[0]))
    assert desk.status(other) == "RUNNING"
    runner.stop()


def test_when_runner_and_guard_are_killed_together_the_agent_ends_all_the_same(desk: Desk) -> None:
    job = desk.job("remember(os.getppid()); remember(os.getpid()); time.sleep(300)")
    runner = desk.runner("r1")
    until(lambda: len(desk.trace(job)) == 2, "a child")
    guard, agent = map(int, desk.trace(job))
    runner.signal(signal.SIGSTOP)  # so that it cannot do anything about it
    os.kill(guard, signal.SIGKILL)
    until(partial(_ended, agent), "the end of the agent")
    runner.kill()


def test_a_server_that_vanishes_in_mid_slice_is_found_again(desk: Desk) -> None:
    ref = desk.note()
    job = desk.job(f"remember(); time.sleep(2); done({ref!r})")
    runner = desk.runner("r1", heartbeat_ms=5_000)
    until(lambda: bool(desk.trace(job)), "a child")
    desk.restart()
    desk.await_status(job, "DONE")
    assert desk.trace(job) == ["1"]
    assert runner.process.poll() is None


def test_a_canceled_job_ends_its_child_at_once(desk: Desk) -> None:
    job = desk.job("remember(os.getpid()); time.sleep(300)")
    runner = desk.runner("r1", heartbeat_ms=100_000, slice_s=300)  # neither ends it in time
    until(lambda: bool(desk.trace(job)), "a child")
    desk("jobs.cancel", job=job, reason="not needed")
    runner.await_line("job.lost")
    assert not alive(int(desk.trace(job)[0]))
    assert [kind for kind in desk.kinds(job) if kind not in LATE][-1] == "canceled"


def test_a_runner_that_was_frozen_does_nothing_under_its_lost_claim(desk: Desk) -> None:
    ref = desk.note()
    job = desk.job(
        f"remember(os.getpid()); "
        f"time.sleep(300) if len(open(STATE / 'trace').readlines()) < 2 else done({ref!r})"
    )
    first = desk.runner("r1", heartbeat_ms=400)
    until(lambda: bool(desk.trace(job)), "a child")
    first.signal(signal.SIGSTOP)
    until(lambda: not alive(int(desk.trace(job)[0])), "the end of the child, by its guard")
    desk.runner("r2", heartbeat_ms=400)
    desk.await_status(job, "DONE")
    first.signal(signal.SIGCONT)
    first.await_line("job.lost")
    assert [kind for kind in desk.kinds(job) if kind not in LATE][-1] == "completed"


def test_once_takes_one_job_and_leaves(desk: Desk) -> None:
    ref = desk.note()
    jobs = [desk.job(f"done({ref!r})") for _ in range(2)]
    runner = desk.runner("r1", "--once")
    assert runner.process.wait(40) == 0
    assert [desk.status(job) for job in jobs] == ["DONE", "QUEUED"]
    desk("jobs.cancel", job=jobs[1])
    assert desk.runner("r2", "--once").process.wait(40) == 0


def test_a_runner_without_any_agent_says_so_and_offers_none(desk: Desk) -> None:
    job = desk.job("done()")
    nowhere = {"codex_bin": "/nowhere/codex", "claude_bin": "/nowhere/claude"}
    runner = desk.runner("r1", heartbeat_ms=400, **nowhere)
    runner.await_line("runner.no_agent")
    until(lambda: "runner idle r1" in str(desk.radar()), "its lease", runner.said)
    offers = desk("open", id="runner:r1")["lease"]["offers"]
    assert not any(offers["available"].values()), "advertised as not there"
    assert desk("jobs.open", job=job)["job"]["status"] == "QUEUED"
    assert runner.stop() == 0


def test_a_dry_run_needs_no_cli_and_starts_nothing(desk: Desk) -> None:
    job = desk.job("remember(); done()")
    runner = desk.runner("r1", "--once", "--dry-run", codex_bin="/nowhere/codex")
    assert runner.process.wait(40) == 0
    assert desk.status(job) == "DONE"
    assert desk.trace(job) == []
    assert "checkpoint" in desk.kinds(job)


def test_ten_parallel_jobs_miss_no_heartbeat(desk: Desk) -> None:
    ref = desk.note()
    jobs = [desk.job(f"remember(); {GATE}; done({ref!r})") for _ in range(10)]
    runner = desk.runner("r1", max_parallel=10, heartbeat_ms=2_000)
    until(lambda: all(map(desk.trace, jobs)), "all at work", runner.said)
    for _ in range(2):
        for job, held_until in [(job, _held_until(desk, job)) for job in jobs]:
            until(partial(_is_held_longer, desk, job, held_until), "a renewal", runner.said)
    for job in jobs:
        desk.open_gate(job)
    for job in jobs:
        desk.await_status(job, "DONE")
    assert "heartbeat.refused" not in runner.said()
    assert all("reclaimed" not in desk.kinds(job) for job in jobs)
    assert all(desk.trace(job) == ["1"] for job in jobs)


def _held_until(desk: Desk, job: str) -> int:
    held: int = desk("jobs.open", job=job)["job"]["claim_expires_at_ms"]
    return held


def _is_held_longer(desk: Desk, job: str, than_ms: int) -> bool:
    return _held_until(desk, job) > than_ms


@pytest.fixture
def autostarting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    real = subprocess.Popen

    def with_fake(argv: list[str], **more: Any) -> Any:
        more["env"] = {**environment(tmp_path), "LONGHOUSE_HEARTBEAT_MS": "1000"}
        return real(argv, **more)

    monkeypatch.setattr(subprocess, "Popen", with_fake)
    made = Desk(tmp_path, runner_autostart=True)
    monkeypatch.undo()
    yield made
    for lease in made("jobs.radar")["runner_leases"]["runners"]:
        pid = int(lease["runner_id"].rpartition("-")[2])
        os.kill(pid, signal.SIGTERM)
        until(partial(_ended, pid), "the end of the runner")
    made.close()


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.proves("DEL-008", "DEL-010")
def test_a_queued_job_brings_a_runner_up_and_is_done(autostarting: Desk) -> None:
    desk = autostarting
    ref = desk.note()
    desk("jobs.radar")
    desk("status")
    assert desk("jobs.radar")["runner_status"]["status"] == "offline"
    assert not (desk.base / "programs").exists()
    job = desk.job(f"done({ref!r})")
    desk.await_status(job, "DONE")
    (started,) = (desk.base / "programs").read_text().splitlines()
    assert "subprocess.Popen" in started
    (log,) = (desk.base / ".longhouse" / "runners").glob("*.log")
    until(lambda: "job.ended" in log.read_text(), "the runner's log of the end: ", log.read_text)
