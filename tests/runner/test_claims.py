"""A runner and its claims: how it takes a job, loses it, gives it back, goes on with it, leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from longhouse.runner.loop import Runner
from tests.runner.kit import Rig, own_signals
from tests.runner.processes import alive, until

MakeRig = Callable[..., Rig]


@pytest.mark.proves("DEL-069", "DEL-086", "DEL-064")
def test_a_runner_says_who_it_is_lists_the_queue_and_claims_one_of_it(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job(f"done({ref!r})")
    with own_signals():
        assert Runner(rig.means, once=True).run() == 0

    assert rig.status(job) == "DONE"
    cmds = [cmd for cmd, _ in rig.wire.calls]
    assert cmds[0] == "jobs.runner.heartbeat"
    listed = rig.wire.calls[cmds.index("jobs.list")][1]
    assert listed["status"] == "QUEUED"
    assert cmds.index("jobs.list") < cmds.index("jobs.claim")
    ids = {args["runner_id"] for _, args in rig.wire.calls if "runner_id" in args}
    assert ids == {"r1"}


def test_a_runner_that_only_attaches_leaves_when_no_server_is_there(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.loop.GONE_S", 0.05)
    monkeypatch.setattr("longhouse.runner.loop.REST_S", 0.02)
    rig.wire.away = True
    with own_signals():
        assert Runner(rig.means, attach=True).run() == 0
    assert rig.told("runner.left") == [{"why": "no server is there"}]
    assert rig.told("runner.ready") == []


def test_a_lost_claim_ends_the_child_and_nothing_is_reported_under_it(rig: Rig) -> None:
    job = rig.job("remember(os.getpid()); time.sleep(300)")
    work = rig.claim(job)
    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: bool(rig.trace(job)))
    rig("jobs.cancel", job=job)
    before = len(rig.events(job))
    work.lose("it is CANCELED")
    thread.join(20)

    assert rig.status(job) == "CANCELED"
    assert len(rig.events(job)) == before
    assert not alive(int(rig.trace(job)[0]))
    assert rig.told("job.lost") == [{"job": job, "why": "it is CANCELED"}]


def test_a_lease_that_nobody_renews_ends_the_child_before_others_may_have_the_job(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(heartbeat_ms=300)
    ref = rig.note()
    job = rig.run("remember(os.getpid()); time.sleep(300)", f"done({ref!r})")

    assert rig.status(job) == "DONE"  # nobody else wanted it
    assert not alive(int(rig.trace(job)[0]))
    assert "its lease could not be renewed" in rig.prompt(job, 2)
    assert rig.events(job, "error") == []


def test_a_runner_that_stops_gives_its_job_back(rig: Rig) -> None:
    job = rig.job("remember(os.getpid()); time.sleep(300)")
    work = rig.claim(job)
    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: bool(rig.trace(job)))
    work.stop()
    thread.join(20)

    assert rig.status(job) == "QUEUED"
    assert rig.messages(job, "released") == ["the runner is stopping"]
    assert not alive(int(rig.trace(job)[0]))


def test_a_job_taken_over_goes_on_in_its_session(rig: Rig) -> None:
    ref = rig.note()
    job = rig.job("go_on(); remember()", f"done({ref!r})")
    work = rig.claim(job)

    def stop_after_the_first(cmd: str, args: dict[str, str]) -> None:
        if cmd == "jobs.report" and "slice 2 starts" in args["message"]:
            work.stop()

    rig.wire.on_call = stop_after_the_first
    work()
    assert rig.status(job) == "QUEUED"
    rig.wire.on_call = lambda _cmd, _args: None
    thread = rig.view(job)["runtime"]["session"]["id"]
    rig.claim(job)()
    assert rig.argv(job, 1)[:3] == ["exec", "resume", thread]


def test_the_rounds_of_proof_are_counted_on_when_a_job_is_taken_over(make_rig: MakeRig) -> None:
    rig = make_rig(max_proof_rounds=2)
    job = rig.job("done()")
    work = rig.claim(job)

    def stop_after_the_first(cmd: str, args: dict[str, str]) -> None:
        if cmd == "jobs.report" and "slice 2 starts" in args["message"]:
            work.stop()

    rig.wire.on_call = stop_after_the_first
    work()
    rig.wire.on_call = lambda _cmd, _args: None
    rig.claim(job)()
    assert rig.status(job) == "FAILED"
    rounds = [message.partition("(")[2][:12] for message in rig.messages(job, "proof_gate")]
    assert rounds == ["round 1 of 2", "round 2 of 2"]


def test_a_job_that_is_run_again_has_its_time_its_rounds_and_its_session_anew(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(max_runtime_s=1)
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
            work.stop()

    rig.wire.on_call = stop
    work()
    assert rig.status(job) == "QUEUED"
    assert rig.view(job)["runtime"].keys() == {"ran_s", "session", "summary"}


def test_a_runner_leaves_although_the_server_vanished_while_it_claimed(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.loop.CLAIM_S", 0.05)
    job = rig.job("done('notes@1')")
    runner = Runner(rig.means)

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
