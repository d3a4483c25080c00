"""A person's way to delegate: `longhouse job` and `longhouse radar`."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from longhouse.surfaces.cli.context import Cli
from tests.surfaces.cli.conftest import Shell


def test_a_job_that_nobody_can_run_yet_says_so(sh: Shell) -> None:
    made = sh("job", "create", "Look", "--prompt", "x", "--executor", "acme.shell").out
    assert "executor: no runner that is alive offers acme.shell; there is none" in made
    slip = sh("job", "create", "Look", "--prompt", "x", "--executor", "claude")
    assert slip.code == 2
    assert "codex, claude_code, auto or a plug-in like acme.shell" in slip.err


@pytest.mark.parametrize(
    "enabled, said",
    [
        (False, "no runner is there; start one: longhouse runner --dir d"),
        (True, "the server starts a runner for it; look on with: longhouse radar --watch"),
    ],
)
def test_a_new_job_says_who_starts_its_runner(
    sh: Shell, monkeypatch: pytest.MonkeyPatch, enabled: bool, said: str
) -> None:
    made = {
        "job": {"id": "JOB-001"},
        "runner_autostart": {"enabled": enabled},
        "runner_bootstrap": {"cmd": "longhouse runner --dir d"},
    }
    answer = SimpleNamespace(result=lambda: made, envelope=None)
    monkeypatch.setattr(Cli, "ask", lambda *_: answer)
    assert sh("job", "create", "Look", "--prompt", "x").out == f"JOB-001 is queued\n{said}\n"


def test_a_wrong_id_is_answered_with_a_right_one_and_the_next_command(sh: Shell) -> None:
    job = sh("job", "show", "job-1").err
    assert job.startswith('longhouse: job: expected an id like JOB-001\n   fix  job="JOB-001"\n')
    task = sh("task", "show", "TASK-7").err
    assert "expected an id like TASK-001 or PLAN-001" in task
    assert '   fix  target="TASK-001"\n' in task
    sh("job", "create", "Look", "--prompt", "x")
    assert "  next  longhouse call jobs.list\n" in sh("open", "JOB-099").err
    assert "  next  longhouse call jobs.tail " in sh("open", "JOB-001@99").err


def test_the_status_of_runners_names_whose_trouble_it_is(sh: Shell) -> None:
    sh("call", "jobs.runner.heartbeat", "runner_id=r1", "status=live", "active_job_id=JOB-001")
    assert sh("runner", "status").out.endswith("r1, JOB-001: active job unknown\n")


def test_a_job_from_the_terminal_from_its_creation_to_its_second_run(sh: Shell) -> None:
    made = sh("job", "create", "Look", "--prompt", "Look at it.", "--priority", "high")
    assert made.code == 0
    assert made.out.startswith("JOB-001 is queued\n")
    sh("job", "create", "Then", "--prompt", "-", "--after", "JOB-001", stdin="Go on.")
    assert "Go on." in sh("job", "show", "JOB-002", "--include-prompt").out
    listed = sh("job", "list").out.splitlines()
    assert listed[0].split() == ["ID", "STATUS", "PRIORITY", "RUNNER", "UPDATED", "TITLE"]
    assert listed[2].startswith("JOB-001  QUEUED  HIGH")
    sh("call", "jobs.claim", "runner_id=r1")
    fence = ("job=JOB-001", "runner_id=r1", "claim_revision=1")
    sh("call", "jobs.report", *fence, "message=which one?", "kind=question")
    assert "needs manager" in sh("job", "show", "JOB-001").out
    assert sh("job", "reply", "JOB-001", "the first").out == "JOB-001 is RUNNING (JOB-001@5)\n"
    assert "manager  the first" in sh("job", "tail", "JOB-001").out
    assert sh("job", "cancel", "JOB-001", "--reason", "enough").code == 0
    assert sh("job", "requeue", "JOB-001").out.startswith("JOB-001 is QUEUED")
    assert sh("job", "list", "--json").json["data"]["count"] == 2


def test_following_a_job_ends_with_the_job(sh: Shell) -> None:
    sh("job", "create", "Look", "--prompt", "x")
    sh("job", "cancel", "JOB-001")
    out = sh("job", "tail", "JOB-001", "--follow").out
    assert out.splitlines()[-1].split()[:2] == ["JOB-001@2", "canceled"]


def test_what_is_wrong_is_said_with_what_to_do(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    refused = sh("job", "create", "Look")
    assert refused.code == 2
    assert "--prompt" in refused.err
    refused = sh("job", "reply", "JOB-009", "hello")
    assert refused.code == 3
    assert "next  longhouse call jobs.list" in refused.err


def test_the_radar_prints_the_lines_of_the_contract(sh: Shell) -> None:
    sh("job", "create", "Look", "--prompt", "x", "--task", "TASK-001")
    lines = sh("radar").out.splitlines()
    assert lines[0] == "jobs_radar count=1 runner=offline runners=none"
    assert lines[1].startswith("CMD: longhouse runner ")
    assert lines[2] == "JOB-001@1 JOB-001 (QUEUED) Look | open id=JOB-001@1"
    assert sh("radar", "--task", "TASK-002").out.startswith("jobs_radar count=0")
    assert sh("radar", "--json").json["data"]["count"] == 1


def test_a_watched_radar_shows_each_change_once(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(4))

    def pause(_: float) -> None:
        if next(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", pause)
    sh("job", "create", "Look", "--prompt", "x")
    ran = sh("radar", "--watch")
    assert ran.code == 0
    assert ran.out.count("jobs_radar") == 1
