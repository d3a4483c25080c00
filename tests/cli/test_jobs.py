"""A person's way to delegate: `longhouse job` and `longhouse radar`."""

from __future__ import annotations

import time

import pytest

from tests.cli.conftest import Shell


def test_a_job_that_nobody_can_run_yet_says_so(sh: Shell) -> None:
    made = sh("job", "create", "Look", "--prompt", "x", "--executor", "acme.shell").out
    assert "executor: no runner that is alive offers acme.shell; there is none" in made
    slip = sh("job", "create", "Look", "--prompt", "x", "--executor", "claude")
    assert slip.code == 2
    assert "codex, claude_code, auto or a plug-in like acme.shell" in slip.err


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
