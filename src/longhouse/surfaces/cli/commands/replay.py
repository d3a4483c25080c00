"""`longhouse replay`: replay what a program did; nothing is executed."""

from __future__ import annotations

import math
import os
import select
import sys
import time

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.recordings import Recording, recording_named
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown
from longhouse.surfaces.cli.terminal import RawTerminal, Stopped
from longhouse.terminals import recording as rec

AT_ONCE = "max"
_AT_MOST_S = 60.0
"""The longest single wait: the system rejects waits of many days."""
_ENOUGH = b"q\x03\x1d"
"""The keys that end a replay: q, Ctrl-C and Ctrl-]."""


def run(cli: Cli, source: str, speed: str | None = None) -> Shown | int:
    pace = _pace(speed)
    recording = recording_named(cli, source)
    header = next(recording)
    assert isinstance(header, rec.Header)
    if cli.as_json:
        events = [msgspec.to_builtins(event) for event in recording]
        whole = {"source": source, "recording": msgspec.to_builtins(header), "events": events}
        return Shown(whole, [])
    if header.mode != "pty" or not sys.stdout.isatty():
        return _print(recording, pace if speed else 0.0)
    if not sys.stdin.isatty():
        raise InvalidInput(
            "replaying on a terminal needs the keyboard, and standard input is not a terminal",
            recovery=f"write it to a file instead: longhouse replay {source} > FILE",
        )
    with RawTerminal() as terminal:
        try:
            end = _play(recording, terminal, pace)
        except Stopped as stopped:
            return 128 + stopped.number
    if end is not None:
        code = "" if end.exit_code is None else f" with code {end.exit_code}"
        cli.out.progress(f"\n{source} {end.status}{code}; nothing was executed")
    return 0


def _pace(speed: str | None) -> float:
    """How many seconds one millisecond of the recording takes."""
    if speed == AT_ONCE:
        return 0.0
    try:
        times = float(speed or 1)
    except ValueError:
        times = 0.0
    if not (math.isfinite(times) and times > 0):
        raise InvalidInput(f"--speed: {speed!r} is not a positive number", recovery="--speed 2")
    return 0.001 / times


def _print(recording: Recording, pace: float) -> int:
    """Write the bytes as they are; on a terminal, with control characters escaped."""
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
    """Show it at its own pace; None if the viewer stopped it."""
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
    """Wait for that time and for the screen, discarding keys; False if the viewer stopped it."""
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
    "Replay what a program did; nothing is executed",
    args=[Arg("source", "a finished process, or a recording file")],
    flags=[Flag("speed", "how many times faster, such as 2 or 0.5; max never waits", "N")],
    run=run,
    details="Press q, Ctrl-C or Ctrl-] to stop. The program's queries to its terminal are left "
    "out, and other keys do nothing. Output to a file or a pipe is written at once, byte for byte, "
    "unless --speed is given. With --json, the whole recording is one answer, at once.",
    examples=["longhouse replay PROC-001 --speed 4", "longhouse replay session.jsonl"],
)
