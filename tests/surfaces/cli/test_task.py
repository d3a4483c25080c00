"""`longhouse task` on the command line."""

from __future__ import annotations

from tests.surfaces.cli.conftest import Shell


def test_a_task_from_its_first_word_to_its_end(sh: Shell) -> None:
    added = sh("task", "add", "Index the search", "--step", "Measure", "--step", "Index", "--focus")
    assert added.out == "TASK-001 added to PLAN-001 with 2 steps\n"
    assert sh("task", "tree").out.splitlines() == [
        "TASK-001  Index the search (TODO)  " + "░" * 20 + "  0/2 steps",
        "  ○ s:0  Measure  ← next",
        "  ○ s:1  Index",
    ]
    following = sh("task", "next").out.splitlines()
    assert following[1:3] == ["  step       s:0  Measure", "  done when  Measure"]
    assert following[-2] == "next: longhouse task tree TASK-001"
    assert "then close it with proof" in following[-1]
    assert " task=TASK-001 proof=" in following[-1], "whatever is in focus by then"
    sh("call", "tasks.evidence.capture", 'checks=["CMD: make test (exit 0)"]', "checkpoint=tests")
    said = sh("task", "next").out.splitlines()[-2]
    assert said == "next: longhouse task close STEP-00000001 --task TASK-001 --checkpoints gate"
    closed = sh("task", "close", "--proof", "CMD: make test (exit 0)")
    assert closed.out.splitlines() == [
        "TASK-001 s:0 is closed  " + "█" * 10 + "░" * 10 + "  1/2 steps",
        "next: longhouse task next TASK-001",
        "      Confirm checkpoints for s:1",
    ]
    assert sh("task", "done").code == 4
    sh("task", "close", "s:1", "--task", "TASK-001", "--checkpoints", "all")
    assert sh("task", "done").out == "TASK-001 is DONE  Index the search\n"
    assert sh("task", "list").out == "no tasks\n"
    assert "TASK-001  DONE" in sh("task", "list", "--all").out
    shown = sh("task", "show").out
    assert "cmd: make test" in shown
    assert "2/2 steps" in shown


def test_following_what_is_next_closes_nothing_that_nothing_shows(sh: Shell) -> None:
    import shlex

    sh("task", "start", "Rewrite the parser")
    line = ["task", "next"]
    for _ in range(8):
        said = sh(*line).out.splitlines()
        offered = [one for one in said if one.startswith("next: longhouse ")]
        line = shlex.split(offered[0])[2:] if offered else ["task", "next"]
    assert "0/3 steps" in sh("task", "tree").out


def test_the_next_command_that_is_printed_runs(sh: Shell) -> None:
    import shlex

    sh("task", "add", "Plain")
    sh("task", "add", "Urgent", "--priority", "HIGH", "--step", "Look")
    ran = sh("task", "next")
    assert ran.out.splitlines()[1].startswith("TASK-002")
    (line,) = [line for line in ran.out.splitlines() if line.startswith("next: longhouse ")]
    assert (
        sh(*shlex.split(line.removeprefix("next: longhouse "))).out == "TASK-002 is now in focus\n"
    )
    (line,) = [line for line in sh("task", "next").out.splitlines() if line.startswith("next: l")]
    assert sh(*shlex.split(line.removeprefix("next: longhouse "))).code == 0
    (line,) = [
        line for line in sh("task", "add", "Empty").out.splitlines() if line.startswith("next: ")
    ]
    assert sh(*shlex.split(line.removeprefix("next: longhouse "))).out == "TASK-003 has s:0\n"


def test_a_plan_is_shown_with_its_tasks(sh: Shell) -> None:
    sh("task", "add", "One", "--plan", "Search", "--template", "basic-task")
    sh("task", "add", "Two", "--plan", "PLAN-001", "--assignee", "otter")
    lines = sh("task", "tree", "PLAN-001").out.splitlines()
    assert lines[0] == "PLAN-001  Search (TODO)"
    assert lines[1].startswith("  ○ TASK-001  One (TODO)  ░")
    assert lines[2].endswith("no steps")
    assert "TASK-001" not in sh("task", "list", "--who", "otter").out
    assert "TASK-002" in sh("task", "list", "--plan", "PLAN-001", "--ready").out
    steps = sh("task", "step", "TASK-001", "--below", "s:0", "Ask Ann", "Ask Bob")
    assert steps.out == "TASK-001 has s:0.s:0, s:0.s:1\n"
    assert "    ○ s:0.s:0  Ask Ann  ← next" in sh("task", "tree", "TASK-001").out.splitlines()


def test_every_answer_is_json_on_request_and_errors_say_what_to_do(sh: Shell) -> None:
    sh("task", "add", "One", "--step", "a", "--focus")
    for argv in (["list"], ["show"], ["tree"], ["next"], ["close"], ["done"]):
        ran = sh("task", *argv, "--json")
        assert (ran.code, ran.json["ok"]) == (0, True), argv
    refused = sh("task", "show", "TASK-099", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (3, "UNKNOWN_ID")
    assert refused.json["error"]["next"]
    people = sh("task", "close")
    assert people.code == 2
    assert "has no open step" in people.err


def test_work_is_started_in_one_go_and_shown(sh: Shell) -> None:
    started = sh("task", "start", "Find the slow query", "--plan", "Search").out
    assert "TASK-001 started in PLAN-001 with 3 steps; it is now in focus" in started
    assert "○ s:0" in started
    assert "← next" in started
    sh("task", "start", "Mend it", "--step", "Measure")
    assert sh("task", "next").out.startswith("TASK-002  Mend it")


def test_one_step_is_one_step(sh: Shell) -> None:
    assert sh("task", "add", "Look", "--step", "a").out.endswith(" with 1 step\n")
