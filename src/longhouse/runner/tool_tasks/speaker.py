"""Speaks for a workspace's host on this machine: claims tasks, passes on operations, sends frames.

If a machine has several runners, the one that holds the lock in the host's folder speaks. When it
dies, the kernel gives the lock to another, which asks the server how far each task is reported.

scout      holds the lock; waits for tasks and operations and passes them to the host
listener   learns from the host which journals have grown
teller     turns journals and logs into frames and sends them
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from longhouse.client.locate import LOCK_NAME
from longhouse.kernel.errors import Conflict, Forbidden, LonghouseError
from longhouse.kernel.private_files import open_private
from longhouse.kernel.tool_tasks import host_folder
from longhouse.runner.host.client import HostClient
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.tool_tasks.keeping import LogKeeper, clear_old
from longhouse.runner.tool_tasks.starting import (
    NotStarted,
    decision_frame,
    decision_of,
    request_for,
)
from longhouse.runner.tool_tasks.story import Frame, Story, cancelled_early, failed

__all__ = ["TaskSpeaker"]

WATCH_MS = 20_000
DAY_MS = 24 * 3_600_000
CLEAR_MS = DAY_MS
CLAIM = 2
MOST_CHARS = 80_000
"""The largest answer; the command lines of two tasks always fit."""
REST_S = 1.0
REFUSED_S = 60.0
"""How long a runner whose token may not host processes waits before it asks again."""
TICK_S = 0.05
TICK_PER_TASK_S = 0.002


class TaskSpeaker:
    """The tool tasks of one runner."""

    def __init__(self, context: RunnerContext) -> None:
        self._context = context
        self._folder = host_folder(context.home, context.workspace)
        self._host = HostClient(self._folder, spare=context.home / LOCK_NAME)
        self._stories: dict[str, Story] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._leave = threading.Event()
        self._lost = threading.Event()
        self._host_id = ""
        self._revision = 0
        self._clears_at_ms = 0

    @property
    def is_busy(self) -> bool:
        """Whether this runner is reporting any running task."""
        return bool(self._stories)

    def start(self) -> None:
        for part in (self._scout, self._tell):
            threading.Thread(target=part, name=part.__qualname__, daemon=True).start()

    def leave(self) -> None:
        """Stop reporting; processes keep running, and the next runner reports the rest."""
        self._leave.set()
        self._wake.set()
        self._host.close()

    # ---- scout

    def _scout(self) -> None:
        lock = self._locked()
        try:
            while not self._leave.is_set():
                try:
                    self._speak()
                    continue
                except Forbidden as error:  # until the person gives it another token
                    said = f"{error.message}; {error.recovery}"
                    self._context.log("tasks.refused", why=said)
                    self._leave.wait(REFUSED_S)
                    continue
                except (LonghouseError, OSError) as error:
                    self._context.log("tasks.trouble", why=str(error))
                except Exception as error:
                    self._context.log("tasks.defect", why=repr(error))
                self._leave.wait(REST_S)
        finally:
            os.close(lock)

    def _locked(self) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = open_private(self._folder / "speaker.lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def _speak(self) -> None:
        """Ask how far each task is reported, then serve until another runner takes over."""
        from longhouse.runner.host.loop import host_id_of

        options = self._context.options
        self._host_id = host_id_of(self._folder)
        tasks, ops = self._hold()
        with self._lock:
            for story in self._stories.values():
                story.close()
            self._stories.clear()
            self._lost.clear()
        for work in tasks:
            pending = {op["op_id"] for op in ops if op["task_id"] == work["task_id"]}
            self._take(work, pending)
        waiting, seq = 1, 0
        self._do(ops)
        while not self._leave.is_set() and not self._lost.is_set():
            self._clear_old()
            if waiting:
                self._claim()
            news = self._context.plane.listen(
                "tool.task_watch",
                runner_id=options.runner_id,
                host_id=self._host_id,
                revision=self._revision,
                after_seq=seq,
                timeout_ms=WATCH_MS,
            )
            # A claim also shows the server that the host is alive; quiet tasks never do.
            waiting = news["waiting"] or news["timed_out"]
            seq = max([seq, *(op["seq"] for op in news["ops"])])
            self._do(news["ops"])

    def _clear_old(self) -> None:
        """Once a day, remove old output that no server has."""
        context, now_ms = self._context, time.time_ns() // 1_000_000
        if context.shares_folder or not context.keep_days or now_ms < self._clears_at_ms:
            return
        self._clears_at_ms = now_ms + CLEAR_MS
        with self._lock:
            told = set(self._stories)
        clear_old(self._folder, now_ms - context.keep_days * DAY_MS, told)

    def _hold(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Become the speaker of the host; returns its tasks and their open operations."""
        tasks: list[dict[str, Any]] = []
        more: dict[str, str] = {}
        while True:
            held = self._context.plane.write(
                "tool.task_held",
                runner_id=self._context.options.runner_id,
                host_id=self._host_id,
                max_chars=MOST_CHARS,
                **more,
            )
            self._revision = held["revision"]
            tasks += held["tasks"]
            if not held["has_more"] and len(held["tasks"]) == held["count"]:
                return tasks, held["ops"]
            more = {"after": tasks[-1]["task_id"]}

    def _claim(self) -> None:
        claimed = self._context.plane.write(
            "tool.task_claim",
            runner_id=self._context.options.runner_id,
            host_id=self._host_id,
            revision=self._revision,
            limit=CLAIM,
            max_chars=MOST_CHARS,
        )
        for work in claimed["tasks"]:
            self._context.log("task.claimed", task=work["task_id"], tool=work["tool"])
            self._take(work, set())

    def _take(self, work: dict[str, Any], pending: set[str]) -> None:
        """Start a task, unless it is already running; then follow it."""
        profile = self._context.policy
        decision = decision_of(profile, work)
        decided = decision_frame(profile, decision)
        last: list[Frame] = []
        if work["status"] == "queued":
            if work["cancel_reason"] is not None:
                last = cancelled_early(work["cancel_reason"])
            elif not decision.allowed:
                last = [decided, failed(f"{decision.rule}: {decision.why}", "policy_denied")]
            else:
                last = self._start(work, decided)
        folder = self._folder / work["task_id"]
        keeper = None if self._context.shares_folder else self._keeper(work["task_id"], folder)
        story = Story(work, folder, pending, decided, keeper)
        story.revision = self._revision
        if last:
            if not self._append(story, last):
                self._lost.set()
            story.close()
            return
        with self._lock:
            self._stories[story.task_id] = story
        self._wake.set()

    def _keeper(self, task_id: str, folder: Path) -> LogKeeper:
        """Sends a task's logs to servers that cannot read our folder."""
        fence = {"runner_id": self._context.options.runner_id, "revision": self._revision}
        offer = self._context.plane.offer  # a full disk there must not block all other tasks
        return LogKeeper(partial(offer, "tool.output_append", task_id=task_id, **fence), folder)

    def _start(self, work: dict[str, Any], decided: Frame) -> list[Frame]:
        """Have the host start a task; returns the frames to send if it could not."""
        try:
            said = self._host.ask("spawn", **request_for(work, self._context.root))
        except NotStarted as why:
            return [decided, failed(str(why), why.cause)]
        if "error" in said:
            return [decided, failed(said["error"], "unstarted")]
        return []

    def _do(self, ops: list[dict[str, Any]]) -> None:
        """Pass operations to the host, in order."""
        for op in ops:
            story = self._stories.get(op["task_id"])
            if story is None:
                continue
            story.op_logged(op["op_id"], op["kind"], op["payload"].get("reason"))
            said = self._host.ask(
                "control", task=op["task_id"], op=op["kind"], op_id=op["op_id"], **op["payload"]
            )
            if "error" in said:
                self._context.log("task.op", op=op["op_id"], why=said["error"])
        self._wake.set()

    # ---- listener and teller

    def _listen(self) -> None:
        """Follow the host while there are tasks; this also restarts a killed host."""
        try:
            for _grown in self._host.watch():
                self._wake.set()
                if self._leave.is_set() or not self._stories:
                    return
        except OSError as error:
            self._context.log("host.trouble", why=str(error))

    def _tell(self) -> None:
        listener: threading.Thread | None = None
        while not self._leave.is_set():
            stories = list(self._stories.values())
            if stories and (listener is None or not listener.is_alive()):
                listener = threading.Thread(target=self._listen, name="host listener", daemon=True)
                listener.start()
            for story in stories:
                try:
                    self._go_on(story)
                except LonghouseError as error:
                    self._refused(story, error)
                except Exception as error:
                    self._context.log("task.defect", task=story.task_id, why=repr(error))
                    self._lose(story)
            pause_s = max(TICK_S, TICK_PER_TASK_S * len(stories)) if stories else None
            self._wake.wait(pause_s)
            self._wake.clear()

    def _go_on(self, story: Story) -> None:
        """Send all pending frames of one task."""
        while not self._lost.is_set() and (frames := story.tell()):
            if not self._append(story, frames):
                return
            story.told(frames)
            if story.over:
                with self._lock:
                    self._stories.pop(story.task_id, None)
                story.close()
                if story.is_kept:
                    shutil.rmtree(self._folder / story.task_id, ignore_errors=True)
                self._context.log("task.ended", task=story.task_id)
                return

    def _append(self, story: Story, frames: list[Frame]) -> bool:
        """Send frames; True if they are now in the stream."""
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

    def _refused(self, story: Story, error: LonghouseError) -> None:
        """Log the refusal and start over from what the server knows."""
        self._context.log("task.refused", task=story.task_id, code=error.code, why=error.message)
        self._lose(story)

    def _lose(self, story: Story) -> None:
        """Start over, unless this story has already been replaced."""
        with self._lock:
            if self._stories.get(story.task_id) is story:
                self._lost.set()

    def _send(self, story: Story, frames: list[Frame]) -> None:
        self._context.plane.write(
            "tool.task_append",
            task_id=story.task_id,
            runner_id=self._context.options.runner_id,
            revision=story.revision,
            base_seq=story.next_seq,
            frames=frames,
        )
