"""The terminal of a task: the host owns its master; the slave is the program's standard files.

Nothing here blocks. Input goes into a queue and from there into the terminal as the program reads,
so a program that never reads blocks neither output nor control. Input itself is stored nowhere,
only its length. Terminal queries by the program are answered here, by `display.py`.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from collections.abc import Callable
from pathlib import Path

__all__ = ["QUEUE_BYTES", "Terminal"]

QUEUE_BYTES = 64 * 1024
LINE_BYTES = 4_095
"""The longest line a terminal accepts while the program reads line by line."""
_LINE_ENDS = re.compile(rb"[\r\n\x03\x04\x15]")
"""These (including Ctrl-C, Ctrl-D and Ctrl-U) empty the terminal's line buffer."""
_AT_A_TIME = 64 * 1024
_TURNS = 16


class Terminal:
    """One pseudo-terminal, the log of its output, and its screen."""

    def __init__(self, folder: Path, rows: int, cols: int, log: int) -> None:
        from longhouse.runner.host.display import Display  # only a host with terminals needs it

        self.display = Display(folder, rows, cols)
        size = _size(rows, cols)
        try:
            self.master, self._slave = os.openpty()
        except OSError as error:
            raise OSError(error.errno, f"no terminal available: {error.strerror}") from error
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        os.set_blocking(self.master, False)
        self._log = log
        self._typed = bytearray()
        self._line = 0
        """The length of the unfinished input line, while the program reads line by line."""
        self.trouble: str | None = None
        """Why the log is missing some output."""
        self.is_open = True
        """Whether the program still has it open; only then is there output or input."""
        self.on_close: Callable[[int], object] = lambda _master: None
        """Called with the master when no more output will come."""

    @property
    def wants_to_write(self) -> bool:
        return bool(self._typed)

    def take_control(self) -> int:
        """In the child, a session leader: make this its terminal; returns the descriptor."""
        fcntl.ioctl(self._slave, termios.TIOCSCTTY, 0)
        return self._slave

    def close_slave(self) -> None:
        """Call once the child has it; otherwise the master would never see the end."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def move(self) -> bool:
        """Write queued input and log output, without blocking; True if there was output."""
        if not self.is_open:
            return False
        self._type()
        read, is_over = self._read()
        if read:
            data = b"".join(read)
            if kept := self._write(data):
                self._answer(self.display.add(data[:kept]))
        if is_over:
            self.leave()
        return bool(read)

    def _read(self) -> tuple[list[bytes], bool]:
        """The output available now, up to a bound, and whether it was the last."""
        read: list[bytes] = []
        while len(read) < _TURNS:
            try:
                data = os.read(self.master, _AT_A_TIME)
            except BlockingIOError:
                return read, False
            except OSError:  # EIO: no process has the slave open anymore
                return read, True
            if not data:
                return read, True
            read.append(data)
        return read, False

    def _write(self, data: bytes) -> int:
        """Log output; returns how much was written. A full disk must not end the task."""
        done = 0
        try:
            while done < len(data):
                done += os.write(self._log, memoryview(data)[done:])
        except OSError as error:
            self.trouble = f"some output could not be stored: {error.strerror}"
        return done

    def _answer(self, said: bytes) -> None:
        """Queue the reply to a terminal query; dropped if the program does not read."""
        if said and len(self._typed) + len(said) <= QUEUE_BYTES:
            self._typed += said
            self._type()

    def type(self, data: bytes, *, eof: bool = False) -> str | None:
        """Queue input; returns the reason if it is refused."""
        if eof:
            data += termios.tcgetattr(self.master)[6][termios.VEOF]
        if len(self._typed) + len(data) > QUEUE_BYTES:
            return f"the program does not read: {len(self._typed)} bytes are already waiting"
        line = 0
        if termios.tcgetattr(self.master)[3] & termios.ICANON:
            first, *more = map(len, _LINE_ENDS.split(data))
            lines = [self._line + first, *more]
            if max(lines) > LINE_BYTES:
                return f"a line has over {LINE_BYTES} bytes, and the terminal would cut it"
            line = lines[-1]
        self._line = line
        self._typed += data
        self._type()
        return None

    def resize(self, rows: int, cols: int) -> None:
        size = _size(rows, cols)
        self.display.resize(rows, cols)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def signal(self, number: int) -> None:
        """Signal the foreground process group; OSError if there is none."""
        os.killpg(os.tcgetpgrp(self.master), number)

    def close(self) -> None:
        """Close everything once the program has ended."""
        self.close_slave()
        self.leave()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
            os.close(self._log)

    def leave(self) -> None:
        """Stop reading. The master stays open: closing it would send SIGHUP to a program that
        closed its terminal, as many do just before they exit."""
        if self.is_open:
            self.on_close(self.master)
            self.is_open = False

    def _type(self) -> None:
        try:
            while self._typed:
                del self._typed[: os.write(self.master, self._typed)]
        except BlockingIOError:
            return
        except OSError:
            self._typed.clear()


def _size(rows: int, cols: int) -> bytes:
    """The size in the kernel's format; ValueError if it is impossible."""
    if not (0 < rows < 65_536 and 0 < cols < 65_536):
        raise ValueError(f"a terminal cannot have {rows} rows and {cols} columns")
    return struct.pack("4H", rows, cols, 0, 0)
