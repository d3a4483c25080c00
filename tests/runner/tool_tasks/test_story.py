"""A task's journal and logs as frames: the same frames from any runner and any starting point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhouse.kernel.private_files import write_private
from longhouse.processes.state import TaskState, apply
from longhouse.runner.tool_tasks.story import ECHO_S, Story

TASK = "PROC-001"


class Told:
    """A stand-in for the server: a stream of frames that its fold has accepted."""

    def __init__(self, mode: str = "pipes") -> None:
        self.frames: list[dict[str, Any]] = []
        self.state = TaskState()
        self.add([{"type": "tool_task_spawned", "execution_mode": mode}])

    def add(self, frames: list[dict[str, Any]]) -> None:
        for frame in frames:
            logs = frame.get("logs")
            payload = {**frame, "artifacts": {"logs": logs}} if logs else frame
            self.state = apply(self.state, frame["type"], payload)
            self.frames.append(frame)

    def work(self) -> dict[str, Any]:
        """The task as handed to a runner that takes over."""
        return {
            "task_id": TASK,
            "status": self.state.status,
            "execution_mode": self.state.mode,
            "next_seq": self.state.next_seq,
            "streams": {
                name: {"bytes": one.bytes, "inline": one.inline}
                for name, one in self.state.streams.items()
            },
            "max_bytes": 30_000,
            "cancel_reason": self.state.cancel_reason,
        }


class Folder:
    """A task's folder, as a host leaves it."""

    def __init__(self, path: Path, *streams: str) -> None:
        self.path = path
        self.sizes = dict.fromkeys(streams or ("stdout", "stderr"), 0)
        for stream in self.sizes:
            self._append(f"{stream}.log", b"")
        self.record("started", pid=7)

    def write(self, stream: str, data: bytes) -> None:
        self.sizes[stream] += len(data)
        self._append(f"{stream}.log", data)

    def record(self, kind: str, **facts: Any) -> None:
        line = json.dumps({"kind": kind, "ts": 1_000, **facts})
        self._append("journal.jsonl", line.encode() + b"\n")

    def end(self, **facts: Any) -> None:
        seal = {"sha256": None, "stored_sha256": None, "gap": None, "trouble": None}
        streams = {name: {**seal, "bytes": n, "stored": n} for name, n in self.sizes.items()}
        how = {"code": 0, "signal": None, "cause": None, "leftovers": [], **facts}
        self.record("ended", streams=streams, **how)

    def _append(self, name: str, data: bytes) -> None:
        with (self.path / name).open("ab") as file:
            file.write(data)
        (self.path / name).chmod(0o600)


WRITES = st.tuples(
    st.just("write"),
    st.sampled_from(["stdout", "stderr"]),
    st.sampled_from(
        [b"x\n", b"y" * 9_000, "\N{SNOWMAN}".encode(), b"\xe2\x98", b"ghp_", b"z" * 40_000]
    ),
)
STEPS = st.lists(
    st.one_of(WRITES, st.sampled_from([("op",), ("ports",), ("tell",), ("die",), ("unheard",)])),
    max_size=25,
)


@settings(max_examples=80)
@given(STEPS)
def test_no_byte_is_told_twice_or_left_out_however_often_runners_die(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    """`die`: before the frames are sent; `unheard`: after the server has accepted them."""
    folder, server = Folder(tmp_path_factory.mktemp("task")), Told()
    ops: list[str] = []
    story = Story(server.work(), folder.path, set(), clock=lambda: 0.0)
    for kind, *more in [*steps, ("end",), *[("tell",)] * 40]:
        if kind == "write":
            folder.write(*more)
        elif kind == "op":
            ops.append(f"{TASK}.{len(ops) + 1}")
            offsets = dict(folder.sizes)
            folder.record("op", op_id=ops[-1], op="signal", signal="INT", offsets=offsets)
            story.op_logged(ops[-1], "signal", None)
        elif kind == "ports":
            folder.record("ports", ports=[8_000])
        elif kind == "end":
            folder.end()
        else:
            frames = story.tell() if not story.over else []
            if kind in ("tell", "unheard"):
                server.add(frames)
            if kind == "tell":
                story.told(frames)
                assert story.next_seq == server.state.next_seq
            elif not server.state.ended:
                story.close()
                known = {one.get("op_id") for one in server.frames}
                pending = {op for op in ops if op not in known}
                story = Story(server.work(), folder.path, pending, clock=lambda: 0.0)
    story.close()
    assert server.state.status == "exited"
    assert server.frames[-1]["type"] == "tool_task_status"
    for stream, size in folder.sizes.items():
        told = [one for one in server.frames if one["type"] == f"tool_{stream}"]
        assert sum(one["bytes"] for one in told) == size
        assert max((one["bytes"] for one in told if "chunk" in one), default=0) <= 8_192
    assert [one["op_id"] for one in server.frames if "op_id" in one] == ops
    assert sum(one["bytes"] for one in server.frames if "chunk" in one) <= 30_000


@pytest.mark.proves("TTA-032", "TTA-014")
def test_output_comes_before_the_operation_that_came_after_it(tmp_path: Path) -> None:
    folder, server = Folder(tmp_path), Told()
    folder.write("stdout", b"before\n")
    folder.record("op", op_id=f"{TASK}.1", op="signal", signal="INT", offsets=dict(folder.sizes))
    folder.write("stdout", b"after\n")
    story = Story(server.work(), folder.path, {f"{TASK}.1"})
    frames = story.tell()
    story.close()
    assert [one.get("chunk") or one["type"] for one in frames] == [
        "tool_task_status",
        "before\n",
        "tool_task_signalled",
        "after\n",
    ]


_TELL = """
import json, sys
from pathlib import Path
from longhouse.runner.tool_tasks.story import ECHO_S, Story
story = Story(json.loads(sys.argv[2]), Path(sys.argv[1]), set())
print(json.dumps([one["type"] for one in story.tell() if "bytes" in one]))
story.close()
"""


@pytest.mark.proves("TTA-043")
def test_two_streams_are_told_in_one_order_by_every_process(tmp_path: Path) -> None:
    folder, server = Folder(tmp_path), Told()
    for number in range(3):
        folder.write("stderr", b"warning %d\n" % number)
        folder.write("stdout", b"line %d\n" % number)
    folder.end()
    told = {
        subprocess.run(
            [sys.executable, "-c", _TELL, str(folder.path), json.dumps(server.work())],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    (only,) = told
    assert json.loads(only) == ["tool_stdout", "tool_stderr"]


def test_beyond_the_budget_references_become_rarer_the_more_there_is(tmp_path: Path) -> None:
    folder, server = Folder(tmp_path), Told()
    now = 0.0
    story = Story(server.work(), folder.path, set(), clock=lambda: now)
    for _ in range(2_000):
        folder.write("stdout", b"x" * 16_384)
        now += 2.0
        frames = story.tell()
        server.add(frames)
        story.told(frames)
    story.close()
    assert len(server.frames) < 200
    assert server.state.streams["stdout"].bytes > folder.sizes["stdout"] * 0.9


@pytest.mark.proves("TTA-041")
def test_a_terminal_beyond_the_budget_is_told_at_once_to_who_types_and_to_others_each_second(
    tmp_path: Path,
) -> None:
    folder, server = Folder(tmp_path, "pty"), Told("pty")
    now = 0.0
    story = Story(server.work(), folder.path, {"op-1"}, clock=lambda: now)

    def goes_on() -> int:
        """How many bytes the server knows once everything due has been reported."""
        while frames := story.tell():
            server.add(frames)
            story.told(frames)
        return server.state.streams["pty"].bytes

    folder.write("pty", b"x" * 200_000)
    assert goes_on() == 200_000
    folder.write("pty", b"$ ")
    assert goes_on() == 200_000
    now += 1.1
    assert goes_on() == 200_002
    folder.record("op", op_id="op-1", op="stdin", bytes=1, offsets={"pty": 200_002})
    folder.write("pty", b"l")
    assert goes_on() == 200_003
    folder.write("pty", b"s")
    assert goes_on() == 200_004
    for _ in range(5_000):
        folder.write("pty", b".")
        now += 1.0
        goes_on()
    assert len(server.frames) < 4_000
    story.close()


@pytest.mark.parametrize(
    "cause, status",
    [
        (None, "exited"),
        ("host_lost", "exited"),
        ("timeout", "failed"),
        ("idle_timeout", "failed"),
        ("max_processes", "failed"),
        ("host_stopped", "failed"),
    ],
)
def test_the_cause_decides_the_last_status(tmp_path: Path, cause: str | None, status: str) -> None:
    folder, server = Folder(tmp_path), Told()
    folder.end(cause=cause)
    story = Story(server.work(), folder.path, set())
    last = story.tell()[-1]
    story.close()
    assert (last["status"], last.get("cause")) == (status, cause)
    assert ("error" in last) == (status == "failed")


@pytest.mark.parametrize("made, has_started", [(1, True), (2, False), (None, True)])
def test_the_journal_of_a_task_that_had_the_number_before_is_not_its_start(
    tmp_path: Path, made: int | None, *, has_started: bool
) -> None:
    Folder(tmp_path)
    write_private(tmp_path / "spec.json", b'{"made": 1}')
    story = Story({**Told().work(), "made_ms": made}, tmp_path, set())
    assert story.has_started() is has_started


def typed(folder: Folder, number: int) -> str:
    op_id = f"{TASK}.{number}"
    offsets = dict(folder.sizes)
    folder.record("op", op_id=op_id, op="stdin", offsets=offsets, bytes=1)
    return op_id


@pytest.mark.parametrize("max_bytes", [30_000, 0], ids=["inline", "by reference"])
def test_what_was_typed_and_its_echo_are_told_together(tmp_path: Path, max_bytes: int) -> None:
    """The outcome waits for the echo, but not for long: some programs show nothing."""
    folder, server, now = Folder(tmp_path, "pty"), Told("pty"), [0.0]
    work = {**server.work(), "max_bytes": max_bytes}
    story = Story(work, folder.path, {f"{TASK}.{n}" for n in range(9)}, clock=lambda: now[0])
    story.told(story.tell())
    for number in (1, 2):
        typed(folder, number)
        assert story.tell() == []
        folder.write("pty", b"x")
        both = story.tell()
        kinds = ["tool_task_stdin_written", "tool_task_output_delta"]
        assert [one["type"] for one in both] == kinds
        story.told(both)
    typed(folder, 3)
    assert story.tell() == []
    now[0] += ECHO_S
    (alone,) = story.tell()
    assert alone["op_id"] == f"{TASK}.3"
    story.told([alone])
    typed(folder, 4)
    folder.record("op", op_id=f"{TASK}.5", op="resize", offsets=folder.sizes, rows=9, cols=9)
    assert [one["op_id"] for one in story.tell()] == [f"{TASK}.4", f"{TASK}.5"]
