"""The terminal of a task: the host owns its master; the program has the slave as its three files.

Nothing waits here. What is typed goes into a queue and from there into the terminal as the program
reads, so a program that never reads holds up neither output nor control. What was typed is written
down nowhere, only how much. What the program asks its terminal is answered here, by `display.py`.
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
"""The most that a terminal takes as one line while the program reads by lines."""
_LINE_ENDS = re.compile(rb"[\r\n\x03\x04\x15]")
"""After these (Ctrl-C, Ctrl-D and Ctrl-U too) nothing of a line is left in the terminal."""
_AT_A_TIME = 64 * 1024
_TURNS = 16


class Terminal:
    """One pseudo-terminal, the log of what it shows, and what it looks like."""

    def __init__(self, folder: Path, rows: int, cols: int, log: int) -> None:
        from longhouse.runner.host.display import Display  # only a host with terminals needs it

        self.display = Display(folder, rows, cols)
        size = _size(rows, cols)
        try:
            self.master, self._slave = os.openpty()
        except OSError as error:
            raise OSError(error.errno, f"no terminal is free: {error.strerror}") from error
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        os.set_blocking(self.master, False)
        self._log = log
        self._typed = bytearray()
        self._line = 0
        """How long the line is that was begun, while the program reads by lines."""
        self.trouble: str | None = None
        """Why the log lacks some of what it showed."""
        self.is_open = True
        """Whether the program has it: only then is anything shown, or taken."""
        self.on_close: Callable[[int], object] = lambda _master: None
        """Told the master when nothing more will come of it."""

    @property
    def wants_to_write(self) -> bool:
        return bool(self._typed)

    def take_control(self) -> int:
        """In the child, which leads a session: make this its terminal; the descriptor of it."""
        fcntl.ioctl(self._slave, termios.TIOCSCTTY, 0)
        return self._slave

    def close_slave(self) -> None:
        """As soon as the child has it: else the master would never see the end."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def move(self) -> bool:
        """Type what is queued and log what is shown, as far as both go now; True if it showed."""
        if not self.is_open:
            return False
        self._type()
        read, is_over = self._read()
        if read:
            data = b"".join(read)
            if kept := self._write(data):
                self._answer(self.display.add(data[:kept]))
        if is_over:
            self._leave()
        return bool(read)

    def _read(self) -> tuple[list[bytes], bool]:
        """What it shows now, up to a bound, and whether nothing more will come."""
        read: list[bytes] = []
        while len(read) < _TURNS:
            try:
                data = os.read(self.master, _AT_A_TIME)
            except BlockingIOError:
                return read, False
            except OSError:  # EIO: nobody has the slave open any more
                return read, True
            if not data:
                return read, True
            read.append(data)
        return read, False

    def _write(self, data: bytes) -> int:
        """Log it; how much of it could be. The disk may be full, which must end nothing."""
        done = 0
        try:
            while done < len(data):
                done += os.write(self._log, memoryview(data)[done:])
        except OSError as error:
            self.trouble = f"not all that it showed could be kept: {error.strerror}"
        return done

    def _answer(self, said: bytes) -> None:
        """Type what the program asked for; where it does not read, it does not get it."""
        if said and len(self._typed) + len(said) <= QUEUE_BYTES:
            self._typed += said
            self._type()

    def type(self, data: bytes, *, eof: bool = False) -> str | None:
        """Queue what somebody typed; why not, if it cannot be."""
        if eof:
            data += termios.tcgetattr(self.master)[6][termios.VEOF]
        if len(self._typed) + len(data) > QUEUE_BYTES:
            return f"the program does not read: {len(self._typed)} bytes wait already"
        line = 0
        if termios.tcgetattr(self.master)[3] & termios.ICANON:
            first, *more = map(len, _LINE_ENDS.split(data))
            lines = [self._line + first, *more]
            if max(lines) > LINE_BYTES:
                return f"a line is over {LINE_BYTES} bytes, and the terminal would cut it"
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
        """To the group in the foreground; OSError when there is none."""
        os.killpg(os.tcgetpgrp(self.master), number)

    def close(self) -> None:
        """When the program has ended."""
        self.close_slave()
        self._leave()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
            os.close(self._log)

    def _leave(self) -> None:
        """Read no more. The master stays: without it the system would hang up on a program that
        let go of its terminal, as many do just before they exit, and end it by a signal."""
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
    """A size as the system takes it; ValueError for one that no terminal has."""
    if not (0 < rows < 65_536 and 0 < cols < 65_536):
        raise ValueError(f"no terminal has {rows} rows and {cols} columns")
    return struct.pack("4H", rows, cols, 0, 0)
