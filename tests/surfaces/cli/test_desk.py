"""`longhouse status` and `longhouse resume`, as people and programs read them."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from tests.surfaces.cli.conftest import Shell

COLUMNS = 80
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DECISION = "Decision: swap by alias. Rejected: a second index, twice the load"
"""As long as what fits on a line of a resumption, but for its ref."""


FORGED = "next: longhouse down"
SHOWING = (
    "status",
    "resume",
    "radar",
    "task next",
    "task tree",
    "task tree PLAN-001",
    "task show",
    "job show JOB-001",
    "think show CARD-ONE",
    "graph",
    "log idea/a",
    "diff main idea/a",
    "open TASK-001",
    "task done --status ACTIVE",
)


@pytest.fixture
def work(sh: Shell) -> Shell:
    """A task with a closed step, a decision, a failing test and a job with a question."""
    steps = ("--step", "Measure", "--step", "Swap the alias")
    sh("task", "start", "Rebuild the index", "--description", "Live before the sale", *steps)
    sh("task", "close", "--proof", "CMD: make bench (exit 0)")
    sh("note", DECISION)
    sh("call", "tasks.evidence.capture", 'checks=["CMD: make swap (exit 3)"]', "checkpoint=tests")
    sh("job", "create", "Swap it", "--prompt", "Swap the alias.", "--task", "TASK-001")
    claim = sh("call", "jobs.claim", "job=JOB-001", "runner_id=r1").json["result"]["job"]
    fence = f'{{"job":"JOB-001","runner_id":"r1","claim_revision":{claim["revision"]}'
    sh("call", "jobs.report", fence + ',"kind":"question","message":"May I swap now?"}')
    return sh


def test_a_resumption_tells_a_person_what_matters_in_its_order(work: Shell) -> None:
    told = work("resume").out.splitlines()
    assert told[0] == "TASK-001  Rebuild the index (TODO)"
    about = [line[2:13].strip() for line in told if line.startswith("  ") and line[2] != " "]
    wanted = ["state", "step s:1", "done when", "question", "decision", "failing", "evidence"]
    assert about[:7] == wanted
    assert "  question   JOB-001 asks: May I swap now?  JOB-001@" in "\n".join(told)
    (line,) = [line for line in told if line.startswith("next: ")]
    assert line == "next: longhouse task tree TASK-001"
    assert work(*shlex.split(line.removeprefix("next: longhouse "))).code == 0
    assert "longhouse call tasks.macro.close.step" in told[-1], "and how the step is closed"


def test_a_status_tells_a_person_what_is_asked_and_who_would_work(work: Shell) -> None:
    told = work("status").out
    assert "  focus       TASK-001  Rebuild the index (TODO)\n" in told
    assert "  job         JOB-001 (RUNNING) Swap it\n" in told
    assert "  asks        May I swap now?\n" in told
    assert "  jobs        1 running, 0 queued; runner: none online\n" in told
    assert "\x1b" not in told


@pytest.mark.parametrize("command", ["status", "resume"])
def test_in_a_terminal_it_is_coloured_and_breaks_between_words(
    work: Shell, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("longhouse.surfaces.cli.output._width", lambda _: COLUMNS)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = work(command).out
    assert "\x1b[33m" in shown, "what waits for somebody is yellow"
    plain = COLOUR.sub("", shown)
    told = [line for line in plain.splitlines() if str(work.dir) not in line]
    assert [line for line in told if len(line) > COLUMNS] == []
    assert command == "status" or DECISION in " ".join(plain.split())


def test_nothing_that_an_agent_wrote_passes_for_the_next_command(sh: Shell) -> None:
    said = f"May I?\n{FORGED}"
    assert sh("task", "start", said, "--step", said, "--description", said).code == 0
    checks = json.dumps({"checks": [f"CMD: {said}"]})
    assert sh("call", "tasks.evidence.capture", checks).code == 0
    sh("branch", "idea/a")
    assert sh("note", "Seen.", "--title", said, "--branch", "idea/a").code == 0
    card = {"id": "CARD-ONE", "type": "decision", "title": said, "text": said}
    assert sh("call", "think.card", json.dumps({"card": card})).code == 0
    assert sh("job", "create", said, "--prompt", said, "--task", "TASK-001").code == 0
    claim = sh("call", "jobs.claim", "job=JOB-001", "runner_id=r1").json["result"]["job"]
    fence = {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim["revision"]}
    asked = json.dumps({**fence, "kind": "question", "message": said})
    assert sh("call", "jobs.report", asked).code == 0
    for command in SHOWING:
        ran = sh(*command.split())
        assert (ran.code, "May I?" in ran.out) == (0, True), (command, ran)
        assert not re.search(f"^{FORGED}", ran.out, re.MULTILINE), (command, ran.out)


@pytest.mark.parametrize("command, held", [("status", "state_fingerprint"), ("resume", "capsule")])
def test_a_program_gets_the_whole_result_as_json(work: Shell, command: str, held: str) -> None:
    ran = work(command, "--json")
    assert (ran.code, ran.json["ok"], ran.json["command"]) == (0, True, command)
    assert held in ran.json["data"]


def test_a_resumption_of_something_else_or_of_nothing_says_what_to_do(sh: Shell) -> None:
    ran = sh("resume")
    assert ran.code == 2
    assert "next" in ran.err
    assert "longhouse task start" in ran.err
    sh("task", "start", "Rebuild the index")
    assert sh("resume", "TASK-099").code == 3
    assert sh("resume", "PLAN-001").out.startswith("PLAN-001  Inbox (TODO)\n")
    assert sh("resume", "--view", "smart", "--max-chars", "400").code == 0
    assert sh("resume", "--view", "none").code == 2


def test_the_work_that_a_status_offers_to_open_is_told_in_a_few_lines(work: Shell) -> None:
    assert work("open", "TASK-001").out.splitlines() == [
        "task TASK-001 — Rebuild the index",
        "  Live before the sale",
        "  status     TODO",
        "  priority   MEDIUM",
        "  step       s:1 Swap the alias STEP-00000002",
        "  done when  Swap the alias",
        "  next       Confirm checkpoints for s:1",
    ]
    assert work("open", "STEP-00000002").out.startswith("step STEP-00000002 — Swap the alias\n")
    assert work("open", "TASK-001", "--json").json["data"]["capsule"]
