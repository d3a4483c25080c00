"""The terminal of whoever runs us, lent to a program elsewhere and always given back as it was.

Whatever ends the loan (an error, a signal, a server that is gone), the settings, the screen and the
handlers of signals are those of before.
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
from longhouse.terminals.passive import Passive

__all__ = ["RawTerminal", "Stopped", "need_terminal"]

_STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_PIECE = 16_384


class Stopped(Exception):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def need_terminal(what: str, instead: str) -> None:
    """Refuse to go on where nobody could see or type anything."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(f"{what} needs a terminal, and this is none", recovery=instead)


class RawTerminal:
    """Raw while it is entered: every key is read as it comes, and what is shown is shown as it is.

    What a program asks of a terminal does not get through, because its own host answers that.
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
            with suppress(termios.error):  # the terminal itself may be gone
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
        """How many bytes the screen has not taken yet."""
        return len(self._waiting)

    @property
    def screen(self) -> int:
        """Where `drain` writes; wait until it can."""
        return self._screen

    def show(self, data: bytes) -> None:
        self._waiting += self._passive.feed(data)

    def show_anew(self, data: bytes) -> None:
        """Show a whole screen in the place of everything that was not shown yet."""
        undo = self._passive.undo
        self._waiting.clear()
        self._passive = Passive()
        self._waiting += undo + b"\x1b[H\x1b[2J"
        self.show(data)

    def ring(self) -> None:
        self._waiting += b"\a"

    def drain(self) -> None:
        """Write as much as the screen takes without waiting for it."""
        while self._waiting:
            try:
                written = os.write(self._screen, self._waiting[:_PIECE])
            except BlockingIOError:
                return
            del self._waiting[:written]

    def heard(self) -> set[int]:
        """The signals since the last look; Stopped for one that asks us to end."""
        with suppress(BlockingIOError):
            while os.read(self.bell, 256):
                pass
        heard, self._signals = self._signals, []
        for number in heard:
            if number in _STOPS:
                raise Stopped(number)
        if signal.SIGCONT in heard:  # a shell may have changed it meanwhile
            tty.setraw(self.keys, termios.TCSADRAIN)
        return set(heard)

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)

    def _own_way_to_the_screen(self) -> int:
        """A descriptor of our own: whether it waits is nobody else's business."""
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            return os.open(os.ttyname(sys.stdout.fileno()), flags)
        except OSError:
            return os.dup(sys.stdout.fileno())

    def _show_the_rest(self) -> None:
        """Undo what the program set, after what is left to show; a stuck screen gets a second."""
        self._waiting += self._passive.undo
        look = select.poll()
        look.register(self._screen, select.POLLOUT)
        for _ in range(10):
            with suppress(OSError):
                self.drain()
            if not self._waiting:
                return
            look.poll(100)
