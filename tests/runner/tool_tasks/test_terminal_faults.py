"""Bad input and failures in terminals, over HTTP, with a real server, runner, host and programs."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk
from tests.runner.tool_tasks.test_terminals import READS, started


def post(desk: TaskDesk, task: str, path: str, **body: Any) -> httpx2.Response:
    return desk.served.http.post(f"/tasks/{task}/{path}", json=body)


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def outcome(desk: TaskDesk, task: str, op_id: str) -> dict[str, Any]:
    def told() -> list[dict[str, Any]]:
        return [frame for frame in desk.frames(task) if frame.get("op_id") == op_id]

    until(lambda: bool(told()), f"the outcome of {op_id}")
    (frame,) = told()
    return frame


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TaskDesk, str]]:
    """A desk with a program that reads lines in a terminal."""
    desk = TaskDesk(tmp_path_factory.mktemp("busy"))
    desk.runner("r1")
    task = started(desk, READS)
    until(lambda: desk.task(task)["artifacts"]["logs"]["pty"]["bytes"] > 0, "that is told")
    yield desk, task
    desk.close()


@pytest.mark.parametrize(
    "path, body, says",
    [
        ("stdin", {"chunk_b64": coded(b"x" * 9_216)}, "chunk_b64: 9216 bytes, at most 8192"),
        ("stdin", {"chunk_b64": "aGk"}, "chunk_b64: not base64"),
        ("stdin", {"chunk_b64": "a*=="}, "chunk_b64: not base64"),
        ("stdin", {"chunk_b64": "aGkK*"}, "chunk_b64: not base64"),
        ("stdin", {"chunk_b64": "aGk=aGk="}, "chunk_b64: not base64"),
        ("stdin", {}, "chunk_b64: expected the input as base64, or keys, or eof=true"),
        ("resize", {"rows": 0, "cols": 80}, "rows"),
        ("resize", {"rows": 24, "cols": 65_536}, "cols"),
        ("signal", {"signal": "BOOM"}, "signal: 'BOOM' cannot be sent"),
        ("signal", {"signal": "9"}, "signal: '9' cannot be sent"),
    ],
)
def test_bad_input_is_refused_by_its_name_and_changes_nothing(
    busy: tuple[TaskDesk, str], path: str, body: dict[str, Any], says: str
) -> None:
    desk, task = busy
    before = desk.task(task)["next_seq"]
    answer = post(desk, task, path, **body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_INPUT")
    assert says in error["message"]
    assert desk.task(task)["next_seq"] == before


def test_eight_kibibytes_are_taken_at_once(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = started(desk, "stty raw -echo; echo ready; head -c 8192 | sha256sum")
    data = bytes(range(256)) * 32
    assert post(desk, task, "stdin", chunk_b64=coded(data)).status_code == 202
    assert desk.ended(task)["exit_code"] == 0
    assert hashlib.sha256(data).hexdigest().encode() in desk.log(task, "pty")


@pytest.mark.proves("TTA-011", "TTA-021")
def test_controls_need_a_task_that_runs_and_cancel_is_the_same_in_a_terminal(
    desk: TaskDesk,
) -> None:
    task = desk.bash(READS, execution_mode="pty")
    early = post(desk, task, "stdin", chunk_b64="aGkK")
    assert (early.status_code, "is queued, not running" in early.text) == (409, True)
    desk.runner("r1")
    desk.await_task(task, "running")
    assert post(desk, task, "resize", rows=30, cols=100).status_code == 202
    assert post(desk, task, "stdin", chunk_b64=coded(b"hello\n")).status_code == 202
    until(lambda: b"got hello" in desk.log(task, "pty"), "it has read")
    assert post(desk, task, "cancel", reason="enough").status_code == 202
    ended = desk.ended(task)
    assert (ended["status"], ended["cancel_reason"]) == ("cancelled", "enough")
    assert [one["type"] for one in desk.frames(task)[-2:]] == [
        "tool_task_cancelled",
        "tool_task_status",
    ]
    late = post(desk, task, "stdin", chunk_b64="aGkK")
    assert (late.status_code, "is cancelled, not running" in late.text) == (409, True)
    again = post(desk, task, "cancel")
    assert (again.status_code, again.json()["status"]) == (200, "cancelled")


@pytest.mark.proves("TTA-030")
def test_a_signal_reaches_the_program_in_the_foreground_and_not_its_shell(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = started(desk, "set -m; echo ready; sleep 300; echo slept $?; read -r line; echo $line")
    until(lambda: _foreground(desk.task(task)["pid"]) == "sleep", "it sleeps")
    op = post(desk, task, "signal", signal="SIGTERM").json()["op_id"]
    assert outcome(desk, task, op)["signal"] == "TERM"
    until(lambda: b"slept 143" in desk.log(task, "pty"), "the shell goes on")
    post(desk, task, "stdin", chunk_b64=coded(b"bye\n"))
    assert desk.ended(task)["exit_code"] == 0


@pytest.mark.proves("TTA-030")
def test_every_signal_has_the_effect_of_its_name(desk: TaskDesk) -> None:
    desk.runner("r1")
    caught = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "TSTP")
    traps = "; ".join(f"trap 'echo got-{name}' {name}" for name in caught)
    task = started(desk, f"{traps}; echo ready; while :; do sleep 0.05; done")
    for name in caught:
        op = post(desk, task, "signal", signal=name).json()["op_id"]
        assert outcome(desk, task, op)["signal"] == name
        until(lambda: f"got-{name}".encode() in desk.log(task, "pty"), f"it got {name}")  # noqa: B023
    for name in ("STOP", "CONT"):
        op = post(desk, task, "signal", signal=name).json()["op_id"]
        assert outcome(desk, task, op)["signal"] == name
    post(desk, task, "signal", signal="KILL")
    ended = desk.ended(task)
    assert (ended["exit_code"], ended["signal"]) == (None, "KILL")


def _foreground(shell: int) -> str:
    """The name of the program that leads the foreground group of a shell's terminal."""
    fields = Path(f"/proc/{shell}/stat").read_text().rpartition(")")[2].split()
    try:
        return Path(f"/proc/{fields[5]}/comm").read_text().strip()
    except OSError:
        return ""


def test_a_line_that_the_terminal_would_cut_fails_with_the_reason(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = started(desk, READS)
    op = post(desk, task, "stdin", chunk_b64=coded(b"x" * 4_096 + b"\n")).json()["op_id"]
    failed = outcome(desk, task, op)
    assert failed["type"] == "tool_task_op_failed"
    assert failed["error"] == "a line has over 4095 bytes, and the terminal would cut it"
    post(desk, task, "stdin", eof=True)
    assert desk.ended(task)["exit_code"] == 0
    assert b"x" not in desk.log(task, "pty")


def test_a_program_that_never_reads_blocks_neither_output_nor_control_nor_cancel(
    desk: TaskDesk,
) -> None:
    desk.runner("r1")
    task = started(desk, "stty raw -echo; echo ready; while :; do echo tick; sleep 0.05; done")
    ops = [
        post(desk, task, "stdin", chunk_b64=coded(b"x" * 8_192)).json()["op_id"] for _ in range(12)
    ]
    assert "the program does not read" in outcome(desk, task, ops[-1])["error"]
    resized = post(desk, task, "resize", rows=40, cols=120).json()["op_id"]
    assert outcome(desk, task, resized)["type"] == "tool_task_resized"
    size = len(desk.log(task, "pty"))
    until(lambda: len(desk.log(task, "pty")) > size, "output goes on")
    post(desk, task, "cancel")
    assert desk.ended(task)["status"] == "cancelled"


FLOOD = b"".join(
    b"\x1b[%d;%dm%d\x1b[%d;%dH" % (n % 9, 30 + n % 8, n, n % 24, n % 80) for n in range(9_000)
)
FLOOD += random.Random(7).randbytes(100_000) + b"\x1bc\xff\xfethe end \xe2\x82"


@pytest.mark.proves("TTA-013", "TTA-025", "TTA-026", "TTA-027", "TTA-045")
def test_floods_and_invalid_utf8_lose_no_byte_and_leave_a_screen(desk: TaskDesk) -> None:
    desk.runner("r1")
    (desk.base / "flood").write_bytes(FLOOD)
    args: dict[str, Any] = {"argv": ["bash", "-c", "stty raw -echo; exec cat flood"]}
    args |= {"max_bytes": 60_000}
    task = desk("tool.task_spawn", tool="exec", args=args, execution_mode="pty")["task_id"]
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    data = desk.log(task, "pty")
    at = told = 0
    for frame in desk.frames(task):
        if frame["type"] != "tool_task_output_delta":
            continue
        assert frame["offset_bytes"] == at
        at += frame["bytes"]
        if frame["chunk"] is None:
            assert frame["artifacts"]["log"]["offset_bytes"] == frame["offset_bytes"]
        else:
            told += frame["bytes"]
            assert len(frame["chunk"].encode()) <= 3 * 8_192
    seal = ended["artifacts"]["logs"]["pty"]
    assert data == FLOOD
    assert at == len(data) == seal["bytes_total"]
    assert 50_000 < told <= 60_000
    assert seal["sha256"] == hashlib.sha256(FLOOD).hexdigest()
    raw = desk.served.http.get(f"/tasks/{task}/output/raw?stream=pty").content
    assert raw == data
    screen = desk.served.http.get(f"/tasks/{task}?screen=true").json()["screen"]
    assert screen["text"].startswith("\ufffd\ufffdthe end")


@pytest.mark.proves("TTA-012")
def test_viewers_that_vanish_leave_the_others_and_the_task_alone(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = started(desk, "echo ready; read -r go; for i in $(seq 300); do echo line $i; done")

    def watch(into: list[dict[str, Any]], leave_after: int | None) -> None:
        with (
            httpx2.Client(
                base_url=desk.served.url, headers=dict(desk.served.http.headers), timeout=60
            ) as http,
            http.stream("GET", f"/tasks/{task}/events") as stream,
        ):
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    into.append(json.loads(line[5:]))
                    if len(into) == leave_after:
                        return

    seen: list[list[dict[str, Any]]] = [[] for _ in range(8)]
    threads = [
        threading.Thread(target=watch, args=(into, 3 + n % 2 if n % 2 else None))
        for n, into in enumerate(seen)
    ]
    for thread in threads:
        thread.start()
    until(lambda: all(len(into) >= 3 for into in seen), "all look on")
    post(desk, task, "stdin", chunk_b64=coded(b"go\n"))
    for thread in threads:
        thread.join(60)
    assert desk.ended(task)["exit_code"] == 0
    frames = desk.frames(task)
    assert all(into == frames for into in seen[::2])
    assert all(into == frames[: len(into)] for into in seen[1::2])


@pytest.mark.proves("TTA-004", "TTA-039")
def test_a_terminal_needs_a_rule_with_a_justification_where_the_profile_is_safe(
    tmp_path: Path,
) -> None:
    desk = TaskDesk(tmp_path, policy="safe")
    try:
        desk("tool.policy_allow", tool="exec", pattern="cat *")
        desk.runner("r1", policy="safe")
        body = {"tool": "exec", "args": {"argv": ["cat", "-"]}, "execution_mode": "pty"}
        denied = desk.served.http.post("/tasks", json=body)
        error = denied.json()["error"]
        assert (denied.status_code, error["code"]) == (403, "POLICY_DENIED")
        kinds = [one["type"] for one in desk.frames(error["task_id"])]
        assert kinds == ["tool_task_spawned", "tool_policy_decided", "tool_task_status"]
        rule = {"tool": "exec", "pattern": "cat *", "pty": True}
        assert not desk.served.post("tool.policy_allow", **rule).json()["success"]
        desk("tool.policy_allow", **rule, justification="a person types into it")
        made = desk.served.http.post("/tasks", json=body)
        assert made.status_code == 201
        task = made.json()["task_id"]
        desk.await_task(task, "running")
        post(desk, task, "stdin", eof=True)
        assert desk.ended(task)["exit_code"] == 0
    finally:
        desk.close()


def test_a_screen_of_a_runner_elsewhere_comes_from_its_frames_and_then_from_its_log(
    desk: TaskDesk, tmp_path: Path
) -> None:
    from tests.runner.processes import RunnerProcess, join

    there = tmp_path / "there"
    there.mkdir()
    token = desk.base / ".longhouse" / "token"
    flags: dict[str, Any] = {"policy": "full-auto", "root": there, "token_file": token}
    join(desk, there, **flags)
    runner = RunnerProcess(there, "far", url=desk.served.url, **flags)
    desk.folder = there / ".longhouse" / "tasks" / "acme"
    try:
        task = desk.bash("printf '\\e[?1049hfar away'; read -r line", execution_mode="pty")
        desk.await_task(task, "running")
        wait = f"/tasks/{task}/wait?until=screen&pattern=far*away&timeout_ms=25000"
        found = desk.served.http.get(wait, timeout=60).json()
        assert (found["reached"], found["line"]) == (True, "far away")
        shown = desk.served.http.get(f"/tasks/{task}/snapshot").json()
        assert (shown["alternate"], shown["offset"]) == (True, len(desk.log(task, "pty")))
        post(desk, task, "stdin", chunk_b64=coded(b"\n"))
        assert desk.ended(task)["exit_code"] == 0
        assert desk("tool.task_status", task_id=task, screen=True)["screen"]["text"] == "far away"
    finally:
        runner.kill()
