"""Tasks in a terminal: output is logged and input is delivered, in order."""

from __future__ import annotations

import base64
import errno
import os
import stat
import struct
from pathlib import Path
from typing import Any

import pytest

from longhouse.runner.host import terminal
from longhouse.runner.host.hashing import Hasher
from longhouse.runner.host.task import HostedTask
from longhouse.runner.host.terminal import Terminal
from tests.runner.host.kit import Hosted, lives
from tests.runner.processes import until

PTY = {"mode": "pty", "rows": 24, "cols": 80}


def shown(host: Hosted, task: str, words: bytes) -> bytes:
    until(
        lambda: words in host.log(task, "pty"), f"{words!r}: ", lambda: str(host.log(task, "pty"))
    )
    return host.log(task, "pty")


def control(host: Hosted, task: str, op: str, op_id: str, **more: Any) -> dict[str, Any]:
    said: dict[str, Any] = host.client.ask("control", task=task, op=op, op_id=op_id, **more)["op"]
    return said


def type_in(host: Hosted, task: str, text: bytes, op_id: str = "op-1") -> dict[str, Any]:
    return control(host, task, "stdin", op_id, chunk_b64=base64.b64encode(text).decode())


def opened(folder: Path, log: int | None = None) -> Terminal:
    """A terminal without a program; input is echoed."""
    file = os.open(folder / "pty.log", os.O_WRONLY | os.O_CREAT) if log is None else log
    return Terminal(folder, 24, 80, file)


def test_a_program_in_a_terminal_has_one_and_ends_with_its_code(host: Hosted) -> None:
    task = host.bash("test -t 0 && test -t 1 && test -t 2 && stty size && tty; exit 5", **PTY)
    ended = host.ended(task)
    assert (ended["code"], ended["signal"], ended["cause"]) == (5, None, None)
    assert host.log(task, "pty").startswith(b"24 80\r\n/dev/pts/")
    assert ended["streams"]["pty"]["bytes"] == len(host.log(task, "pty"))


def test_the_host_holds_the_master_alone_and_only_while_the_task_runs(host: Hosted) -> None:
    def terminals() -> list[str]:
        files = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
        return [name for name in files if "pts" in name or "ptmx" in name]

    pid = host.pid
    task = host.bash("echo ready; read -r line", **PTY)
    shown(host, task, b"ready")
    assert [Path(name).name for name in terminals()] == ["ptmx"]
    host.cancel(task)
    host.ended(task)
    assert terminals() == []


@pytest.mark.parametrize("rows, cols", [(0, 80), (24, 0), (65_536, 80), (24, 65_536), (-1, 80)])
def test_an_impossible_size_is_refused(rows: int, cols: int) -> None:
    with pytest.raises(ValueError, match=f"{rows} rows and {cols} columns"):
        terminal._size(rows, cols)
    assert terminal._size(1, 65_535) == struct.pack("4H", 1, 65_535, 0, 0)


def test_the_door_of_the_host_is_for_its_owner_alone(host: Hosted) -> None:
    assert host.pid
    (door,) = [one for one in host.folder.iterdir() if one.is_socket()]
    assert stat.S_IMODE(door.stat().st_mode) == 0o600


def test_what_is_typed_is_read_and_resizing_and_signals_reach_the_program(host: Hosted) -> None:
    script = "trap 'echo int' INT; trap 'stty size' WINCH; echo ready; "
    task = host.bash(script + "while read -r line || true; do echo got $line; done", **PTY)
    shown(host, task, b"ready")
    assert type_in(host, task, b"hello\n")["bytes"] == 6
    shown(host, task, b"got hello")
    resized = control(host, task, "resize", "op-2", rows=30, cols=100)
    assert (resized["rows"], resized["cols"]) == (30, 100)
    type_in(host, task, b"\n", "op-3")
    shown(host, task, b"30 100")
    signalled = control(host, task, "signal", "op-4", signal="INT")
    assert signalled["signal"] == "INT"
    type_in(host, task, b"\n", "op-5")
    shown(host, task, b"int")
    ops = [one for one in host.records(task) if one["kind"] == "op"]
    assert [one["op_id"] for one in ops] == ["op-1", "op-2", "op-3", "op-4", "op-5"]
    assert [one["offsets"]["pty"] for one in ops] == sorted(one["offsets"]["pty"] for one in ops)
    assert "hello" not in (host.folder / task / "journal.jsonl").read_text()
    host.cancel(task, "op-9")
    assert host.ended(task)["cause"] == "cancelled"


def test_the_end_of_input_ends_a_program_that_reads(host: Hosted) -> None:
    task = host.bash("echo ready; cat; echo over", **PTY)
    shown(host, task, b"ready")
    control(host, task, "stdin", "op-1", chunk_b64=base64.b64encode(b"a line\n").decode(), eof=True)
    assert host.ended(task)["code"] == 0
    assert host.log(task, "pty").endswith(b"a line\r\nover\r\n")


def test_a_program_that_never_reads_holds_up_nothing(host: Hosted) -> None:
    task = host.bash("stty raw -echo; echo ready; while :; do echo tick; sleep 0.05; done", **PTY)
    shown(host, task, b"ready")
    said = [type_in(host, task, b"x" * 8_000, f"op-{n}") for n in range(20)]
    assert "bytes" in said[0]
    assert "the program does not read" in said[-1]["failed"]
    size = len(host.log(task, "pty"))
    until(lambda: len(host.log(task, "pty")) > size, "output goes on")
    host.cancel(task, "op-99")
    assert host.ended(task)["cause"] == "cancelled"


def test_a_line_that_the_terminal_would_cut_is_refused(host: Hosted) -> None:
    task = host.bash("echo ready; cat", **PTY)
    shown(host, task, b"ready")
    said = type_in(host, task, b"x" * 4_096)
    assert said["failed"] == "a line has over 4095 bytes, and the terminal would cut it"
    host.cancel(task, "op-2")
    host.ended(task)


def test_a_line_that_comes_in_parts_is_measured_as_a_whole(tmp_path: Path) -> None:
    terminal = opened(tmp_path)
    assert terminal.type(b"one\n" + b"x" * 4_000) is None
    assert "a line has over" in (terminal.type(b"x" * 96) or "")
    assert terminal.type(b"x" * 95) is None
    assert terminal.type(b"\x15" + b"x" * 4_000) is None
    terminal.close()


def test_a_full_disk_loses_output_and_says_so_but_ends_nothing(tmp_path: Path) -> None:
    terminal = opened(tmp_path, log=os.open("/dev/full", os.O_WRONLY))
    terminal.type(b"echoed\n")
    until(terminal.move, "it shows what was typed")
    assert terminal.is_open
    assert terminal.trouble == "some output could not be stored: No space left on device"
    assert terminal.display.wakes_at is None  # the screen shows only what was stored
    terminal.close()


def test_a_terminal_that_its_program_closed_takes_nothing_any_more(host: Hosted) -> None:
    closes = "exec <&- >&- 2>&-"
    task = host.bash(f"echo ready; {closes}; while :; do sleep 0.05; done", **PTY)
    shown(host, task, b"ready")
    count = iter(range(10_000))

    def said(op: str, **more: Any) -> object:
        return control(host, task, op, f"op-{next(count)}", **more).get("failed")

    until(lambda: said("resize", rows=3, cols=9) == "the terminal is closed", "it is closed")
    assert said("signal", signal="INT") == "the terminal is closed"
    host.cancel(task, "op-end")
    host.ended(task)


def test_a_program_that_lets_go_of_its_terminal_is_not_hung_up_on(host: Hosted) -> None:
    ended = host.ended(host.bash("exec <&- >&- 2>&-; sleep 0.3; exit 7", **PTY))
    assert (ended["code"], ended["signal"]) == (7, None)


def test_a_terminal_task_does_not_wait_for_a_process_that_holds_the_terminal(host: Hosted) -> None:
    task = host.bash(
        "trap '' HUP; (trap '' HUP TERM; sleep 300) & echo $!; exit 0", **PTY, grace_ms=200
    )
    ended = host.ended(task)
    assert ended["code"] == 0
    assert not lives(int(host.log(task, "pty")))


@pytest.mark.parametrize("size", [100_000])
def test_every_byte_of_a_flood_is_logged(host: Hosted, size: int) -> None:
    task = host.bash(f"stty -opost; head -c {size} /dev/zero | tr '\\0' 'x'", **PTY)
    host.ended(task)
    assert host.log(task, "pty") == b"x" * size


def test_a_killed_host_ends_a_terminal_task_with_that_cause(host: Hosted) -> None:
    task = host.bash("echo ready; trap '' HUP; while :; do sleep 0.05; done", **PTY)
    shown(host, task, b"ready")
    pid = host.started(task)["pid"]
    host.kill()
    host.client.ask("list")
    ended = host.ended(task)
    assert (ended["code"], ended["cause"]) == (None, "host_lost")
    assert not lives(pid)


def files_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_hundreds_of_terminals_leave_no_descriptor_behind(host: Hosted) -> None:
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "it ends": ("true", {}),
        "it leaves a process behind": ("setsid sleep 9 & true", {}),
        "there is no such program": ("", {"argv": ["no-such-program"]}),
        "there is no such folder": ("true", {"cwd": "missing"}),
        "no terminal has that size": ("true", {"rows": 0}),
        "its size is missing": ("true", {"rows": None}),
    }
    host.ended(host.bash("true", **PTY))
    pid = host.pid
    before = files_of(pid)
    refused = set[str]()
    for _ in range(5):
        tasks = [host.spawn("true", **PTY) for _ in range(40)]
        for way, (line, more) in ways.items():
            said = host.ask("sh", "-c", line, **{**PTY, "grace_ms": 50, **more})
            if "error" in said:
                refused.add(way)
            else:
                tasks.append(said["task"])
        for task in tasks:
            host.ended(task)
    assert refused == set(ways) - {"it ends", "it leaves a process behind"}
    assert files_of(pid) == before


def test_a_machine_without_a_free_terminal_refuses_the_task_and_keeps_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_free() -> tuple[int, int]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "openpty", none_free)
    asked = {**PTY, "task": "PROC-001", "root": str(tmp_path), "argv": ["true"], "env": {}}
    hasher = Hasher()
    before = files_of(os.getpid())
    for _ in range(3):
        with pytest.raises(OSError, match="no terminal available: No space left"):
            HostedTask.start(tmp_path, "host", asked, hasher)
    assert files_of(os.getpid()) == before
