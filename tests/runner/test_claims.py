"""A runner and its claims: how it takes, loses, returns and continues a job, and leaves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from longhouse.executors.codex import Codex
from longhouse.executors.installed import built_in
from longhouse.runner.heartbeat import MOST_CALLS, ActiveJobs, Heartbeat, JobListener
from longhouse.runner.loop import Runner, offers_of
from tests.runner.kit import Rig, own_signals, resumed
from tests.runner.processes import alive, until

MakeRig = Callable[..., Rig]


@pytest.mark.proves("DEL-027", "DEL-069", "DEL-086")
def test_a_runner_says_who_it_is_lists_the_queue_and_claims_one_of_it(make_rig: MakeRig) -> None:
    rig = make_rig(max_parallel=3, sandbox="read-only")
    ref = rig.note()
    job = rig.job(f"done({ref!r})")
    with own_signals():
        assert Runner(rig.context, once=True).run() == 0

    assert rig.status(job) == "DONE"
    cmds = [cmd for cmd, _ in rig.wire.calls]
    assert cmds[0] == "jobs.runner.heartbeat"
    listed = rig.wire.calls[cmds.index("jobs.list")][1]
    assert listed["status"] == "QUEUED"
    assert cmds.index("jobs.list") < cmds.index("jobs.claim")
    ids = {args["runner_id"] for _, args in rig.wire.calls if "runner_id" in args}
    assert ids == {"r1"}
    assert rig("open", id="runner:r1")["lease"]["offers"] == {
        "executors": ["codex"],
        "available": {"codex": True},
        "profiles": {"codex": ["fast", "deep", "audit"]},
        "supports_artifacts": ["report", "diff", "patch", "bench", "docs_update"],
        "max_parallel": 3,
        "sandbox_policy": "read-only",
    }
    assert offers_of(rig.context)["meta"] == {
        "unsandboxed": [],
        "pid": os.getpid(),
        "heartbeat_ms": 20_000,
        "isolation": rig.context.options.isolation,
        "dry_run": False,
    }


@pytest.mark.proves("DEL-028", "DEL-029")
def test_an_agent_that_is_installed_later_is_offered_with_the_next_heartbeat(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = make_rig()
    context = rig.context._replace(executors={"codex": Codex("codex")})
    context = context._replace(find=partial(built_in, rig.context.options))
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    heartbeat = Heartbeat(context, ActiveJobs(), partial(offers_of, context))
    job = rig.job("done()")

    def beat() -> dict[str, bool]:
        assert heartbeat.beat()
        offers = rig("open", id="runner:r1")["lease"]["offers"]
        assert offers["executors"] == list(offers["available"])
        return dict(offers["available"])

    assert beat() == {"codex": False}
    assert rig("jobs.open", job=job)["waiting"]["code"] == "no_runner"
    assert rig("jobs.wait", runner_id="r1", timeout_ms=0)["timed_out"]
    (programs / "claude").write_text("#!/bin/sh\n")
    (programs / "claude").chmod(0o755)
    assert beat() == {"codex": False, "claude_code": True}
    assert rig("jobs.wait", runner_id="r1", timeout_ms=0)["claimable"]["id"] == job
    assert "waiting" not in rig("jobs.open", job=job)
    (programs / "claude").unlink()
    assert beat() == {"codex": False, "claude_code": False}
    assert rig("jobs.wait", runner_id="r1", timeout_ms=0)["timed_out"]


def test_a_job_claimed_while_others_are_waited_for_is_followed_at_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (rig.claim(rig.job("done()")) for _ in range(3))
    jobs, asked, listen = ActiveJobs(), list[list[str]](), rig.context.plane.listen
    waits, goes_on = threading.Event(), threading.Event()

    def noted(cmd: str, /, **args: Any) -> Any:
        asked.append(args["jobs"])
        if args["jobs"] != [second.job_id]:
            waits.set()
            goes_on.wait(60)
        return listen(cmd, **{**args, "timeout_ms": 0})

    monkeypatch.setattr(rig.context.plane, "listen", noted)
    jobs.add(first)
    JobListener(rig.context, jobs).start()
    assert waits.wait(60)
    rig("jobs.cancel", job=second.job_id)
    jobs.add(second)
    until(lambda: second.control.lost is not None, "the second job is not followed")
    jobs.add(third)
    until(lambda: any(third.job_id in ids for ids in asked), "the third job is not followed")
    for worker in (first, second, third):
        jobs.remove(worker)
    goes_on.set()
    assert asked == [[first.job_id], [second.job_id], [third.job_id]]


def test_the_calls_that_wait_for_jobs_are_bounded_however_many_jobs_run(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server limits the waits per token, and all runners of a store may share one."""
    rig = make_rig(max_parallel=20)
    workers = [rig.claim(rig.job("done()")) for _ in range(MOST_CALLS + 2)]
    ids = [worker.job_id for worker in workers]
    jobs, asked = ActiveJobs(), list[list[str]]()
    one_returns, over = threading.Event(), threading.Event()

    def waits(_cmd: str, /, **args: Any) -> Any:
        asked.append(args["jobs"])
        (one_returns if args["jobs"] == ids[:1] else over).wait(60)
        return {"events": [], "jobs": [], "next_cursor": 0}

    monkeypatch.setattr(rig.context.plane, "listen", waits)
    JobListener(rig.context, jobs).start()
    for worker in workers[:MOST_CALLS]:
        jobs.add(worker)
        until(lambda: len(asked) == len(jobs.all()), "a job is not followed")
    for worker in workers[MOST_CALLS:]:
        jobs.add(worker)
    one_returns.set()
    until(lambda: len(asked) > MOST_CALLS, "the last jobs are not followed")
    for worker in workers:
        jobs.remove(worker)
    over.set()
    assert asked[:MOST_CALLS] == [[job] for job in ids[:MOST_CALLS]]
    assert asked[MOST_CALLS] == sorted([ids[0], *ids[MOST_CALLS:]])


@pytest.mark.proves("DEL-064", "DEL-088", "DEL-135")
def test_leases_are_renewed_with_every_heartbeat_long_before_they_run_out(
    make_rig: MakeRig,
) -> None:
    """Three beats on the test's clock, with nothing else happening."""
    rig = make_rig(heartbeat_ms=20_000)
    job = rig.job("done()")
    jobs = ActiveJobs()
    jobs.add(rig.claim(job))
    now, beats = 0.0, list[tuple[float, str, int]]()

    def note(cmd: str, args: dict[str, Any]) -> None:
        if "lease_ttl_ms" in args:
            beats.append((now, cmd, args["lease_ttl_ms"]))

    def sleep(_changed: threading.Event, seconds: float) -> bool:
        nonlocal now
        now += seconds
        if now >= 60:
            heartbeat.stop()
        return False

    rig.wire.on_call = note
    offers = offers_of(rig.context)
    heartbeat = Heartbeat(rig.context, jobs, lambda: offers, clock=lambda: now, wait=sleep)
    heartbeat.run()
    for cmd in ("jobs.runner.heartbeat", "jobs.report"):
        renewals = [(at, ttl) for at, beat, ttl in beats if beat == cmd and at < 60]
        assert renewals == [(0, 60_000), (20, 60_000), (40, 60_000)]


def test_a_heartbeat_that_is_not_heard_is_repeated_soon(make_rig: MakeRig) -> None:
    rig = make_rig(heartbeat_ms=20_000)
    waits: list[float] = []

    def sleep(_changed: threading.Event, seconds: float) -> bool:
        waits.append(seconds)
        rig.wire.away = False
        if len(waits) == 2:
            heartbeat.stop()
        return False

    rig.wire.away = True
    heartbeat = Heartbeat(
        rig.context, ActiveJobs(), partial(offers_of, rig.context), clock=lambda: 0.0, wait=sleep
    )
    heartbeat.run()
    assert waits == [2, 20]


@pytest.mark.parametrize("defective", ["jobs.runner.heartbeat", "jobs.report"])
def test_a_heart_that_met_a_defect_goes_on_beating(make_rig: MakeRig, defective: str) -> None:
    rig = make_rig(heartbeat_ms=20_000)
    jobs, waits, met = ActiveJobs(), list[float](), list[str]()
    workers = [rig.claim(rig.job("done()")) for _ in range(2)]
    for worker in workers:
        jobs.add(worker)

    def break_once(cmd: str, args: dict[str, Any]) -> None:
        if cmd == defective and not met:
            met.append(cmd)
            raise ZeroDivisionError(cmd)
        if cmd == "jobs.report" and len(waits) == 0:
            beats.append(args["job"])

    def sleep(_changed: threading.Event, seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 2:
            heartbeat.stop()
        return False

    beats = list[str]()
    rig.wire.on_call = break_once
    heartbeat = Heartbeat(rig.context, jobs, dict, clock=lambda: 0.0, wait=sleep)
    heartbeat.run()
    assert waits == [2, 20]
    assert [why["why"] for why in rig.told("heartbeat.defect")] == [
        f"ZeroDivisionError({defective!r})"
    ]
    if defective == "jobs.report":  # the other job's claim was renewed all the same
        assert beats == [workers[1].job_id]


def test_a_listener_that_met_a_defect_hears_of_the_next_cancel(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.heartbeat.DEAF_S", 0.01)
    rig = make_rig(max_parallel=1)
    worker = rig.claim(rig.job("done()"))
    jobs, listen, met = ActiveJobs(), rig.context.plane.listen, list[str]()

    def break_often(cmd: str, **args: Any) -> Any:
        if len(met) < MOST_CALLS:
            met.append(cmd)
            raise ZeroDivisionError
        return listen(cmd, **args)

    monkeypatch.setattr(rig.context.plane, "listen", break_often)
    jobs.add(worker)
    JobListener(rig.context, jobs).start()
    until(lambda: len(met) == MOST_CALLS, "every listener met it")
    rig("jobs.cancel", job=worker.job_id)
    until(lambda: worker.control.lost is not None, "the cancel is not heard")
    jobs.remove(worker)


def test_a_change_of_jobs_is_told_at_once_and_renews_no_claim(rig: Rig) -> None:
    jobs = ActiveJobs()
    changes = iter([True, True, False])

    def change(changed: threading.Event, _seconds: float) -> bool:
        told = next(changes)
        if told and not jobs.all():
            jobs.add(rig.claim(rig.job("done()")))
        if not told:
            heartbeat.stop()
        return told

    heartbeat = Heartbeat(
        rig.context, jobs, partial(offers_of, rig.context), clock=lambda: 0.0, wait=change
    )
    heartbeat.run()
    beats = [a["status"] for cmd, a in rig.wire.calls if cmd == "jobs.runner.heartbeat"]
    assert beats == ["idle", "live", "idle"]  # the last one says that it is leaving
    assert not [cmd for cmd, _ in rig.wire.calls if cmd == "jobs.report"]


def test_a_slice_makes_no_call_for_nothing(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(isolation="none")
    ref = rig.note()
    rig.run(f"done({ref!r})")  # a runner fetches the behavior pack once
    rig.wire.calls.clear()
    job = rig.job("go_on()", f"done({ref!r})")
    with own_signals():
        assert Runner(rig.context, once=True).run() == 0
    assert rig.status(job) == "DONE"
    cmds = [cmd for cmd, _ in rig.wire.calls if cmd not in ("jobs.runner.heartbeat", "jobs.wait")]
    beats = [a for cmd, a in rig.wire.calls if cmd == "jobs.report" and a["kind"] == "heartbeat"]
    for _ in beats:
        cmds.remove("jobs.report")
    slice_made = ["jobs.open", "docs.artifact.add", "jobs.report"]
    assert cmds == ["jobs.list", "jobs.claim", *slice_made, *slice_made, "jobs.complete"]


def test_a_runner_that_only_attaches_leaves_when_no_server_is_there(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.loop.GONE_S", 0.05)
    monkeypatch.setattr("longhouse.runner.loop.REST_S", 0.02)
    rig.wire.away = True
    with own_signals():
        assert Runner(rig.context, attach=True).run() == 0
    assert rig.told("runner.left") == [{"why": "no server is running"}]
    assert rig.told("runner.ready") == []


def test_a_lost_claim_ends_the_child_and_nothing_is_reported_under_it(rig: Rig) -> None:
    job = rig.job("remember(os.getpid()); time.sleep(300)")
    work = rig.claim(job)
    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: bool(rig.trace(job)))
    rig("jobs.cancel", job=job)
    before = len(rig.events(job))
    work.control.lose("it is CANCELED")
    thread.join(20)

    assert rig.status(job) == "CANCELED"
    assert len(rig.events(job)) == before
    assert not alive(int(rig.trace(job)[0]))
    assert rig.told("job.lost") == [{"job": job, "why": "it is CANCELED"}]


def test_a_lease_that_nobody_renews_ends_the_child_before_others_may_have_the_job(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(heartbeat_ms=5_000)
    ref = rig.note()
    job = rig.run("remember(os.getpid()); time.sleep(300)", f"done({ref!r})")

    assert rig.status(job) == "DONE"  # no other runner took it
    assert not alive(int(rig.trace(job)[0]))
    assert "its lease could not be renewed" in rig.prompt(job, 2)
    assert rig.events(job, "error") == []


def test_a_runner_that_stops_gives_its_job_back(rig: Rig) -> None:
    job = rig.job("remember(os.getpid()); time.sleep(300)")
    work = rig.claim(job)
    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: bool(rig.trace(job)))
    work.control.stop()
    thread.join(20)

    assert rig.status(job) == "QUEUED"
    assert rig.messages(job, "released") == ["the runner is stopping"]
    assert not alive(int(rig.trace(job)[0]))


def test_a_job_taken_over_goes_on_in_its_session(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job("go_on(); remember()", f"done({ref!r})")
    work = rig.claim(job)

    rig.before_slice(2, work.control.stop)
    work()
    assert rig.status(job) == "QUEUED"
    thread = rig.view(job)["runtime"]["session"]["id"]
    rig.claim(job)()
    assert resumed(rig.argv(job, 1)) == thread


def test_the_rounds_of_proof_are_counted_on_when_a_job_is_taken_over(make_rig: MakeRig) -> None:
    rig = make_rig(max_proof_rounds=2)
    job = rig.job("done()")
    work = rig.claim(job)

    rig.before_slice(2, work.control.stop)
    work()
    rig.claim(job)()
    assert rig.status(job) == "FAILED"
    rounds = [message.partition("(")[2][:12] for message in rig.messages(job, "proof_gate")]
    assert rounds == ["round 1 of 2", "round 2 of 2"]


def test_a_job_that_is_run_again_has_its_time_its_rounds_and_its_session_anew(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(max_runtime_s=10)
    ref = rig.note()
    job = rig.job(f"done({ref!r}) if (STATE / 'again').exists() else time.sleep(60)")
    rig.claim(job)()
    assert rig.status(job) == "FAILED"
    rig("jobs.requeue", job=job)
    (rig.state / job / "again").touch()
    rig.claim(job)()
    assert rig.status(job) == "DONE"
    assert "resume" not in rig.argv(job)


def test_a_job_that_is_run_again_and_then_taken_over_knows_nothing_of_the_attempt_before(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(max_proof_rounds=1)
    job = rig.job("go_on() if (STATE / 'again').exists() else done()")
    rig.claim(job)()
    assert rig.status(job) == "FAILED"
    assert rig.view(job)["runtime"]["gates"] == 1
    rig("jobs.requeue", job=job)
    (rig.state / job / "again").touch()
    work = rig.claim(job)

    def stop(cmd: str, args: dict[str, str]) -> None:
        if cmd == "jobs.report" and "slice 1 ended" in args["message"]:
            work.control.stop()

    rig.wire.on_call = stop
    work()
    assert rig.status(job) == "QUEUED"
    assert rig.view(job)["runtime"].keys() == {"counted", "ran_s", "session", "summary"}


def test_a_runner_leaves_although_the_server_vanished_while_it_claimed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.loop.CLAIM_S", 0.05)
    job = rig.job("done('notes@1')")
    runner = Runner(rig.context)

    def vanish(cmd: str, _args: dict[str, str]) -> None:
        if cmd == "jobs.claim":
            rig.wire.away = True
            runner.leave("SIGTERM")

    rig.wire.on_call = vanish
    with own_signals():
        assert runner.run() == 0
    rig.wire.away = False
    rig.wire.on_call = lambda _cmd, _args: None
    assert rig.status(job) == "QUEUED"
    assert [facts["code"] for facts in rig.told("claim.refused")] == ["OUTCOME_UNKNOWN"]
