"""Sends the frames of tasks to the server: those of many tasks in one call, each task for itself.

A task that is refused among others is told again alone, where a refusal is explained and handled;
so is everything if the server knows no call for many. Called by one thread of the speaker, except
for the last frames of tasks that never started.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import Conflict, LonghouseError
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.tool_tasks.story import Frame, Story

__all__ = ["Teller"]

MOST_TASKS = 32
MOST_FRAMES = 64
"""A call for many tasks is full with this many of either; a frame holds up to 8 KiB."""

Told = tuple[Story, list[Frame]]


class Teller:
    """Tells the server what the stories of one host say."""

    def __init__(
        self,
        context: RunnerContext,
        folder: Path,
        *,
        forget: Callable[[Story], None],
        lose: Callable[[Story], None],
        is_lost: Callable[[], bool],
    ) -> None:
        """`forget` drops a story that is over; `lose` has the speaker start over."""
        self._context = context
        self._folder = folder
        self._forget = forget
        self._lose = lose
        self._is_lost = is_lost

    def tell(self, stories: list[Story]) -> list[Story]:
        """Send the next frames of each of these tasks; returns those that may have more.

        One round only: a program that never stops printing must not keep the others waiting.
        """
        if self._is_lost():
            return []
        told = [one for story in stories if (one := self._next(story))]
        accepted = [story for batch in _batches(told) for story in self._send_many(batch)]
        return [story for story in accepted if story.may_have_more and not story.over]

    def append(self, story: Story, frames: list[Frame]) -> bool:
        """Send frames of one task; True if they are now in the stream."""
        try:
            try:
                self._send(story, frames)
            except Conflict:
                # The server adds frames of its own, such as a request to cancel.
                known = self._context.plane.ask("tool.task_status", task_id=story.task_id)["task"]
                if not story.follows(known):
                    raise
                self._send(story, frames)
        except LonghouseError as error:
            self._refused(story, error)
            return False
        return True

    def _next(self, story: Story) -> Told | None:
        """The story's next frames; a defect or refusal met here concerns this story only."""
        try:
            frames = story.tell()
        except LonghouseError as error:
            self._refused(story, error)
        except Exception as error:
            self._context.log("task.defect", task=story.task_id, why=repr(error))
            self._lose(story)
        else:
            return (story, frames) if frames else None
        return None

    def _send_many(self, batch: list[Told]) -> Iterator[Story]:
        """The stories of this batch whose frames the server has now."""
        left = dict.fromkeys(story.task_id for story, _ in batch)
        if len(batch) > 1:
            for task_id in self._accepted(batch):
                left.pop(task_id, None)
        for story, frames in batch:
            if story.task_id not in left or self.append(story, frames):
                self._note(story, frames)
                yield story

    def _accepted(self, batch: list[Told]) -> list[str]:
        first = batch[0][0]
        tasks = [
            {"task_id": story.task_id, "base_seq": story.next_seq, "frames": frames}
            for story, frames in batch
        ]
        try:
            answer = self._context.plane.repeat(
                "tool.task_append_many",
                runner_id=self._context.options.runner_id,
                host_id=first.host_id,
                revision=first.revision,
                tasks=tasks,
            )
        except LonghouseError as error:
            self._context.log("tasks.told_apart", why=error.message)
            return []
        return [one["task_id"] for one in answer["tasks"] if one.get("refused") is None]

    def _note(self, story: Story, frames: list[Frame]) -> None:
        story.told(frames)
        if story.over:
            self._forget(story)
            story.close()
            if story.is_kept:
                shutil.rmtree(self._folder / story.task_id, ignore_errors=True)
            self._context.log("task.ended", task=story.task_id)

    def _refused(self, story: Story, error: LonghouseError) -> None:
        """Log the refusal and start over from what the server knows."""
        self._context.log("task.refused", task=story.task_id, code=error.code, why=error.message)
        self._lose(story)

    def _send(self, story: Story, frames: list[Frame]) -> dict[str, Any]:
        sent: dict[str, Any] = self._context.plane.repeat(
            "tool.task_append",
            task_id=story.task_id,
            runner_id=self._context.options.runner_id,
            revision=story.revision,
            base_seq=story.next_seq,
            frames=frames,
        )
        return sent


def _batches(told: list[Told]) -> Iterator[list[Told]]:
    """What one call tells: tasks of one speaker, as many as it holds."""
    batch: list[Told] = []
    for one in told:
        frames = sum(len(frames) for _, frames in batch)
        is_full = len(batch) == MOST_TASKS or frames + len(one[1]) > MOST_FRAMES
        if batch and (is_full or one[0].revision != batch[0][0].revision):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
