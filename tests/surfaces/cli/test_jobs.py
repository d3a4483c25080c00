"""Delegating from the command line: `longhouse job` and `longhouse radar`."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from longhouse.surfaces.cli.context import Cli
from tests.surfaces.cli.conftest import Shell


def test_a_job_that_nobody_can_run_yet_says_so(sh: Shell) -> None:
    made = sh("job", "create", "Look", "--prompt", "x", "--executor", "acme.shell").out
    assert "executor: no online runner offers acme.shell; none is online" in made
    slip = sh("job", "create", "Look", "--prompt", "x", "--executor", "cloud 9")
    assert slip.code == 2
    assert "codex, claude_code, auto or a plug-in like acme.shell" in slip.err
    assert "JOB-002" not in sh("job", "list").out


def test_an_executor_under_another_name_is_understood_and_that_is_said(sh: Shell) -> None:
    made = sh("job", "create", "Look", "--prompt", "x", "--executor", "claude")
    assert made.out.splitlines()[:2] == [
        "JOB-001 is queued",
        "understood executor=claude as executor=claude_code",
    ]
    assert sh("job", "show", "JOB-001", "--json").json["data"]["job"]["kind"] == "claude_code"


@pytest.mark.parametrize(
    "waiting, said",
    [
        (
            {"code": "no_runner", "why": "no runner is online", "fix": "longhouse runner start"},
            "it waits: no runner is online; fix: longhouse runner start",
        ),
        (
            {"code": "starting", "why": "the server is starting a runner for it"},
            "the server is starting a runner for it; to watch: longhouse radar --watch",
        ),
    ],
)
def test_a_new_job_says_why_it_waits(
    sh: Shell, monkeypatch: pytest.MonkeyPatch, waiting: dict[str, str], said: str
) -> None:
    made = {"job": {"id": "JOB-001"}, "waiting": waiting}
    answer = SimpleNamespace(result=lambda: made, envelope=None)
    monkeypatch.setattr(Cli, "ask", lambda *_: answer)
    assert sh("job", "create", "Look", "--prompt", "x").out == f"JOB-001 is queued\n{said}\n"


def test_a_wrong_id_is_answered_with_a_right_one_and_the_next_command(sh: Shell) -> None:
    job = sh("job", "show", "job-x").err
    assert job.startswith("longhouse: JOB: expected an id like JOB-001\n")
    assert "   fix  copy an id from longhouse job list\n" in job
    task = sh("task", "show", "TASK-x").err
    assert "expected an id like TASK-001" in task
    assert "   fix  copy an id from longhouse task list\n" in task
    sh("job", "create", "Look", "--prompt", "x")
    assert "  next  longhouse job list\n" in sh("open", "JOB-099").err
    assert "  next  longhouse job tail JOB-001" in sh("open", "JOB-001@99").err


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
    assert "longhouse: --prompt is missing\n" in refused.err
    assert "longhouse: --prompt is missing\n" in sh("job", "create", "Look", "--prompt", "").err
    refused = sh("job", "reply", "JOB-009", "hello")
    assert refused.code == 3
    assert "next  longhouse job list" in refused.err


def test_the_radar_is_a_table_and_says_how_to_answer(sh: Shell) -> None:
    sh("job", "create", "Look", "--prompt", "x", "--task", "TASK-001")
    lines = sh("radar").out.splitlines()
    assert lines[:3] == [
        "1 job; runners: none",
        "   JOB      STATUS  RUNNER  UPDATED   TITLE",
        "   JOB-001  QUEUED  -       just now  Look",
    ]
    assert lines[3] == "JOB-001 waits: no runner is online; fix: longhouse runner start"
    assert "  waits     no runner is online; fix: " in sh("job", "show", "JOB-001").out
    assert "no runner is online; fix" in sh("status").out
    assert "warn  jobs       JOB-001 waits: no runner is online" in sh("doctor").out
    assert sh("radar", "--task", "TASK-002").out.startswith("0 jobs")
    assert sh("radar", "--json").json["data"]["count"] == 1
    sh("call", "jobs.claim", "job=JOB-001", "runner_id=me")
    claim = ("job=JOB-001", "runner_id=me", "claim_revision=1")
    sh("call", "jobs.report", *claim, "kind=question", "message=Which branch?")
    sh("call", "jobs.report", *claim, "message=Looking at the tests meanwhile.")
    lines = sh("radar").out.splitlines()
    assert lines[2].startswith("?  JOB-001  RUNNING  me")
    assert lines[3:5] == ["   Which branch?", "   longhouse job reply JOB-001 'your answer'"]


def test_the_radar_leads_out_of_a_decline_and_of_changes_that_wait(sh: Shell) -> None:
    for n in (1, 2):
        sh("job", "create", f"Look {n}", "--prompt", "x")
        sh("call", "jobs.claim", f"job=JOB-00{n}", "runner_id=r1")
    claim = ("runner_id=r1", "claim_revision=1")
    sh("call", "jobs.runner.heartbeat", "runner_id=r1", "status=idle")
    sh("call", "jobs.release", "job=JOB-001", *claim, "decline=true", "reason=no room")
    done = ("status=DONE", "summary=done", "changes=they do not apply")
    sh("call", "jobs.complete", "job=JOB-002", *claim, *done)
    said = sh("radar").out
    assert "JOB-001 waits: every runner that is online and could run it declined it" in said
    take = "longhouse job apply JOB-002"
    assert f"\n   {take}      or to drop them: {take} --drop\n" in said
    (again,) = [text for text in said.splitlines() if "; then: " in text]
    assert sh(*again.partition("; then: longhouse ")[2].split()).code == 0
    assert "declined it" not in sh("radar").out
    assert sh(*take.split()[1:], "--drop").out == (
        "the changes of JOB-002 are dropped; it is FAILED\n"
    )


def test_the_limits_of_a_job_are_shown(sh: Shell) -> None:
    limits = ("max_tokens=500", "max_cost_usd=1.5", f"deadline_ms={int(time.time() + 7200) * 1000}")
    sh("call", "jobs.create", "title=Look", "prompt=x", *limits)
    shown = sh("job", "show", "JOB-001").out
    assert "limits" in shown
    assert "deadline in 2 hours, at most 500 tokens, at most $1.50\n" in shown


def test_a_job_takes_a_model_a_worktree_and_notes_for_its_runner(sh: Shell) -> None:
    flags = ("--model", "opus", "--isolation", "worktree", "--meta", "depth=3", "--meta", "why=x")
    assert sh("job", "create", "Look", "--prompt", "x", *flags).code == 0
    made = sh("call", "jobs.open", "job=JOB-001", "include_meta=true").json["result"]
    noted = {"executor_model": "opus", "isolation": "worktree", "depth": 3, "why": "x"}
    assert made["meta"].items() >= noted.items()


def test_a_watched_radar_shows_each_change_once(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(4))

    def pause(_: float) -> None:
        if next(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", pause)
    sh("job", "create", "Look", "--prompt", "x")
    ran = sh("radar", "--watch")
    assert ran.code == 0
    assert ran.out.count("1 job;") == 1
