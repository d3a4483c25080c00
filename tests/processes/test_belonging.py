"""Who owns a background process, what ends it, and what it proves."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from longhouse.store.maintenance import run_once
from tests.kit import Lh
from tests.processes.kit import Runner, allow, ended, out, spawned


def loop(lh: Lh, name: str) -> None:
    (found,) = [one for one in lh.house.registry.loops if one.name == f"processes.{name}"]
    run_once(lh.house.db, found, "acme", lh.house._call)
    assert lh.house.db.settle(30)


def status(lh: Lh, task_id: str) -> dict[str, Any]:
    task: dict[str, Any] = lh("tool.task_status", task_id=task_id)["task"]
    return task


def test_a_task_says_who_started_it_and_for_what(lh: Lh) -> None:
    lh("jobs.create", title="Ship", prompt="ship it")
    lh("jobs.claim", job="JOB-001", runner_id="r")
    task_id = spawned(lh, job="JOB-001", step="step:1", agent_id="amber-otter")
    task = status(lh, task_id)
    assert (task["agent_id"], task["job"], task["step"]) == ("amber-otter", "JOB-001", "step:1")
    assert task["lifetime"] == "job"
    assert [t["task_id"] for t in lh("tool.task_list", agent="amber-otter")["tasks"]] == [task_id]
    assert [t["task_id"] for t in lh("tool.task_list", job="JOB-001")["tasks"]] == [task_id]


@pytest.mark.proves("TTA-018")
def test_a_task_ends_with_its_job_or_outlives_it_as_its_spec_says(lh: Lh) -> None:
    lh("jobs.create", title="Ship", prompt="ship it")
    lh("jobs.claim", job="JOB-001", runner_id="r")
    bound = spawned(lh, job="JOB-001")
    free = spawned(lh, job="JOB-001", lifetime="workspace", name="dev-server")
    runner = Runner(lh)
    running = runner.start(job="JOB-001")
    loop(lh, "end_with_their_jobs")
    assert status(lh, running)["cancel_reason"] is None
    lh("jobs.cancel", job="JOB-001", reason="enough")
    loop(lh, "end_with_their_jobs")
    assert status(lh, running)["cancel_reason"] == "JOB-001 has ended"
    assert status(lh, bound)["cancel_reason"] == "JOB-001 has ended"
    assert lh("tool.task_status", name="dev-server")["task"]["task_id"] == free
    assert status(lh, free)["cancel_reason"] is None


@pytest.mark.proves("TTA-022")
def test_a_task_that_goes_on_keeps_no_agent_and_no_job_alive(lh: Lh) -> None:
    lh("agents.register", name="amber-otter", role="ui")
    job = lh("jobs.create", title="Ship", prompt="ship it")["job"]["id"]
    lh("jobs.claim", job=job, runner_id="r", lease_ttl_ms=60_000)
    runner = Runner(lh)
    task_id = runner.start(job=job, lifetime="workspace", agent_id="amber-otter")
    for n in range(10):
        lh.clock.advance(3_600_000)
        runner.append(task_id, out(2 * n, "x\n"))
    (agent,) = lh("agents.list")["agents"]
    assert agent["liveness"] == "evicted"
    assert lh("jobs.claim", job=job, runner_id="another", allow_stale=True)["job"]["id"] == job
    assert status(lh, task_id)["status"] == "running"


def test_nobody_starts_a_task_for_a_job_that_is_another_runners(lh: Lh) -> None:
    allow(lh)
    lh("jobs.create", title="Ship", prompt="ship it")
    lh("jobs.claim", job="JOB-001", runner_id="r")
    args = {"tool": "bash", "args": {"command": "ls"}, "job": "JOB-001"}
    answer = lh.house.call("tool.task_spawn", args, Caller(Role.AGENT, owner="stranger"))
    assert answer.code == "FORBIDDEN"


def test_a_task_whose_host_is_never_heard_again_ends_with_that_cause(lh: Lh) -> None:
    runner = Runner(lh)
    running, waiting = runner.start(), spawned(lh)
    runner.claim()
    lh.clock.advance(24 * 3_600_000)
    loop(lh, "give_up_lost_hosts")
    assert status(lh, running)["status"] == "running"
    lh.clock.advance(1)
    loop(lh, "give_up_lost_hosts")
    task = status(lh, running)
    assert (task["status"], task["exit_code"], task["cause"]) == ("exited", None, "host_lost")
    assert status(lh, waiting)["status"] == "failed"
    assert "does not speak for the host" in runner.refused(running, ended())["message"]


def test_open_shows_a_process_its_frames_and_the_end_of_its_output(lh: Lh) -> None:
    task_id = Runner(lh).start()
    shown = lh("open", id=task_id)
    assert (shown["kind"], shown["task"]["status"]) == ("process", "running")
    assert shown["frames"][0]["type"] == "tool_task_spawned"
    one = lh("open", id=shown["frames"][2]["id"])
    assert [frame["seq"] for frame in one["frames"]] == [2]
    assert lh.refused("open", id="PROC-999")["code"] == "UNKNOWN_ID"
    assert lh.refused("open", id=f"{task_id}@9999")["code"] == "UNKNOWN_ID"


@pytest.mark.parametrize("code, proves", [(0, True), (1, False)])
def test_a_process_is_a_receipt_of_what_it_ran_and_how_it_ended(
    lh: Lh, code: int, proves: bool
) -> None:
    runner = Runner(lh)
    task_id = runner.start()
    digest = "a" * 64
    seal = {"bytes_total": 5, "bytes_stored": 5, "sha256": digest}
    runner.append(task_id, ended(exit_code=code, logs={"stdout": seal}))
    lh("tasks.macro.start", task_title="Prove it", plan_title="P", steps=["One"])
    answer = lh.envelope(
        "tasks.evidence.capture", task="TASK-001", checks=[f"TOOL: {task_id}"], checkpoint="tests"
    )
    assert answer["success"], answer["error"]
    weak = [one for one in answer["warnings"] if one["code"] == "PROOF_WEAK"]
    assert bool(weak) is not proves
    lh("jobs.create", title="Ship", prompt="ship it", require_proof=True)
    lh("jobs.claim", job="JOB-001", runner_id="r")
    args = {"job": "JOB-001", "runner_id": "r", "claim_revision": 1, "status": "DONE"}
    done = lh.envelope("jobs.complete", summary="done", refs=[task_id], **args)
    assert done["success"] is proves, done["error"]


def test_a_task_says_whether_whoever_looks_may_tell_it_what_to_do(lh: Lh) -> None:
    allow(lh)
    mine = Caller(Role.AGENT, owner="token-7")
    args = {"tool": "bash", "args": {"command": "make"}}
    assert lh.house.call("tool.task_spawn", args, mine).success
    others = [Caller(Role.AGENT, owner="token-8"), Caller(Role.MANAGER, owner="token-9")]
    for caller, may in zip([mine, *others], [True, False, True], strict=True):
        shown = lh.house.call("tool.task_list", {}, caller).envelope["result"]["tasks"]
        assert [task["yours"] for task in shown] == [may]


@pytest.mark.parametrize(
    "cmd, args",
    [
        ("tool.task_write_stdin", {"keys": ["y", "Enter"]}),
        ("tool.task_resize", {"rows": 10, "cols": 20}),
        ("tool.task_signal", {"signal": "INT"}),
        ("tool.task_cancel", {}),
    ],
)
def test_only_who_started_a_task_or_a_manager_controls_it(
    lh: Lh, cmd: str, args: dict[str, Any]
) -> None:
    task_id = Runner(lh).start(execution_mode="pty")
    asked = {"task_id": task_id, **args}
    stranger = Caller(Role.AGENT, owner="token-8")
    refused = lh.house.call(cmd, asked, stranger)
    assert refused.code == "FORBIDDEN"
    assert "was started with another token" in refused.envelope["error"]["message"]
    assert Runner(lh).hold()["ops"] == []
    assert lh.house.call(cmd, asked, Caller(Role.MANAGER, owner="token-9")).success
