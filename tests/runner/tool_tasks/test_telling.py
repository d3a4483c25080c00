"""Frames of many tasks in one call to the server, and what follows a refusal."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict, UnknownCmd
from longhouse.runner.tool_tasks.telling import MOST_TASKS, Teller

FRAME = {"type": "tool_task_status", "status": "running"}


class FakeStory:
    """Has a number of frames to tell, a few at a time."""

    def __init__(self, n: int, frames: int = 1, at_a_time: int = 4) -> None:
        self.task_id = f"PROC-{n:03}"
        self.host_id, self.revision, self.next_seq = "host-3f9a1c07", 5, 2
        self.left, self.at_a_time = frames, at_a_time
        self.is_kept = self.is_closed = False

    def tell(self) -> list[dict[str, Any]]:
        return [FRAME] * min(self.left, self.at_a_time)

    def told(self, frames: list[dict[str, Any]]) -> None:
        self.left -= len(frames)
        self.next_seq += len(frames)

    @property
    def may_have_more(self) -> bool:
        return self.left > 0

    @property
    def over(self) -> bool:
        return self.left == 0

    def follows(self, known: dict[str, Any]) -> bool:
        self.next_seq = known["next_seq"]
        return True

    def close(self) -> None:
        self.is_closed = True


class FakePlane:
    """A server that refuses what it is told to refuse."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refuses: set[str] = set()
        self.knows_many = True
        self.ahead: dict[str, int] = {}

    def repeat(self, cmd: str, **args: Any) -> dict[str, Any]:
        self.calls.append((cmd, args))
        if cmd == "tool.task_append_many":
            if not self.knows_many:
                raise UnknownCmd(f"{cmd} is not a command")
            return {"tasks": [self._one(task) for task in args["tasks"]]}
        if args["task_id"] in self.refuses or self.ahead.get(args["task_id"], 0) > args["base_seq"]:
            raise Conflict("refused")
        return {}

    def _one(self, task: dict[str, Any]) -> dict[str, Any]:
        behind = self.ahead.get(task["task_id"], 0) > task["base_seq"]
        why = "refused" if behind or task["task_id"] in self.refuses else None
        return {"task_id": task["task_id"], "refused": why}

    def ask(self, _cmd: str, task_id: str) -> dict[str, Any]:
        if task_id in self.refuses:
            raise Conflict("refused")
        return {"task": {"next_seq": self.ahead[task_id]}}

    def names(self) -> list[str]:
        return [cmd for cmd, _ in self.calls]


class Desk:
    def __init__(self, folder: Any) -> None:
        self.plane = FakePlane()
        self.forgotten: list[str] = []
        self.lost: list[str] = []
        options = SimpleNamespace(runner_id="runner-1")
        context: Any = SimpleNamespace(
            plane=self.plane, options=options, log=lambda *_a, **_k: None
        )
        self.teller = Teller(
            context,
            folder,
            forget=lambda story: self.forgotten.append(story.task_id),
            lose=lambda story: self.lost.append(story.task_id),
            is_lost=lambda: False,
        )

    def tell(self, stories: list[FakeStory]) -> None:
        """Until none has more."""
        left: Any = stories
        while left:
            left = self.teller.tell(left)


@pytest.fixture
def desk(tmp_path: Any) -> Desk:
    return Desk(tmp_path)


def test_many_tasks_are_told_in_few_calls(desk: Desk) -> None:
    stories = [FakeStory(n) for n in range(3 * MOST_TASKS)]
    desk.tell(stories)
    assert desk.plane.names() == ["tool.task_append_many"] * 3
    assert desk.forgotten == [story.task_id for story in stories]
    assert all(story.is_closed for story in stories)


def test_one_that_never_stops_printing_keeps_no_other_waiting(desk: Desk) -> None:
    endless, other = FakeStory(1, frames=10**6), FakeStory(2)
    tell: Callable[[Any], Any] = desk.teller.tell
    assert tell([endless]) == [endless]
    assert tell([endless, other]) == [endless]
    assert desk.forgotten == [other.task_id]


def test_a_single_task_is_told_as_ever(desk: Desk) -> None:
    desk.tell([FakeStory(1, frames=9, at_a_time=4)])
    assert desk.plane.names() == ["tool.task_append"] * 3
    assert [args["base_seq"] for _, args in desk.plane.calls] == [2, 6, 10]


def test_a_task_refused_among_others_is_told_again_alone_and_only_it_is_lost(desk: Desk) -> None:
    stories = [FakeStory(n) for n in range(5)]
    desk.plane.refuses = {"PROC-003"}
    desk.tell(stories)
    assert desk.plane.names() == ["tool.task_append_many", "tool.task_append"]
    assert desk.lost == ["PROC-003"]
    assert [story.left for story in stories] == [0, 0, 0, 1, 0]


def test_frames_that_the_server_added_meanwhile_are_followed(desk: Desk) -> None:
    stories = [FakeStory(n) for n in range(3)]
    desk.plane.ahead = {"PROC-001": 3}
    desk.tell(stories)
    assert not desk.lost
    assert [story.next_seq for story in stories] == [3, 4, 3]


def test_a_server_without_a_call_for_many_is_told_one_by_one(desk: Desk) -> None:
    stories = [FakeStory(n) for n in range(3)]
    desk.plane.knows_many = False
    desk.tell(stories)
    assert desk.plane.names()[1:] == ["tool.task_append"] * 3
    assert not desk.lost
    assert all(story.over for story in stories)


def test_a_story_that_cannot_be_read_stops_no_other(desk: Desk) -> None:
    class Broken(FakeStory):
        def tell(self) -> list[dict[str, Any]]:
            raise ValueError("a defect")

    make: Callable[[int], FakeStory] = FakeStory
    stories = [make(1), Broken(2), make(3)]
    desk.tell(stories)
    assert desk.lost == ["PROC-002"]
    assert desk.forgotten == ["PROC-001", "PROC-003"]
