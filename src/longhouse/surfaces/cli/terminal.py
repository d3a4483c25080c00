"""Lends the user's terminal to a program running elsewhere, and always restores it.

However the loan ends (an error, a signal, a lost server), the terminal settings, the screen and the
signal handlers are put back.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from longhouse.kernel.errors import InvalidInput
from longhouse.terminals import Passive

__all__ = ["RawTerminal", "Stopped", "need_terminal"]

_STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_PIECE = 16_384


class Stopped(Exception):
    """A signal asked this process to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def need_terminal(what: str, instead: str) -> None:
    """Refuse to go on without a terminal to show output on and to type into."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(f"{what} needs a terminal, and this is not one", recovery=instead)


class RawTerminal:
    """The terminal in raw mode while entered: keys are read one by one, output is not processed.

    Queries that a program sends to its terminal are filtered out, because its host answers them.
    """

    def __init__(self) -> None:
        self.keys = sys.stdin.fileno()
        self._passive = Passive()
        self._waiting = bytearray()
        self._signals: list[int] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        sys.stdout.flush()
        self._before = termios.tcgetattr(self.keys)
        self._screen = self._own_way_to_the_screen()
        self.bell, self._told = os.pipe()
        for end in (self.bell, self._told):
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._told, warn_on_full_buffer=False)
        for number in (*_STOPS, signal.SIGWINCH, signal.SIGCONT):
            self._handlers[number] = signal.signal(number, self._heard)
        tty.setraw(self.keys, termios.TCSADRAIN)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._show_the_rest()
        finally:
            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(self.keys, termios.TCSAFLUSH, self._before)
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._wakeup)
            for end in (self.bell, self._told, self._screen):
                os.close(end)

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns."""
        try:
            columns, rows = os.get_terminal_size(self.keys)
        except OSError:
            return 24, 80
        return max(1, rows), max(1, columns)

    @property
    def backlog(self) -> int:
        """How many bytes are still waiting to be written to the screen."""
        return len(self._waiting)

    @property
    def screen(self) -> int:
        """The descriptor `drain` writes to, to poll until it is writable."""
        return self._screen

    def show(self, data: bytes) -> None:
        self._waiting += self._passive.feed(data)

    def show_anew(self, data: bytes) -> None:
        """Discard output not shown yet, and show a whole screen instead."""
        undo = self._passive.undo
        self._waiting.clear()
        self._passive = Passive()
        self._waiting += undo + b"\x1b[H\x1b[2J"
        self.show(data)

    def ring(self) -> None:
        self._waiting += b"\a"

    def drain(self) -> None:
        """Write as much as the screen takes without blocking."""
        while self._waiting:
            try:
                written = os.write(self._screen, self._waiting[:_PIECE])
            except BlockingIOError:
                return
            del self._waiting[:written]

    def heard(self) -> set[int]:
        """The signals since the last call; raises Stopped for one that asks us to stop."""
        with suppress(BlockingIOError):
            while os.read(self.bell, 256):
                pass
        heard, self._signals = self._signals, []
        for number in heard:
            if number in _STOPS:
                raise Stopped(number)
        if signal.SIGCONT in heard:  # the shell may have changed the mode in the meantime
            tty.setraw(self.keys, termios.TCSADRAIN)
        return set(heard)

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)

    def _own_way_to_the_screen(self) -> int:
        """A separate descriptor, so that making it non-blocking affects no other process."""
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            return os.open(os.ttyname(sys.stdout.fileno()), flags)
        except OSError:
            return os.dup(sys.stdout.fileno())

    def _show_the_rest(self) -> None:
        """Show what is left, then undo the program's modes; a stuck screen gets one second."""
        self._waiting += self._passive.undo
        look = select.poll()
        look.register(self._screen, select.POLLOUT)
        for _ in range(10):
            with suppress(OSError):
                self.drain()
            if not self._waiting:
                return
            look.poll(100)
