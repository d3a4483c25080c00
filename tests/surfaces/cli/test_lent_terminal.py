"""The terminal that a command borrows, in this process: output, keys, and its restoration."""

from __future__ import annotations

import os
import pty
import signal
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhouse.surfaces.cli import main
from tests.processes.kit import RECORDED
from tests.runner.tool_tasks.kit import TaskDesk
from tests.surfaces.cli.conftest import Shell
from tests.surfaces.cli.test_attach import started

CAST = (
    '{"version":3,"term":{"cols":90,"rows":20},"timestamp":1800000000}\n'
    '[0.0,"o","\\u001b[?1049hone\\r\\n"]\n[%s,"o","two\\r\\n"]\n[0.0,"x","4"]\n'
)


class Seat:
    """A pseudo-terminal, and a person who responds to what it shows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (24, 80))
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""

    def run(self, *argv: str, shown: bytes = b"", typed: bytes = b"", sent: int = 0) -> int:
        """Run a command line here; once `shown` is seen, type something or send a signal."""

        def watch() -> None:
            answered = False
            while not self.seen.endswith(b"\0over"):
                self.seen += os.read(self.master, 65_536)
                if shown and shown in self.seen and not answered:
                    answered = True
                    os.write(self.master, typed)
                    if sent:
                        os.kill(os.getpid(), sent)

        watcher = threading.Thread(target=watch)
        with (
            os.fdopen(os.dup(self.slave)) as keys,
            os.fdopen(os.dup(self.slave), "w", encoding="utf-8") as screen,
            self._patch.context() as patch,
        ):
            patch.setattr("sys.stdin", keys)
            patch.setattr("sys.stdout", screen)
            patch.setattr("sys.stderr", screen)
            watcher.start()
            try:
                return main(list(argv))
            finally:
                screen.flush()
                os.write(self.slave, b"\0over")
                watcher.join()

    @property
    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]


@pytest.fixture
def seat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seat]:
    made = Seat(monkeypatch)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGWINCH)}
    yield made
    assert made.is_as_before
    assert {number: signal.getsignal(number) for number in handlers} == handlers
    for end in (made.master, made.slave):
        os.close(end)


def cast(sh: Shell, pause: float) -> str:
    path = sh.root / "demo.cast"
    path.write_text(CAST % pause)
    return str(path)


def test_a_replay_shows_all_of_it_and_gives_the_screen_back(sh: Shell, seat: Seat) -> None:
    assert seat.run("replay", cast(sh, 0.05)) == 0
    assert seat.seen.index(b"one") < seat.seen.index(b"two") < seat.seen.index(b"\x1b[?1049l")
    assert b"demo.cast exited with code 4; nothing was executed" in seat.seen


@pytest.mark.parametrize("keys", [b"xq", b"\x1d", b"\x03"])
def test_who_has_seen_enough_of_a_replay_ends_it(sh: Shell, seat: Seat, keys: bytes) -> None:
    assert seat.run("replay", cast(sh, 9_000.0), shown=b"one", typed=keys) == 0
    assert b"two" not in seat.seen
    assert b"\x1b[?1049l" in seat.seen


def test_a_signal_ends_a_replay_with_its_number(sh: Shell, seat: Seat) -> None:
    ran = seat.run("replay", cast(sh, 9_000.0), shown=b"one", sent=signal.SIGTERM)
    assert ran == 128 + signal.SIGTERM


def test_a_replay_needs_a_keyboard_to_be_stopped_by(
    sh: Shell, seat: Seat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cast(sh, 0.0)
    with os.fdopen(os.dup(seat.slave), "w") as screen, (tmp_path / "keys").open("w+") as keys:
        monkeypatch.setattr("sys.stdout", screen)
        monkeypatch.setattr("sys.stdin", keys)
        assert main(["replay", file]) == 2
        monkeypatch.undo()


def test_a_program_without_a_terminal_is_replayed_as_lines_that_steer_none(
    sh: Shell, seat: Seat
) -> None:
    file = sh.root / "session.jsonl"
    file.write_text(RECORDED)
    assert seat.run("replay", str(file)) == 0
    assert seat.seen.startswith(b"hi\r\n")


def test_a_task_that_has_ended_shows_its_last_screen_to_who_attaches(sh: Shell, seat: Seat) -> None:
    assert sh("recording", "import", cast(sh, 0.0)).code == 0
    assert seat.run("attach", "PROC-001") == 4
    assert b"two" in seat.seen
    assert b"PROC-001 has finished (exited); to replay it: longhouse replay PROC-001" in seat.seen


def test_who_attaches_is_heard_until_the_program_ends(seat: Seat, tmp_path: Path) -> None:
    desk = TaskDesk(tmp_path)
    try:
        store = ("--dir", str(tmp_path / ".longhouse"), "--workspace", "acme")
        task = started(desk)
        assert seat.run(*store, "attach", task, shown=b"ready", typed=b"one\n\x1d") == 0
        assert f"to return: longhouse attach {task}".encode() in seat.seen
        seat.seen = b""
        assert seat.run(*store, "attach", task, shown=b"got one", typed=b"\x04") == 7
        assert b"over" in seat.seen
    finally:
        desk.close()
