"""Nothing that goes wrong once may keep a speaker from its other tasks for good."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict, Unreachable
from longhouse.runner.host.client import running_host
from longhouse.runner.tool_tasks.speaker import TaskSpeaker
from longhouse.runner.tool_tasks.story import Story
from tests.runner.kit import Rig
from tests.runner.processes import alive, until
from tests.runner.tool_tasks.test_speaker import Speaking


@pytest.fixture
def at(make_rig: Callable[..., Rig]) -> Iterator[Speaking]:
    made = Speaking(make_rig())
    yield made
    made.close()


def after(at: Speaking, act: Callable[[str, dict[str, Any]], None]) -> None:
    """Have something happen between the server's answer and the moment when the runner has it."""
    request = at.rig.wire.request

    def answered(*words: Any, body: bytes, **more: Any) -> Any:
        reply = request(*words, body=body, **more)
        call = json.loads(body)["params"]["arguments"]
        act(call["cmd"], call["args"])
        return reply

    at.rig.wire.request = answered  # type: ignore[assignment,method-assign]


def ends(args: dict[str, Any]) -> bool:
    return any(frame.get("status") == "exited" for frame in args.get("frames", ()))


def test_a_task_that_ends_while_the_speaker_starts_over_silences_no_other(
    at: Speaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is accepted; then all stories are replaced, its own too; then the answer arrives."""
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.WATCH_MS", 100)
    speaker = at.speaker
    replaced: list[Story] = []

    def start_over(cmd: str, args: dict[str, Any]) -> None:
        if cmd == "tool.task_append" and ends(args) and not replaced:
            replaced.append(speaker._stories[args["task_id"]])
            speaker._lost.set()
            until(lambda: replaced[0] in speaker._stale, "the stories are replaced")

    after(at, start_over)
    at.ended(at.spawn("echo", "first"))
    until(lambda: bool(replaced), "it was told in the middle")
    assert at.ended(at.spawn("echo", "second"))["exit_code"] == 0
    assert at.rig.told("tasks.defect") == []


@pytest.mark.parametrize("part", ["_named", "_claim", "_do"])
def test_a_part_of_the_speaker_that_met_a_defect_goes_on(
    at: Speaking, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.REST_S", 0.01)
    whole = getattr(at.speaker, part)
    met: list[str] = []

    def defective(*words: Any, **more: Any) -> Any:
        if not met:
            met.append(part)
            raise ZeroDivisionError(part)
        return whole(*words, **more)

    setattr(at.speaker, part, defective)
    assert at.ended(at.spawn("echo", "said"))["exit_code"] == 0


def test_a_folder_that_was_moved_away_leaves_its_tasks_to_nobody_and_others_run(
    at: Speaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.tool_tasks.speaker.WATCH_MS", 50)
    at.spawn("sleep", "300")
    until(lambda: at.speaker.is_busy, "it was claimed")
    folder = at.rig.context.home / "tasks" / "acme"
    until((folder / "PROC-001" / "journal.jsonl").exists, "it was started")
    first = running_host(folder)
    assert first
    moved = folder.rename(folder.with_name("moved"))
    try:
        assert at.ended(at.spawn("echo", "said"))["exit_code"] == 0
        hosts = {one["host_id"]: one["unfinished"] for one in at.rig("tool.host_list")["hosts"]}
        assert hosts.pop(first["host_id"]) == 1  # nobody speaks for it: soon it counts as silent
        assert list(hosts.values()) == [0]
    finally:
        assert running_host(moved) == first
        os.kill(first["pid"], signal.SIGTERM)
        until(lambda: not alive(first["pid"]), "the moved host has left")


CALLS = (
    "tool.task_held",
    "tool.task_claim",
    "tool.task_watch",
    "tool.task_append",
    "tool.task_append_many",
    "tool.task_status",
)
FAULTS = ("unsent", "unanswered", "refused", "defective", "started over")


@pytest.mark.parametrize("fault", FAULTS)
def test_whichever_call_fails_in_whichever_way_every_task_ends_and_every_input_arrives(
    at: Speaking, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """One fault after the other, each at the first or second call of a kind."""
    for name, value in (("WATCH_MS", 50), ("REST_S", 0.01), ("AGAIN_MS", 50)):
        monkeypatch.setattr(f"longhouse.runner.tool_tasks.speaker.{name}", value)
    faults = Faults(at, fault)
    for cmd in CALLS:
        for skip in range(2):
            faults.arm(cmd, skip)
            start_over(at.speaker)
            tasks = [typing(at), at.spawn("echo", "one"), at.spawn("echo", "two")]
            assert [at.ended(task)["exit_code"] for task in tasks] == [7, 0, 0], (cmd, skip)
    assert {"tool.task_held", "tool.task_claim", "tool.task_watch"} <= faults.met.keys()
    # What is said at about the same time goes out in one call, so either kind may be the second.
    assert faults.met["tool.task_append"] + faults.met["tool.task_append_many"] > 1


def start_over(speaker: TaskSpeaker) -> None:
    """As if another runner had spoken for the host meanwhile."""
    revision = speaker._revision

    def has_begun() -> bool:
        speaker._lost.set()
        return speaker._revision != revision

    until(has_begun, "the speaker starts over")


def typing(at: Speaking) -> str:
    """A terminal that ends with what is typed into it."""
    asks = {"argv": ["bash", "-c", 'read code; exit "$code"']}
    made = at.rig("tool.task_spawn", tool="exec", execution_mode="pty", args=asks)
    task: str = made["task_id"]

    def runs() -> bool:
        return bool(at.rig("tool.task_status", task_id=task)["task"]["status"] == "running")

    until(runs, f"{task} runs: ", lambda: str(at.rig.lines))
    at.rig("tool.task_write_stdin", task_id=task, keys=["7", "Enter"])
    return task


class Faults:
    """Fails one call of the speaker, once."""

    def __init__(self, at: Speaking, fault: str) -> None:
        self.met: Counter[str] = Counter()
        self._at, self._fault = at, fault
        self._cmd, self._skip = "", 0
        self._request = at.rig.wire.request
        at.rig.wire.request = self._fails  # type: ignore[assignment,method-assign]

    def arm(self, cmd: str, skip: int) -> None:
        self._cmd, self._skip = cmd, skip

    def _fails(self, *words: Any, body: bytes, **more: Any) -> Any:
        cmd = json.loads(body)["params"]["arguments"]["cmd"]
        if cmd != self._cmd or self._skip:
            self._skip -= cmd == self._cmd
            return self._request(*words, body=body, **more)
        self._cmd = ""
        self.met[cmd] += 1
        if self._fault == "unsent":
            raise Unreachable("away")
        if self._fault == "refused":
            raise Conflict("no")
        if self._fault == "defective":
            raise ZeroDivisionError(cmd)
        reply = self._request(*words, body=body, **more)
        if self._fault == "unanswered":
            raise Unreachable("away")
        old = list(self._at.speaker._stories.values())
        self._at.speaker._lost.set()
        if old and not threading.current_thread().name.endswith("_scout"):
            until(lambda: self._at.speaker._stories.get(old[0].task_id) is not old[0], "replaced")
        return reply
