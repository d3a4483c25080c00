"""What goes wrong with background processes, and the exact outcome of each."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.host.kit import BOMB, lives
from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk

COUNT = "n=0; until [ -e stop ]; do echo line $((n++)); sleep 0.01; done"


def checked_stream(desk: TaskDesk, task: str) -> list[dict[str, Any]]:
    """The frames, after checking the invariants of every stream of frames."""
    frames = desk.frames(task)
    assert [frame["seq"] for frame in frames] == list(range(len(frames)))
    assert frames[0]["type"] == "tool_task_spawned"
    assert frames[-1]["type"] == "tool_task_status"
    at = {"stdout": 0, "stderr": 0, "pty": 0}
    for frame in frames:
        if stream := frame.get("stream"):
            assert frame["offset_bytes"] == at[stream]
            at[stream] += frame["bytes"]
    logs = (frames[-1]["artifacts"] or {}).get("logs", {})
    for stream, seal in logs.items():
        assert seal["bytes_total"] == at[stream] == len(desk.log(task, stream))
    return frames


def stop(desk: TaskDesk) -> None:
    (desk.base / "stop").touch()


# ---- what cannot be started


@pytest.mark.parametrize(
    "args, cause, said",
    [
        ({"argv": ["no-such-program"]}, "unstarted", "no-such-program: No such file or directory"),
        ({"argv": ["true"], "cwd": "link"}, "unstarted", "cwd 'link': goes through a symbolic"),
        ({"argv": ["true"], "cwd": "gone"}, "unstarted", "cwd 'gone': no such file or directory"),
        (
            {"argv": ["true"], "env": {"KEY": {"from": "env:NO_SUCH_VARIABLE"}}},
            "policy_denied",
            "no rule allows the variable NO_SUCH_VARIABLE",
        ),
    ],
)
def test_what_cannot_be_started_fails_with_the_reason(
    desk: TaskDesk, args: dict[str, Any], cause: str, said: str
) -> None:
    (desk.base / "link").symlink_to("/tmp")
    desk.runner("r1")
    answer = desk.served.post("tool.task_spawn", workspace="acme", tool="exec", args=args).json()
    ended = desk.ended("PROC-001")
    assert ended["status"] == "failed"
    assert ended["cause"] == cause, answer
    assert said in ended["error"]
    checked_stream(desk, "PROC-001")


def test_a_runner_starts_nothing_that_its_own_policy_refuses(desk: TaskDesk) -> None:
    desk.runner("r1", policy="safe")
    task = desk.bash("touch was-here")
    ended = desk.ended(task)
    assert (ended["status"], ended["cause"]) == ("failed", "policy_denied")
    decisions = [
        (frame["by"], frame["decision"], frame["profile"])
        for frame in checked_stream(desk, task)
        if frame["type"] == "tool_policy_decided"
    ]
    assert decisions == [("server", "allow", "full-auto"), ("runner", "deny", "safe")]
    assert not (desk.base / "was-here").exists()


# ---- how tasks end


def test_a_cancelled_task_tells_who_asked_and_how_it_ended(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash("echo ready; sleep 300")
    until(lambda: desk.log(task) == b"ready\n", "it runs")
    desk.await_task(task, "running")
    desk("tool.task_cancel", task_id=task, reason="enough")
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"], ended["signal"]) == ("cancelled", None, "TERM")
    frames = [frame["type"] for frame in checked_stream(desk, task)]
    # Its output may be reported after the request, although it was logged first.
    assert [kind for kind in frames if kind != "tool_stdout"][-3:] == [
        "tool_task_cancel_requested",
        "tool_task_cancelled",
        "tool_task_status",
    ]


@pytest.mark.proves("TTA-034", "TTA-040", "TTA-041", "TTA-054")
@pytest.mark.parametrize(
    "command, limits, cause, sent",
    [
        ("sleep 300", {"timeout_ms": 200}, "timeout", "TERM"),
        ("echo x; sleep 300", {"idle_timeout_ms": 200}, "idle_timeout", "TERM"),
        (
            "for i in {1..30}; do sleep 300 & done; wait",
            {"max_processes": 5},
            "max_processes",
            "KILL",
        ),
        (f"exec python3 -c {shlex.quote(BOMB)}", {"max_processes": 20}, "max_processes", "KILL"),
        (
            "trap '' TERM; sleep 300; sleep 300",
            {"timeout_ms": 5_000, "grace_ms": 100},
            "timeout",
            "KILL",
        ),
        (
            "trap '' TERM; echo x; sleep 300; sleep 300",
            {"idle_timeout_ms": 10_000, "grace_ms": 100, "execution_mode": "pty"},
            "idle_timeout",
            "KILL",
        ),
        ("sleep 300", {"timeout_ms": 200, "execution_mode": "pty"}, "timeout", "TERM"),
    ],
)
def test_a_task_that_exceeds_a_limit_fails_with_that_cause(
    desk: TaskDesk, command: str, limits: dict[str, Any], cause: str, sent: str
) -> None:
    desk.runner("r1")
    task = desk.bash(command, **limits)
    ended = desk.ended(task)
    assert (ended["status"], ended["cause"], ended["signal"]) == ("failed", cause, sent)
    last = checked_stream(desk, task)[-1]
    assert (last["status"], last["exit_code"], last["signal"]) == ("failed", None, sent)


@pytest.mark.proves("TTA-014")
def test_leftovers_that_hold_the_output_are_ended_and_named(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash("setsid sleep 300 & echo $!; exit 4")
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 4)
    pid = int(desk.log(task))
    assert [(one["pid"], one["command"]) for one in ended["leftovers"]] == [(pid, "sleep 300")]
    assert not lives(pid)
    checked_stream(desk, task)


@pytest.mark.proves("TTA-040", "TTA-041")
@pytest.mark.parametrize(
    "mode, stream, line_bytes, most", [("pipes", "stdout", 15, 30), ("pty", "pty", 16, 300)]
)
def test_beyond_its_budget_output_is_referred_to_and_the_cap_keeps_head_and_tail(
    desk: TaskDesk, mode: str, stream: str, line_bytes: int, most: int
) -> None:
    desk.runner("r1")
    limits = {"max_bytes": 20_000, "artifact_max_bytes": 65_536}
    task = desk.bash("seq -f 'line %09g' 40000", args=limits, execution_mode=mode)
    desk.ended(task)
    frames = checked_stream(desk, task)
    inline = [frame for frame in frames if frame.get("chunk")]
    assert sum(frame["bytes"] for frame in inline) <= 20_000
    assert max(frame["bytes"] for frame in inline) <= 8_192
    assert len(frames) < most
    log = frames[-1]["artifacts"]["logs"][stream]
    assert log["truncated"] is True
    assert log["bytes_total"] == 40_000 * line_bytes
    assert log["bytes_stored"] == log["bytes_total"] - (log["gap"]["to"] - log["gap"]["from"])


def test_a_program_that_finds_the_disk_full_is_told_and_its_end_is_told(desk: TaskDesk) -> None:
    """A file size limit in place of a full disk: no file may exceed 256 KiB."""
    desk.runner("r1", limit_kb=256)
    task = desk.bash("head -c 1000000 /dev/zero; echo status $? >&2")
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    assert len(desk.log(task)) == 256 * 1024
    assert desk.log(task, "stderr").split()[-2:] == [b"status", b"153"]  # XFSZ
    checked_stream(desk, task)


# ---- who dies


def test_a_killed_runner_loses_neither_a_process_nor_a_byte(desk: TaskDesk) -> None:
    first = desk.runner("r1")
    task = desk.bash(COUNT)
    until(lambda: len(desk.log(task)) > 200, "output")
    first.kill()
    told = desk.task(task)["next_seq"]
    size = len(desk.log(task))
    until(lambda: len(desk.log(task)) > size + 200, "it goes on without a runner")
    desk.runner("r2")
    until(lambda: desk.task(task)["next_seq"] > told, "the next runner goes on")
    stop(desk)
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"], ended["cause"]) == ("exited", 0, None)
    checked_stream(desk, task)
    assert desk.text(task) == desk.log(task).decode()


def test_of_two_runners_on_a_machine_one_speaks_and_the_other_takes_over(desk: TaskDesk) -> None:
    runners = [desk.runner("r1"), desk.runner("r2")]
    task = desk.bash(COUNT)
    until(lambda: any("task.claimed" in one.said() for one in runners), "a claim")
    (speaking,) = [one for one in runners if "task.claimed" in one.said()]
    desk.await_task(task, "running")
    speaking.kill()
    told = desk.task(task)["next_seq"]
    until(lambda: desk.task(task)["next_seq"] > told, "the other one goes on")
    stop(desk)
    desk.ended(task)
    checked_stream(desk, task)
    assert desk.text(task) == desk.log(task).decode()


def test_a_killed_host_leaves_the_process_and_its_code_unknown(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash(COUNT)
    until(lambda: len(desk.log(task)) > 200, "output")
    desk.await_task(task, "running")
    os.kill(desk.host_pid, signal.SIGKILL)
    size = len(desk.log(task))
    until(lambda: len(desk.log(task)) > size + 100, "it goes on")
    stop(desk)
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", None)
    assert (ended["signal"], ended["cause"]) == (None, "host_lost")
    checked_stream(desk, task)
    assert desk.text(task) == desk.log(task).decode()


def test_runner_and_host_killed_at_once_lose_neither_a_process_nor_a_byte(desk: TaskDesk) -> None:
    first = desk.runner("r1")
    task = desk.bash(COUNT)
    until(lambda: len(desk.log(task)) > 200, "output")
    desk.await_task(task, "running")
    pid = desk.task(task)["pid"]
    os.kill(desk.host_pid, signal.SIGKILL)
    first.kill()
    assert lives(pid)
    desk.runner("r2")
    stop(desk)
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"], ended["cause"]) == ("exited", None, "host_lost")
    checked_stream(desk, task)
    assert desk.text(task) == desk.log(task).decode()


def test_a_server_that_restarts_in_mid_stream_gets_every_byte_once(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash(COUNT)
    desk.await_task(task, "running")
    until(lambda: len(desk.log(task)) > 200, "output")
    desk.restart()
    size = len(desk.log(task))
    until(lambda: len(desk.log(task)) > size + 100, "it goes on")
    stop(desk)
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    checked_stream(desk, task)
    assert desk.text(task) == desk.log(task).decode()


# ---- queue, ports, secrets


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[TaskDesk]:
    made = TaskDesk(tmp_path, processes_max_running=1)
    yield made
    made.close()


def test_no_more_tasks_run_than_the_workspace_allows(narrow: TaskDesk) -> None:
    narrow.runner("r1")
    first, second = narrow.bash(COUNT), narrow.bash("echo second")
    narrow.await_task(first, "running")
    assert narrow.task(second)["queue_position"] == 1
    stop(narrow)
    assert narrow.ended(second)["exit_code"] == 0
    assert narrow.task(first)["status"] == "exited"


@pytest.mark.proves("TTA-014")
def test_the_ports_that_a_task_listens_on_are_shown(desk: TaskDesk) -> None:
    desk.runner("r1")
    serve = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
        "print(s.getsockname()[1], flush=True); time.sleep(300)"
    )
    task = desk("tool.task_spawn", tool="exec", args={"argv": ["python3", "-c", serve]})["task_id"]
    until(lambda: bool(desk.log(task)), "it listens")
    until(lambda: desk.task(task)["ports"] == [int(desk.log(task))], "its port")
    desk("tool.task_cancel", task_id=task)
    desk.ended(task)


def test_a_secret_in_the_output_is_nowhere_in_its_frames(desk: TaskDesk) -> None:
    desk.runner("r1")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (desk.base / "printer").write_text(
        f"printf 'a ghp_'; sleep 0.2; printf '{token[4:20]}'; sleep 0.2; echo '{token[20:]} b'"
    )
    task = desk.bash("bash ./printer")
    desk.ended(task)
    checked_stream(desk, task)
    assert desk.log(task).decode() == f"a {token} b\n"
    assert desk.text(task) == f"a {'*' * len(token)} b\n"


def test_a_runner_that_takes_over_many_tasks_learns_of_all_of_them(desk: TaskDesk) -> None:
    """Their command lines alone exceed one answer."""
    first = desk.runner("r1")
    words = "x" * 30_000
    tasks = [desk.bash(f": {words}; until [ -e stop ]; do sleep 0.05; done") for _ in range(6)]
    for task in tasks:
        desk.await_task(task, "running")
    first.kill()
    desk.runner("r2")
    stop(desk)
    assert [desk.ended(task)["exit_code"] for task in tasks] == [0] * 6
