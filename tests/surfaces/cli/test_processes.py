"""Background processes from the command line; the test acts as the runner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.tool_tasks import task_folder
from tests.kit import Lh, ManualClock
from tests.processes.kit import Runner, ended, out, running
from tests.surfaces.cli.conftest import Shell


@pytest.fixture
def house(sh: Shell) -> Iterator[Lh]:
    """The store of the repository, as its runner sees it; everything is allowed."""
    assert sh("policy", "allow", "exec").code == 0
    assert sh("policy", "allow", "bash").code == 0
    with House(load({"dir": str(sh.dir), "workspace": "acme"}, environ={})) as opened:
        yield Lh(opened, ManualClock())


def play(lh: Lh, *frames: dict[str, Any]) -> threading.Thread:
    """A runner that waits for one task and reports these frames for it."""
    runner = Runner(lh)
    runner.hold()

    def run() -> None:
        fence = {"revision": runner.revision, **runner.me}
        while not lh("tool.task_watch", timeout_ms=5_000, **fence)["waiting"]:
            pass
        (work,) = runner.claim()
        for frame in frames:
            runner.append(work["task_id"], frame)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.proves("TTA-001")
def test_run_shows_what_a_program_prints_and_ends_with_its_code(sh: Shell, house: Lh) -> None:
    printed = (out(0, "one\n"), out(0, "bad\n", "stderr"), out(4, "two\n"))
    story = play(house, running(), *printed, ended(exit_code=3))
    ran = sh("run", "--", "make", "test")
    story.join(60)
    assert (ran.code, ran.out, ran.err) == (3, "one\ntwo\n", "bad\n")


@pytest.mark.parametrize(
    "end, code",
    [
        (ended("exited", None, signal="KILL"), 137),
        (ended("failed", None, error="spawn failed: no such program"), 1),
        (ended("exited", None, cause="host_lost"), 1),
    ],
)
def test_run_answers_as_a_shell_would(sh: Shell, house: Lh, end: dict, code: int) -> None:
    story = play(house, running(), end)
    ran = sh("run", "-c", "make test")
    story.join(60)
    assert ran.code == code
    assert ("no such program" in ran.err) == ("error" in end)


def test_output_past_the_budget_of_frames_is_read_from_the_log(sh: Shell, house: Lh) -> None:
    text = "".join(f"line {n}\n" for n in range(9_000))
    folder = task_folder(sh.dir, "acme", "PROC-001")
    folder.mkdir(parents=True, mode=0o700)
    (folder / "stdout.log").write_text(text)
    size = len(text)
    reference = {"type": "tool_stdout", "offset_bytes": 0, "bytes": size}
    story = play(house, running(), reference, ended())
    ran = sh("run", "--", "make")
    story.join(60)
    assert (ran.code, ran.out) == (0, text)
    assert sh("logs", "PROC-001", "-n", "2").out == "line 8998\nline 8999\n"
    assert sh("logs", "PROC-001", "--follow").out == text
    assert sh("logs", "PROC-001", "-f", "-n", "2").out == "line 8998\nline 8999\n"
    assert sh("logs", "PROC-001", "-f", "--stream", "stderr").out == ""


@pytest.mark.proves("TTA-001")
def test_a_detached_program_is_listed_found_by_name_and_cancelled(sh: Shell, house: Lh) -> None:
    assert sh("run", "-d", "--name", "dev", "--", "npm", "run", "dev").out == "PROC-001\n"
    assert "PROC-001  queued (1)  dev" in sh("ps").out
    assert sh("ps", "--json").json["data"]["tasks"][0]["args"] == {"argv": ["npm", "run", "dev"]}
    assert sh("cancel", "dev", "--reason", "enough").out == "PROC-001 is cancelled\n"
    assert sh("ps").out == "nothing is running; finished: longhouse ps -a\n"
    assert "cancelled" in sh("ps", "--all").out
    assert sh("top", "--once").out == "nothing is running; finished: longhouse ps -a\n"
    assert "enough" in sh("open", "PROC-001").out


def test_what_policy_forbids_is_refused_with_the_line_that_allows_it(sh: Shell) -> None:
    refused = sh("run", "--", "make", "test")
    assert refused.code == 5
    assert "policy allow exec 'make test'" in refused.err
    assert "no rule allows 'make test'" in sh("logs", "PROC-001").err
    assert sh("cancel", "PROC-001").out == "PROC-001 already failed\n"
    assert "deny by safe.default" in sh("policy", "test", "exec", "--", "make", "test").out
    assert sh("policy", "allow", "exec", "make test").out == "RULE-001 allows exec make test\n"
    assert "allow by RULE-001" in sh("policy", "test", "exec", "--", "make", "test").out
    assert "RULE-001" in sh("policy", "show").out
    assert sh("policy", "withdraw", "RULE-001").out == "RULE-001 is withdrawn\n"
    assert "no rules" in sh("policy", "show").out


def test_a_terminal_that_policy_forbids_is_refused_with_the_line_that_allows_it(sh: Shell) -> None:
    sh("policy", "allow", "exec")
    refused = sh("run", "-d", "--pty", "--", "vim")
    assert "policy allow exec vim --pty --justification 'why'" in refused.err
    words = ("exec", "vim", "--pty", "--justification", "why")
    assert sh("policy", "allow", *words).code == 0
    assert sh("run", "-d", "--pty", "--", "vim").out == "PROC-002\n"


def test_a_terminal_needs_one_here_unless_it_is_left_there(sh: Shell) -> None:
    sh("policy", "allow", "exec", "--pty", "--justification", "why")
    refused = sh("run", "--pty", "--", "vim")
    assert refused.code == 2
    assert "run --pty needs a terminal" in refused.err
    assert "detach it with -d" in refused.err
    assert sh("ps", "--all").out == "no background processes\n"


def test_variables_are_given_by_value_or_taken_from_where_it_runs(sh: Shell, house: Lh) -> None:
    sh("policy", "allow", "env")
    ran = sh("run", "-d", "--env", "CI=1", "--env", "GITHUB_TOKEN", "--json", "--", "make")
    assert ran.code == 0, ran.out
    args = sh("ps", "--json").json["data"]["tasks"][0]["args"]
    assert args["env"]["CI"] == "1"
    (work,) = Runner(house).claim()
    assert work["env"][1] == {"name": "GITHUB_TOKEN", "value": None, "source": "GITHUB_TOKEN"}


def test_run_wants_a_program_or_a_line(sh: Shell) -> None:
    assert "longhouse run -- make test" in sh("run").err
