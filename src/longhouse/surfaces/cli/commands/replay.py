"""`longhouse replay`: see a program do again what it did; nothing is run."""

from __future__ import annotations

import math
import os
import select
import sys
import time

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.recordings import Recording, recording_named
from longhouse.surfaces.cli.spec import Arg, Command, Flag
from longhouse.surfaces.cli.terminal import RawTerminal, Stopped
from longhouse.terminals import recording as rec

AT_ONCE = "max"
_AT_MOST_S = 60.0
"""One wait is no longer, since the system takes none of many days."""
_ENOUGH = b"q\x03\x1d"
"""q, Ctrl-C and Ctrl-] end it."""


def run(cli: Cli, source: str, speed: str | None = None) -> int:
    pace = _pace(speed)
    recording = recording_named(cli, source)
    header = next(recording)
    assert isinstance(header, rec.Header)
    if header.mode != "pty" or not sys.stdout.isatty():
        return _print(recording, pace if speed else 0.0)
    if not sys.stdin.isatty():
        raise InvalidInput(
            "replay shows this on a terminal, and needs its keyboard to be stopped",
            recovery=f"write it to a file instead: longhouse replay {source} > FILE",
        )
    with RawTerminal() as terminal:
        try:
            end = _play(recording, terminal, pace)
        except Stopped as stopped:
            return 128 + stopped.number
    if end is not None:
        code = "" if end.exit_code is None else f" with code {end.exit_code}"
        cli.out.progress(f"\n{source} {end.status}{code}; nothing was run")
    return 0


def _pace(speed: str | None) -> float:
    """Seconds that a millisecond of the recording takes."""
    if speed == AT_ONCE:
        return 0.0
    try:
        times = float(speed or 1)
    except ValueError:
        times = 0.0
    if not (math.isfinite(times) and times > 0):
        raise InvalidInput(f"--speed: {speed!r} is no speed", recovery="--speed 2")
    return 0.001 / times


def _print(recording: Recording, pace: float) -> int:
    """Write the bytes to where they go; on a terminal, lines that cannot steer it."""
    started = time.monotonic()
    for event in recording:
        if not isinstance(event, rec.Output):
            continue
        while (left := started + event.at * pace - time.monotonic()) > 0:
            time.sleep(min(left, _AT_MOST_S))
        target = sys.stderr if event.stream == "stderr" else sys.stdout
        if target.isatty():
            text = event.data.decode("utf-8", "replace")
            target.write("\n".join(tame(line) for line in text.split("\n")))
        else:
            target.buffer.write(event.data)
        target.flush()
    return 0


def _play(recording: Recording, terminal: RawTerminal, pace: float) -> rec.End | None:
    """Show it as it went; None if somebody has seen enough."""
    started = time.monotonic()
    for event in recording:
        if isinstance(event, rec.Output):
            if not _wait(terminal, started + event.at * pace):
                return None
            terminal.show(event.data)
        elif isinstance(event, rec.End):
            return event if _wait(terminal, started + event.at * pace) else None
    return None


def _wait(terminal: RawTerminal, until: float) -> bool:
    """Wait for that time and for the screen; what is typed meanwhile goes nowhere."""
    while terminal.backlog or time.monotonic() < until:
        look = select.poll()
        look.register(terminal.keys, select.POLLIN)
        look.register(terminal.bell, select.POLLIN)
        if terminal.backlog:
            look.register(terminal.screen, select.POLLOUT)
        left = min(max(0.0, until - time.monotonic()), _AT_MOST_S)
        ready = dict(look.poll(left * 1000 or 100))
        if terminal.bell in ready:
            terminal.heard()
        if terminal.screen in ready:
            terminal.drain()
        if terminal.keys in ready:
            typed = _typed(terminal.keys)
            if not typed or any(key in _ENOUGH for key in typed):
                return False
    return True


def _typed(keys: int) -> bytes:
    try:
        return os.read(keys, 4_096)
    except OSError:
        return b""


command = Command(
    "replay",
    "See a program do again what it did; nothing is run",
    args=[Arg("source", "a task that has ended, or the file of a recording")],
    flags=[Flag("speed", "how many times as fast, such as 2 or 0.5; max waits for nothing", "N")],
    run=run,
    details="q, Ctrl-C or Ctrl-] ends it. What the program asked of its terminal is left out, so "
    "nothing is answered, and what is typed goes nowhere. Written to a file or a pipe, it comes "
    "at once and byte for byte, unless --speed says otherwise.",
    examples=["longhouse replay PROC-001 --speed 4", "longhouse replay session.jsonl"],
)
