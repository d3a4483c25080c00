"""Recordings from the command line: exported, imported, replayed; nothing is executed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.surfaces.cli.commands import replay
from longhouse.surfaces.cli.recordings import of_file
from longhouse.terminals.asciicast import from_asciicast
from longhouse.terminals.recording import Output, encoded
from tests.processes.kit import RECORDED
from tests.surfaces.cli.conftest import Shell

CAST = (
    '{"version":3,"term":{"cols":90,"rows":20},"timestamp":1800000000,"title":"a cast"}\n'
    '[0.1,"o","one\\r\\n"]\n[0.25,"r","100x30"]\n[1.0,"o","gr\u00fcn\\r\\n"]\n[0.0,"x","4"]\n'
)


@pytest.fixture
def recording(sh: Shell) -> Path:
    path = sh.root / "session.jsonl"
    path.write_text(RECORDED)
    return path


@pytest.fixture
def cast(sh: Shell) -> Path:
    path = sh.root / "demo.cast"
    path.write_text(CAST)
    return path


@pytest.mark.proves("TTA-036", "TTA-037")
def test_a_recording_goes_in_and_comes_out_the_same(sh: Shell, recording: Path) -> None:
    taken = sh("recording", "import", str(recording))
    assert (taken.code, taken.out.splitlines()[0]) == (0, "imported as PROC-001")
    out = sh.root / "again.jsonl"
    wrote = sh("recording", "export", "PROC-001", "-o", str(out), "--json").json["data"]
    assert out.read_text() == RECORDED
    assert wrote["bytes"] == len(RECORDED)
    assert "echo hi" in sh("open", "PROC-001").out
    assert sh("logs", "PROC-001").out == "hi\n"
    frames = sh("call", "tool.task_stream_events", "task_id=PROC-001", "--json").json
    assert [one["type"] for one in frames["result"]["frames"]] == [
        "tool_task_spawned",
        "tool_task_status",
        "tool_task_output_delta",
        "tool_task_status",
    ]


def test_an_asciicast_goes_in_and_comes_out_the_same(sh: Shell, cast: Path) -> None:
    assert sh("recording", "import", str(cast), "--title", "mine").code == 0
    task = sh("call", "tool.task_status", "task_id=PROC-001", "--json").json["result"]["task"]
    assert (task["exit_code"], task["title"], task["args"]["cols"]) == (4, "mine", 90)
    out = sh.root / "again.cast"
    sh("recording", "export", "PROC-001", "--format", "asciicast", "-o", str(out))
    assert [json.loads(line) for line in out.read_text().splitlines()[1:]] == [
        json.loads(line) for line in CAST.splitlines()[1:]
    ]
    sh("recording", "import", str(out))
    once, twice = (sh.root / name for name in ("once", "twice"))
    sh("recording", "export", "PROC-001", "-o", str(once))
    sh("recording", "export", "PROC-002", "-o", str(twice))
    assert once.read_bytes() == twice.read_bytes()


def test_a_recording_that_is_too_long_for_one_call_is_sent_in_parts(sh: Shell) -> None:
    events = [f'[0.001,"o","{n:06d}{"x" * 3_000}\\r\\n"]\n' for n in range(500)]
    cast = CAST.partition("\n")[0] + "\n" + "".join(events)
    (sh.root / "long.cast").write_text(cast)
    lines = (line.encode() for line in cast.splitlines())
    whole = b"".join(map(encoded, from_asciicast(lines)))
    assert len(whole) > 1_400_000
    taken = sh("recording", "import", "long.cast")
    assert taken.code == 0, taken.err
    sh("recording", "export", "PROC-001", "-o", "out")
    assert (sh.root / "out").read_bytes().replace(b'"title":"a cast",', b"", 1) == whole.replace(
        b'"title":"a cast",', b"", 1
    )


@pytest.mark.proves("TTA-036")
@pytest.mark.parametrize("source", ["session.jsonl", "PROC-001"])
def test_a_replay_gives_the_recorded_bytes_in_their_order(
    sh: Shell, recording: Path, source: str
) -> None:
    sh("recording", "import", str(recording))
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "longhouse", "replay", source],
        cwd=sh.root,
        capture_output=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (0, b"hi\r\n")


@pytest.mark.parametrize("source", ["session.jsonl", "PROC-001"])
def test_a_replay_as_json_is_one_line_with_the_whole_recording(
    sh: Shell, recording: Path, source: str
) -> None:
    sh("recording", "import", str(recording))
    ran = sh("replay", source, "--json", "--speed", "0.0001")
    (line,) = ran.out.splitlines()
    answer = json.loads(line)
    assert (answer["ok"], answer["command"], answer["error"]) == (True, "replay", None)
    told = answer["data"]
    assert (told["source"], told["recording"]["mode"]) == (source, "pty")
    assert [event["type"] for event in told["events"]] == ["output", "end"]
    assert told["events"][0]["text"] == "hi\r\n"


BROKEN = {
    "a file that stops": (RECORDED[: RECORDED.index('{"type":"end"')], "it stops after line 2"),
    "a changed byte": (RECORDED.replace("hi\\r", "ho\\r"), "does not match these totals"),
    "no recording": ("#!/bin/sh\nrm -rf .\n", "line 1"),
    "an older asciicast": ('{"version":2,"width":80,"height":24}\n', "asciinema convert"),
    "an empty file": ("", "it is empty"),
}


@pytest.mark.parametrize("command", [("recording", "import"), ("replay",)])
@pytest.mark.parametrize("text, said", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_with_its_name_and_leaves_nothing(
    sh: Shell, command: tuple[str, ...], text: str, said: str
) -> None:
    (sh.root / "broken").write_text(text)
    ran = sh(*command, "broken")
    assert ran.code == 2
    assert "broken is not a complete recording" in ran.err
    assert said in ran.err
    assert "longhouse recording export PROC-001 > FILE" in ran.err
    assert sh("ps", "--all").out == "no background processes\n"
    assert "no artifacts yet" in sh("artifact", "list").out


def test_a_long_line_of_an_asciicast_is_read(sh: Shell) -> None:
    path = sh.root / "long.cast"
    path.write_text(CAST.splitlines()[0] + '\n[0.1,"o","' + "x" * 300_000 + '"]\n')
    with path.open("rb") as file:
        output = [one.data for one in of_file("long.cast", file) if isinstance(one, Output)]
    assert b"".join(output) == b"x" * 300_000


def test_a_pause_of_many_days_can_be_waited_for_and_ended() -> None:
    keys, typed = os.pipe()
    os.write(typed, b"q")
    terminal: Any = SimpleNamespace(backlog=0, keys=keys, bell=keys, screen=-1, heard=lambda: None)
    try:
        assert not replay._wait(terminal, time.monotonic() + 30 * 24 * 3_600)
    finally:
        os.close(keys)
        os.close(typed)


class Clock:
    """A clock that advances only while something waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    "words, lasts", [((), 0.0), (("1",), 0.35), (("0.5",), 0.7), (("2",), 0.175), (("max",), 0.0)]
)
def test_a_replay_takes_as_long_as_it_took_or_as_its_speed_says(
    sh: Shell, cast: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], lasts: float
) -> None:
    quiet = CAST.replace("[1.0,", "[0.0,")
    cast.write_text(quiet)
    clock = Clock()
    monkeypatch.setattr(replay, "time", clock)
    speed = ("--speed", *words) if words else ()
    assert sh("replay", str(cast), *speed).out.splitlines() == ["one", "gr\u00fcn"]
    assert clock.now == pytest.approx(lasts)


def test_a_printed_pause_of_many_years_is_waited_for_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", wait)
    shown = Output(at=30 * 24 * 3_600_000, stream="pty", offset=0, text="late")
    with pytest.raises(KeyboardInterrupt):
        replay._print(iter([shown]), 1_000_000.0)
    assert waits == [60.0] * 3


def test_what_cannot_be_exported_says_what_can(sh: Shell, recording: Path) -> None:
    pipes = RECORDED.replace('"pty"', '"pipes"', 1).replace('"stream":"pty"', '"stream":"stdout"')
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    silent = f'{{"stderr":{{"bytes":0,"sha256":"{empty}"}},"stdout":{{'
    pipes = pipes.replace('{"pty":{', silent)
    recording.write_text(pipes)
    assert sh("recording", "import", str(recording)).code == 0
    refused = sh("recording", "export", "PROC-001", "--format", "asciicast")
    assert "an asciicast records a terminal" in refused.err
    assert "longhouse recording export PROC-001" in refused.err
    assert "no file" not in refused.err
    assert sh("recording", "export", "PROC-404").code != 0
    assert "is not a positive number" in sh("replay", "PROC-001", "--speed", "-1").err
    assert "is not a positive number" in sh("replay", "PROC-001", "--speed", "fast").err


def test_who_is_told_of_an_end_is_said_by_rules(sh: Shell) -> None:
    assert "no rules; to add one" in sh("policy", "wakeup", "list").out
    sh("call", "agents.register", "name=ada", "role=ui")
    words = ("--name", "tests", "--ending", "failure", "--agent", "ada")
    made = sh("policy", "wakeup", "add", *words)
    assert made.out == "WAKE-001 notifies ada of each failure of processes named tests\n"
    assert "WAKE-001  ada" in sh("policy", "wakeup", "list").out
    assert sh("policy", "wakeup", "remove", "WAKE-001").out == "WAKE-001 is removed\n"
    assert "an agent or a job" in sh("policy", "wakeup", "add", "--name", "x").err
