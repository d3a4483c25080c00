"""A person at a terminal: the real `longhouse` on a real pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.runner.processes import environment

_PATIENCE_S = 90.0


LONGHOUSE = (sys.executable, "-P", "-m", "longhouse")


def at_longhouse(base: Path, *words: str, argv: Sequence[str] = LONGHOUSE, **size: int) -> Person:
    """A person who types this command line, for the store of `base`."""
    store = ("--dir", str(base / ".longhouse"), "--workspace", "acme")
    return Person([*argv, *store, *words], base, environment(base), **size)


class Person:
    """Types into one program and reads its screen."""

    def __init__(
        self,
        argv: Sequence[str],
        where: Path,
        environ: dict[str, str],
        *,
        rows: int = 24,
        cols: int = 80,
    ) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(rows, cols, tell=False)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.process = subprocess.Popen(
            argv,
            cwd=where,
            env={**environ, "TERM": "xterm-256color"},
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            preexec_fn=_own_terminal,  # noqa: PLW1509  (these tests have one thread)
        )

    def resize(self, rows: int, cols: int, *, tell: bool = True) -> None:
        size = struct.pack("HHHH", rows, cols, 0, 0)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def sees(self, words: bytes, *, after: int = 0) -> int:
        """Wait until it is shown; returns how much was seen by then."""
        ends = time.monotonic() + _PATIENCE_S
        while words not in self.seen[after:]:
            assert time.monotonic() < ends, (words, self.seen[-2_000:])
            self.look(0.1)
        return len(self.seen)

    def look(self, seconds: float = 0.0) -> bytes:
        """Read what is available."""
        while select.select([self.master], [], [], seconds)[0]:
            self.seen += os.read(self.master, 65_536)
            seconds = 0.0
        return self.seen

    def leaves(self) -> int:
        """Wait until it exits; returns its exit code."""
        ends = time.monotonic() + _PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < ends, self.seen[-2_000:]
            self.look(0.05)
        self.look()
        return self.process.returncode

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal has its original settings again."""
        return _settings(self.slave) == _plain(self.before)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _settings(fd: int) -> list[Any]:
    return _plain(termios.tcgetattr(fd))


def _plain(settings: list[Any]) -> list[Any]:
    return settings[:4]
