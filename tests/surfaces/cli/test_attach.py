"""Attaching to a program in a terminal: real terminals, a real server, runner and host."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.surfaces.cli import attaching
from tests.runner.processes import environment, until
from tests.runner.tool_tasks.kit import TaskDesk
from tests.surfaces.cli.person import Person, at_longhouse

READS = (
    "stty -echo; trap 'echo size $(stty size)' WINCH; echo ready; "
    'while read -r line || [ -n "$line" ]; do echo "got $line"; done; echo over; exit 7'
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TaskDesk]:
    made = TaskDesk(tmp_path)
    yield made
    made.close()


Sit = Callable[..., Person]


@pytest.fixture
def sit(desk: TaskDesk, tmp_path: Path) -> Iterator[Sit]:
    """Creates people at terminals."""
    people: list[Person] = []

    def make(*words: str, **more: Any) -> Person:
        people.append(at_longhouse(tmp_path, *words, **more))
        return people[-1]

    yield make
    for one in people:
        one.close()


def sizes(desk: TaskDesk, task: str = "PROC-001") -> list[tuple[int, int]]:
    """The sizes that a task's terminal was set to, in order."""
    found = [frame for frame in desk.frames(task) if frame["type"] == "tool_task_resized"]
    return [(frame["rows"], frame["cols"]) for frame in found]


def started(desk: TaskDesk, command: str = READS) -> str:
    """A task that is ready in a terminal."""
    desk.runner("r1")
    task = desk.bash(command, execution_mode="pty")
    until(lambda: b"ready" in desk.log(task, "pty"), "it is ready")
    desk.await_task(task, "running")
    return task


def patched(line: str) -> list[str]:
    """`longhouse` with this code run first."""
    code = f"{line}\nfrom longhouse.surfaces.cli import main\nraise SystemExit(main())"
    return [sys.executable, "-P", "-c", code]


@pytest.mark.proves("TTA-011", "TTA-020", "TTA-029")
def test_run_in_a_terminal_hands_on_keys_output_size_and_exit_code(
    desk: TaskDesk, sit: Sit
) -> None:
    desk.runner("r1")
    ada = sit("run", "--pty", "--", "bash", "-c", READS, rows=31, cols=99)
    ada.sees(b"ready\r\n")
    ada.type(b"hello\n")
    ada.sees(b"got hello\r\n")
    ada.resize(20, 70)
    until(lambda: sizes(desk) == [(20, 70)], "its size is told")
    ada.type(b"\n")
    ada.sees(b"size 20 70")
    ada.type(b"\x04")
    ada.sees(b"over")
    assert ada.leaves() == 7
    assert ada.is_as_before
    assert desk.frames("PROC-001")[0]["args"]["rows"] == 31


@pytest.mark.proves("TTA-012")
def test_who_attaches_later_sees_the_screen_goes_on_and_leaves_it_running(
    desk: TaskDesk, sit: Sit
) -> None:
    task = started(desk)
    ada = sit("attach", task)
    ada.sees(b"ready")
    ada.type(b"one\n")
    ada.sees(b"got one")
    ada.type(b"last words\n\x1d")
    assert ada.leaves() == 0
    assert f"to return: longhouse attach {task}".encode() in ada.seen
    assert ada.is_as_before
    until(lambda: b"got last words" in desk.log(task, "pty"), "what was typed before gets there")
    assert desk.task(task)["status"] == "running"
    bob = sit("attach", task)
    bob.sees(b"got last words")
    bob.type(b"\x04")
    assert bob.leaves() == 7
    assert b"got one" in bob.seen


def test_ctrl_bracket_leaves_also_where_keys_are_sent_in_a_newer_way(
    desk: TaskDesk, sit: Sit
) -> None:
    task = started(desk)
    ada = sit("attach", task)
    ada.sees(b"ready")
    ada.type(b"\x1b[93;5u")
    assert ada.leaves() == 0


@pytest.mark.parametrize(
    "keys, leaves",
    [
        (b"\x1b[93;69u", True),
        (b"\x1b[93;133u", True),
        (b"\x1b[93;197:1u", True),
        (b"\x1b[93:125:93;5:2;29u", True),
        (b"\x1b[93;5:3u", False),
        (b"\x1b[93;6u", False),
    ],
)
def test_ctrl_bracket_is_known_with_locks_and_other_keys_are_not_taken_for_it(
    keys: bytes, leaves: bool
) -> None:
    assert bool(attaching._DETACH.search(keys)) is leaves


def test_the_size_follows_whoever_typed_last(desk: TaskDesk, sit: Sit) -> None:
    task = started(desk)
    ada, bob = sit("attach", task, rows=30, cols=100), sit("attach", task, rows=20, cols=60)
    ada.sees(b"ready")
    bob.sees(b"ready")
    assert sizes(desk, task) == []
    ada.type(b"a\n")
    for one in (ada, bob):
        one.sees(b"got a")
    bob.type(b"b\n")
    for one in (ada, bob):
        one.sees(b"got b")
    ada.resize(31, 101)  # bob typed last, so this changes nothing
    bob.type(b"c\n")
    ada.sees(b"got c")
    assert sizes(desk, task) == [(30, 100), (20, 60)]
    ada.type(b"d\n")
    ada.sees(b"got d")
    assert sizes(desk, task) == [(30, 100), (20, 60), (31, 101)]
    ada.resize(32, 102)  # now ada typed last
    until(lambda: sizes(desk, task)[-1] == (32, 102), "her size is told")


def test_a_long_paste_arrives_whole_and_in_order(desk: TaskDesk, sit: Sit) -> None:
    task = started(desk, "stty raw -echo; echo ready; head -c 60000 | sha256sum; sleep 60")
    ada = sit("attach", task)
    ada.sees(b"ready")
    paste = b"".join(b"%05d " % n for n in range(10_000))
    for at in range(0, len(paste), 3_000):
        ada.type(paste[at : at + 3_000])
        ada.look()
    ada.sees(hashlib.sha256(paste).hexdigest().encode())


def test_keys_that_come_while_others_are_under_way_wait_and_go_together() -> None:
    nobody: Any = None
    terminal: Any = SimpleNamespace(size=(24, 80))
    task = {"task_id": "PROC-001", "status": "running", "args": {}, "next_seq": 1}
    attachment = attaching.Attachment(nobody, terminal, task)
    sent: list[bytes] = []

    def call(cmd: str, chunk_b64: str) -> Any:
        sent.append(base64.b64decode(chunk_b64))
        return SimpleNamespace(ready=lambda: None, outcome=SimpleNamespace(error=None))

    attachment._call = call  # type: ignore[method-assign,assignment]
    for key in (b"a", b"b", b"c"):
        attachment._typed += key
        attachment._send()
    assert sent == [b"a"]
    attachment.detached, attachment._leaves_at = True, math.inf
    for _ in range(2):
        assert not attachment._is_over()  # keys typed before detaching are still sent
        attachment._on_sent()
        attachment._wake(SimpleNamespace(wakes_at=None))  # type: ignore[arg-type]
        attachment._send()
    assert sent == [b"a", b"bc"]
    assert attachment._is_over()


def test_a_key_goes_at_once_and_those_right_after_it_go_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobody: Any = None
    terminal: Any = SimpleNamespace(size=(24, 80))
    task = {"task_id": "PROC-001", "status": "running", "args": {}, "next_seq": 1}
    attachment = attaching.Attachment(nobody, terminal, task)
    sent: list[bytes] = []
    now = [100.0]
    monkeypatch.setattr("longhouse.surfaces.cli.attaching.time.monotonic", lambda: now[0])

    def call(cmd: str, chunk_b64: str) -> Any:
        sent.append(base64.b64decode(chunk_b64))
        return SimpleNamespace(
            ready=lambda: None, outcome=SimpleNamespace(error=None), wakes_at=None
        )

    attachment._call = call  # type: ignore[method-assign,assignment]
    for ms, key in ((0, b"a"), (4, b"b"), (9, b"c"), (16, b""), (60, b"d")):
        now[0] = 100 + ms / 1000
        attachment._typed += key
        attachment._wake(SimpleNamespace(wakes_at=None))  # type: ignore[arg-type]
        attachment._send()
        if attachment._sending is not None:
            attachment._on_sent()  # the server answers at once
    assert sent == [b"a", b"bc", b"d"]


def test_a_last_frame_that_comes_together_with_the_end_of_the_stream_is_seen() -> None:
    over = {"seq": 7, "type": "tool_task_status", "status": "exited"}
    event = SimpleNamespace(data=json.dumps(over))
    stream: Any = SimpleNamespace(receive=lambda: None, events=lambda: [event], close=lambda: None)
    stream.streams = stream.done = True
    wire = SimpleNamespace(send=lambda *_, **__: stream)
    door: Any = SimpleNamespace(wire=wire, headers=dict, patience_s=1.0)
    frames = attaching._Frames(door, "PROC-001", 6)
    assert frames.ready() == [over]
    assert (frames.after, frames.exchange) == (7, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back_and_leaves_the_program(
    desk: TaskDesk, sit: Sit, number: int
) -> None:
    task = started(desk, "printf '\\033[?1049h\\033[?25lready'; sleep 300")
    ada = sit("attach", task)
    ada.sees(b"\x1b[?1049h")
    ada.process.send_signal(number)
    assert ada.leaves() == 128 + number
    assert ada.is_as_before
    assert b"\x1b[?1049l" in ada.seen
    assert b"\x1b[?25h" in ada.seen
    assert desk.task(task)["status"] == "running"


def test_a_defect_gives_the_terminal_back(desk: TaskDesk, sit: Sit) -> None:
    task = started(desk)
    broken = "from longhouse.surfaces.cli.attaching import Attachment\nAttachment._on_frame = 1"
    ada = sit("attach", task, argv=patched(broken))
    ada.sees(b"ready")
    ada.type(b"a\n")
    assert ada.leaves() != 0
    assert ada.is_as_before
    assert b"Traceback" not in ada.seen


def test_a_server_that_is_gone_gives_the_terminal_back(desk: TaskDesk, sit: Sit) -> None:
    task = started(desk)
    hasty = "from longhouse.surfaces.cli.commands import attach\nattach.PATIENCE_S = 0.5"
    ada = sit("attach", task, argv=patched(hasty))
    ada.sees(b"ready")
    desk.served.kill()
    assert ada.leaves() != 0
    assert f"attach again: longhouse attach {task}".encode() in ada.seen
    assert ada.is_as_before


def test_who_is_attached_goes_on_when_the_server_was_restarted(desk: TaskDesk, sit: Sit) -> None:
    task = started(desk)
    ada = sit("attach", task)
    ada.sees(b"ready")
    desk.restart()
    ada.type(b"still here\n")
    ada.sees(b"got still here")
    ada.type(b"\x04")
    assert ada.leaves() == 7


def test_who_falls_behind_takes_a_snapshot_and_misses_nothing_of_the_end(
    desk: TaskDesk, sit: Sit
) -> None:
    flood = "echo ready; read -r go; seq 1 700000; echo all of it; read -r go; exit 4"
    task = started(desk, flood)
    ada = sit("attach", task)
    ada.sees(b"ready")
    ada.type(b"\n")
    until(lambda: b"all of it" in desk.log(task, "pty"), "it has printed")
    until(lambda: desk.task(task)["artifacts"]["logs"]["pty"]["bytes"] > 4_000_000, "it is told")
    ada.sees(b"all of it")
    assert len(ada.seen) < 2_500_000 < len(desk.log(task, "pty"))
    assert b"699999" in ada.seen
    ada.type(b"\n")
    assert ada.leaves() == 4


def test_what_a_program_asks_of_its_terminal_is_not_asked_of_the_viewers(
    desk: TaskDesk, sit: Sit
) -> None:
    task = started(desk, "echo ready; read -r go; printf 'a\\033[c\\033[6nb\\n'; sleep 60")
    ada = sit("attach", task)
    ada.sees(b"ready")
    ada.type(b"\n")
    ada.sees(b"ab")


def test_what_cannot_be_attached_to_says_what_to_run_instead(desk: TaskDesk, sit: Sit) -> None:
    desk.runner("r1")
    pipes = desk.bash("echo hi")
    desk.ended(pipes)
    ada = sit("attach", pipes)
    assert ada.leaves() == 2
    assert f"logs {pipes} --follow".encode() in b" ".join(ada.seen.split())  # it may be wrapped
    over = desk.bash("echo it is over; exit 5", execution_mode="pty")
    desk.ended(over)
    bob = sit("attach", over)
    assert bob.leaves() == 5
    assert b"it is over" in bob.seen
    assert f"longhouse replay {over}".encode() in bob.seen
    said = subprocess.run(
        [sys.executable, "-P", "-m", "longhouse", *store_of(desk), "attach", over],
        cwd=desk.base,
        env=environment(desk.base),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert said.returncode == 2
    assert f"keys {over} 'text' Enter" in said.stderr


@pytest.mark.proves("TTA-030", "TTA-031")
def test_keys_and_signals_from_a_script_say_what_came_of_them(desk: TaskDesk) -> None:
    task = started(desk, "trap 'echo caught' USR1; " + READS)
    assert run(desk, "keys", task, "hello", "Enter") == (0, f"6 bytes typed into {task}\n", "")
    until(lambda: b"got hello" in desk.log(task, "pty"), "it was typed")
    code, out, _ = run(desk, "signal", task, "usr1")
    assert (code, out) == (0, f"{task} was sent USR1\n")
    run(desk, "keys", task, "Enter")
    until(lambda: b"caught" in desk.log(task, "pty"), "it was sent")
    assert run(desk, "keys", task, "-l", "Enter")[1] == f"5 bytes typed into {task}\n"
    code, _, err = run(desk, "keys", task, "x" * 4_096)
    assert code != 0
    assert "a line has over 4095 bytes" in err
    code, _, err = run(desk, "signal", task, "NOPE")
    assert code == 2
    assert "use one of HUP, INT" in err
    told = [frame for frame in desk.frames(task) if frame.get("op_id")]
    assert [(one["type"], one.get("bytes"), one.get("signal")) for one in told] == [
        ("tool_task_stdin_written", 6, None),
        ("tool_task_signalled", None, "USR1"),
        ("tool_task_stdin_written", 1, None),
        ("tool_task_stdin_written", 5, None),
        ("tool_task_op_failed", None, None),
    ]
    assert run(desk, "keys", task, "C-u", "--eof")[0] == 0
    desk.ended(task)
    code, _, err = run(desk, "keys", task, "late")
    assert "not running" in err


def store_of(desk: TaskDesk) -> tuple[str, ...]:
    return ("--dir", str(desk.base / ".longhouse"), "--workspace", "acme")


def run(desk: TaskDesk, *words: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "longhouse", *store_of(desk), *words],
        cwd=desk.base,
        env=environment(desk.base),
        capture_output=True,
        text=True,
    )
    return ran.returncode, ran.stdout, ran.stderr
