"""The host answers programs' terminal queries, even when no one is watching."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.runner.host.display import FLOOD_BYTES, KEEP_EACH, Display
from longhouse.runner.host.loop import Host
from longhouse.runner.host.terminal import Terminal
from longhouse.terminals.screen import LAG_BYTES, Screen
from tests.runner.host.kit import Hosted
from tests.runner.host.test_terminals import PTY, control, opened, shown, type_in
from tests.runner.processes import until

ASKS = """
import os, re, sys, tty
tty.setraw(0)
said = b""
def ask(question, end):
    os.write(1, question)
    said = b""
    while not said.endswith(end):
        said += os.read(0, 1)
    return said
answers = [
    ask(b"\\x1b[5;7H\\x1b[6n", b"R"),
    ask(b"\\x1b[c", b"c"),
    ask(b"\\x1b]11;?\\x07", b"\\x07"),
    ask(b"\\x1b[>q", b"\\\\"),
    ask(b"\\x1b[?2004$p", b"y"),
]
os.write(1, repr(answers).encode())
"""


@pytest.mark.proves("TTA-020")
def test_a_program_that_asks_its_terminal_is_answered_without_viewers(host: Hosted) -> None:
    task = host.spawn("python3", "-c", ASKS, **PTY)
    assert host.ended(task)["code"] == 0
    answers = [b"\x1b[5;7R", b"\x1b[?62;22c", b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07"]
    answers += [b"\x1bP>|Longhouse\x1b\\", b"\x1b[?2004;2$y"]
    assert host.log(task, "pty").endswith(repr(answers).encode())


def test_a_size_that_was_set_is_the_one_that_is_answered(host: Hosted) -> None:
    task = host.bash(
        "stty raw -echo; echo ready; read -rn1; printf '\\e[999;999H\\e[6n'; cat", **PTY
    )
    shown(host, task, b"ready")
    control(host, task, "resize", "op-1", rows=30, cols=100)
    type_in(host, task, b"x", "op-2")
    shown(host, task, b"\x1b[30;100R")
    host.cancel(task, "op-9")
    host.ended(task)


def test_arrows_are_sent_as_the_program_asked_for_them(host: Hosted) -> None:
    task = host.bash("stty raw -echo; echo ready; cat -v", **PTY)
    shown(host, task, b"ready")
    arrow = {"chunk_b64": "G1tB", "application_b64": "G09B"}
    control(host, task, "stdin", "op-1", **arrow)
    shown(host, task, b"^[[A")
    type_in(host, task, b"\n", "op-2")
    host.cancel(task, "op-9")
    host.ended(task)
    task = host.bash("stty raw -echo; printf '\\e[?1hready'; cat -v", **PTY)
    shown(host, task, b"ready")
    control(host, task, "stdin", "op-1", **arrow)
    shown(host, task, b"^[OA")
    host.cancel(task, "op-9")
    host.ended(task)


def test_a_flood_of_questions_holds_up_no_other_task_and_can_be_cancelled(host: Hosted) -> None:
    flood = host.bash("stty raw -echo; while :; do printf '\\e[6n%.0s' {1..500}; done", **PTY)
    until(lambda: len(host.log(flood, "pty")) > 100_000, "it floods")
    other = host.bash("echo other", **PTY)
    assert host.ended(other)["code"] == 0
    host.cancel(flood, "op-1")
    assert host.ended(flood)["cause"] == "cancelled"


def test_the_host_leaves_a_screen_that_stands_for_the_bytes_before_it(host: Hosted) -> None:
    script = f"printf '\\e[?2004h\\e[1;1Honce'; for i in $(seq {KEEP_EACH // 40}); do printf "
    script += "'\\e[5;1H%040d' $i; done; echo; echo ready; cat"
    task = host.bash(script, **PTY)
    shown(host, task, b"ready")
    folder = host.folder / task
    until(lambda: any(folder.glob("pty.?.screen")), "a screen was left")
    left = next(iter(folder.glob("pty.?.screen")))
    assert left.stat().st_mode & 0o777 == 0o600
    head, _, data = left.read_bytes().partition(b"\n")
    about = json.loads(head)
    screen = Screen(about["rows"], about["cols"])
    screen.feed(data)
    assert screen.lines()[0] == "once"
    assert 2004 in screen.modes
    whole = Screen()
    whole.feed(host.log(task, "pty")[: about["offset"]])
    assert screen.snapshot() == whole.snapshot()
    host.cancel(task)
    host.ended(task)


def test_a_picture_that_is_too_far_behind_keeps_settings_and_the_newest_output(
    tmp_path: Path,
) -> None:
    display = Display(tmp_path, 24, 80)
    display.add(b"\x1b[?1h\x1b[?2004h")
    for _ in range(2 * LAG_BYTES // 4096):
        display.add(b"\x1b[32mfill\x1b[m\r\n" * 256)
    assert display.has_application_keys
    assert display.add(b"\x1b[?2004$") == b""
    assert display.add(b"p") == b"\x1b[?2004;1$y"  # also where a read ends in the middle


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes were fed at a time."""
    sizes: list[int] = []
    feed = Screen.feed

    def counting(screen: Screen, data: bytes) -> None:
        sizes.append(len(data))
        feed(screen, data)

    monkeypatch.setattr(Screen, "feed", counting)
    return sizes


def test_a_picture_goes_on_a_little_at_a_time(tmp_path: Path, fed: list[int]) -> None:
    display = Display(tmp_path, 24, 80)
    display.add(b"x" * 100_000)
    display.feed_some()
    assert fed == [4_096]
    display.resize(10, 10)
    assert (max(fed), sum(fed)) == (4_096, 100_000)


def test_a_question_behind_a_flood_is_answered_without_showing_all_of_it(
    tmp_path: Path, fed: list[int]
) -> None:
    display = Display(tmp_path, 24, 80)
    for _ in range(100):
        display.add(b"\x1b[32mx\x1b[m" * 400)
    assert display.add(b"\x1b[?2004h" + b"x" * 50_000 + b"\x1b[?2004$p") == b"\x1b[?2004;1$y"
    assert sum(fed) < FLOOD_BYTES


def test_a_defect_of_one_picture_does_not_end_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(Terminal, "move", broken)
    monkeypatch.setattr(Display, "feed_some", broken)
    ended: list[str] = []
    terminal = opened(tmp_path)
    task: Any = SimpleNamespace(name="PROC-001", feeds_at=0.0, terminal=terminal, end=ended.append)
    host: Any = SimpleNamespace(_tasks={task.name: task})
    Host._moves(host, task)
    Host._feed_a_display(host)
    assert capsys.readouterr().err.count("RuntimeError: a defect") == 2
    assert (ended, terminal.is_open) == (["host_lost"], False)  # or it would be ready for ever
    task.terminal.close()


def test_a_question_that_comes_in_single_bytes_is_answered(tmp_path: Path) -> None:
    display = Display(tmp_path, 24, 80)
    said = [display.add(b"\x1b[?2004$p"[at : at + 1]) for at in range(9)]
    assert said == [b""] * 8 + [b"\x1b[?2004;2$y"]
