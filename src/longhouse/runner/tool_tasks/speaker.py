"""Speaks for a workspace's host on this machine: claims tasks, passes on operations, sends frames.

If a machine has several runners, one speaks for the host, under a lease that the server records:
another takes over once the server has not heard the speaker for the lease's length. A lock in the
host's folder only makes that quicker: when the speaker dies, the next one need not wait.

scout      waits for its turn to speak, then for tasks and operations and passes them to the host
pulse      replaces a host that does not answer
listener   learns from the host which journals have grown
teller     turns journals and logs into frames and sends them
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from longhouse.client.locate import LOCK_NAME
from longhouse.kernel.errors import Conflict, Forbidden, LonghouseError
from longhouse.kernel.tool_policy import PolicyDecision
from longhouse.kernel.tool_tasks import host_folder
from longhouse.runner.host.client import HostClient
from longhouse.runner.host.door import SOCKET
from longhouse.runner.host.identity import host_id_of
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.tool_tasks.ahead import Ahead
from longhouse.runner.tool_tasks.keeping import LogKeeper, clear_old
from longhouse.runner.tool_tasks.pulse import HostPulse
from longhouse.runner.tool_tasks.starting import (
    NotStarted,
    decision_frame,
    request_for,
)
from longhouse.runner.tool_tasks.story import Frame, Story, cancelled_early, failed
from longhouse.runner.tool_tasks.telling import Teller
from longhouse.runner.tool_tasks.turns import SpeakingTurn

__all__ = ["TaskSpeaker"]

WATCH_MS = 20_000
DAY_MS = 24 * 3_600_000
CLEAR_MS = DAY_MS
AGAIN_MS = 1_000
PULSE_S = 5.0
TURN_S = 5.0
"""How often a runner that waits for its turn looks whether the speaker has fallen silent."""
CLAIM = 32
AT_ONCE = 16
"""How many tasks the host is asked to start in one request: meanwhile it does nothing else."""
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
        self._stale: list[Story] = []
        self._grown: set[str] = set()
        self._look_at = 0.0
        self._undone: dict[str, dict[str, Any]] = {}
        self._ahead: Ahead[dict[str, Any]] | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._leave = threading.Event()
        self._lost = threading.Event()
        self._host_id = ""
        self._revision = 0
        self._is_felt = True
        """Whether the host answered its pulse last; every claim tells the server."""
        self._clears_at_ms = 0
        self._teller = Teller(
            context,
            self._folder,
            forget=self._forget,
            lose=self._lose,
            is_lost=self._lost.is_set,
        )

    @property
    def is_busy(self) -> bool:
        """Whether this runner is reporting any running task."""
        return bool(self._stories)

    def start(self) -> None:
        for part in (self._scout, self._tell, self._feel):
            name = part.__qualname__
            threading.Thread(target=self._go_on, args=(part,), name=name, daemon=True).start()

    def leave(self) -> None:
        """Stop reporting; processes keep running, and the next runner reports the rest."""
        self._leave.set()
        self._wake.set()
        self._host.close()

    def _go_on(self, part: Callable[[], None]) -> None:
        """Run a part until we leave: a defect that ended it would end all tasks of this host."""
        while not self._leave.is_set():
            try:
                part()
            except Exception as error:
                self._context.log("tasks.defect", why=repr(error), part=part.__name__)
                self._leave.wait(REST_S)

    # ---- scout

    def _scout(self) -> None:
        turn = SpeakingTurn(self._folder)
        try:
            while not self._leave.is_set():
                try:
                    if not turn.is_ours and not turn.take() and not self._is_silent():
                        self._leave.wait(TURN_S)
                        continue
                    self._speak(turn)
                    continue
                except Conflict as error:  # another speaks, or did: wait for our turn again
                    turn.end()
                    self._context.log("tasks.trouble", why=str(error))
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
            turn.end()

    def _is_silent(self) -> bool:
        """Whether the server has not heard the host's speaker for the length of its lease."""
        asked = self._context.plane.listen("tool.host_list")
        mine = host_id_of(self._folder)
        return all(one["state"] == "silent" for one in asked["hosts"] if one["host_id"] == mine)

    def _speak(self, turn: SpeakingTurn) -> None:
        """Ask how far each task is reported, then serve until another runner takes over."""
        options = self._context.options
        self._host_id = host_id_of(self._folder)
        tasks, ops = self._hold(only_if_silent=not turn.is_ours)
        if not turn.is_ours:
            self._context.log("tasks.taken_over", host=self._host_id)
            turn.seize()
        pending = {
            work["task_id"]: {op["op_id"] for op in ops if op["task_id"] == work["task_id"]}
            for work in tasks
        }
        fresh = {work["task_id"]: self._story(work, pending[work["task_id"]]) for work in tasks}
        with self._lock:
            self._stale += self._stories.values()
            self._stories = fresh
            self._lost.clear()
        self._undone.clear()
        self._fence({work["task_id"] for work in tasks})
        self._start([(fresh[work["task_id"]], work) for work in tasks])
        self._ahead = None  # if it claimed anything, we hold that now
        waiting, seq = 1, 0
        self._do(ops)
        while not self._leave.is_set() and not self._lost.is_set():
            self._refuse_another_folder()
            self._clear_old()
            if waiting:
                self._claim()
            news = self._context.plane.listen(
                "tool.task_watch",
                runner_id=options.runner_id,
                host_id=self._host_id,
                revision=self._revision,
                after_seq=seq,
                timeout_ms=self._patience_ms,
            )
            # A claim also shows the server that the host is alive; quiet tasks never do.
            waiting = news["waiting"] or news["timed_out"]
            seq = max([seq, *(op["seq"] for op in news["ops"])])
            self._do([*self._undone.values(), *news["ops"]])

    @property
    def _patience_ms(self) -> int:
        """How long the server may wait for something to tell us."""
        if self._ahead:
            return 0
        return AGAIN_MS if self._undone else WATCH_MS

    def _fence(self, held: set[str]) -> None:
        """From now on the host refuses earlier speakers; it ends what the server gave up."""
        if not (self._folder / SOCKET).exists() and not held:
            return  # there is no host, and nothing to ask it
        said = self._host.ask("fence", revision=self._revision)
        if "error" in said:  # it would refuse every task, and each would be told as failed
            raise Conflict(f"the process host refused its new speaker: {said['error']}")
        for task in said["tasks"]:
            if task not in held:
                self._context.log("task.orphan", task=task)
                self._host.ask("control", task=task, op="cancel", op_id=f"{task}.orphan")

    def _refuse_another_folder(self) -> None:
        """Start over if our folder was moved away or replaced: its tasks are not ours to tell."""
        try:
            now = host_id_of(self._folder)
        except FileNotFoundError:
            now = ""
        if now != self._host_id:
            self._host.close()  # it is still connected to the host that went with the folder
            raise Conflict(f"the folder of {self._host_id} is gone; its tasks stay with it")

    def _clear_old(self) -> None:
        """Once a day, remove old output that no server has."""
        context, now_ms = self._context, time.time_ns() // 1_000_000
        if context.shares_folder or not context.keep_days or now_ms < self._clears_at_ms:
            return
        self._clears_at_ms = now_ms + CLEAR_MS
        with self._lock:
            told = set(self._stories)
        clear_old(self._folder, now_ms - context.keep_days * DAY_MS, told)

    def _hold(self, *, only_if_silent: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Become the speaker of the host; returns its tasks and their open operations."""
        tasks: list[dict[str, Any]] = []
        more: dict[str, Any] = {"only_if_silent": True} if only_if_silent else {}
        while True:
            held = self._context.plane.write(
                "tool.task_held",
                runner_id=self._context.options.runner_id,
                host_id=self._host_id,
                **more,
            )
            self._revision = held["revision"]
            tasks += held["tasks"]
            if not held["has_more"]:
                return tasks, held["ops"]
            more = {"after": tasks[-1]["task_id"]}

    def _claim(self) -> None:
        """Have waiting tasks started; meanwhile the server is asked for those that wait behind."""
        asks = partial(self._ask_for_tasks, CLAIM, host_answers=self._is_felt)
        ahead, self._ahead = self._ahead, None
        claimed = ahead.result() if ahead else asks()
        if claimed["tasks"] and claimed["waiting"]:
            self._ahead = Ahead(asks)
        begun: list[tuple[Story, dict[str, Any]]] = []
        for work in claimed["tasks"]:
            self._context.log("task.claimed", task=work["task_id"], tool=work["tool"])
            begun.append((self._story(work, set()), work))
        with self._lock:  # first of all: the listener stays only while there are stories
            self._stories |= {story.task_id: story for story, _ in begun}
        self._start(begun)

    def _ask_for_tasks(self, limit: int, *, host_answers: bool) -> dict[str, Any]:
        asked: dict[str, Any] = self._context.plane.write(
            "tool.task_claim",
            runner_id=self._context.options.runner_id,
            host_id=self._host_id,
            revision=self._revision,
            limit=limit,
            host_answers=host_answers,
            projects=self._context.projects,
        )
        return asked

    def _story(self, work: dict[str, Any], pending: set[str]) -> Story:
        folder = self._folder / work["task_id"]
        keeper = None if self._context.shares_folder else self._keeper(work["task_id"], folder)
        decided = self._decided(work)[1]
        story = Story(work, folder, pending, decided, keeper)
        story.host_id, story.revision = self._host_id, self._revision
        return story

    def _decided(self, work: dict[str, Any]) -> tuple[PolicyDecision, Frame]:
        """This runner's decision about a task, and the frame that records it."""
        policy = self._context.policy
        decision = policy.decide(work)
        return decision, decision_frame(policy.profile_for(work), decision)

    def _start(self, begun: list[tuple[Story, dict[str, Any]]]) -> None:
        """Have the host start the tasks of stories that are already kept, unless it did before.

        Their frames are told only once the host has answered. A wish to cancel one ends it here
        only if the host never started it; otherwise it is an operation like any other.
        """
        asked: list[tuple[Story, dict[str, Any]]] = []
        for story, work in begun:
            if work["status"] != "queued":
                self._begin(story)
                continue
            decision, decided = self._decided(work)
            if work["cancel_reason"] is not None and not story.has_started():
                self._end_early(story, cancelled_early(work["cancel_reason"]))
            elif not decision.allowed:
                denied = f"{decision.rule}: {decision.why}"
                self._end_early(story, [decided, failed(denied, "policy_denied")])
            else:
                try:
                    asked.append((story, request_for(work, self._context.root)))
                except NotStarted as why:
                    self._end_early(story, [decided, failed(str(why), why.cause)])
        for at in range(0, len(asked), AT_ONCE):
            self._ask_to_start(asked[at : at + AT_ONCE])

    def _ask_to_start(self, asked: list[tuple[Story, dict[str, Any]]]) -> None:
        revision, requests = self._revision, [request for _, request in asked]
        said = self._host.ask("spawn_many", revision=revision, tasks=requests).get("tasks")
        if said is None:  # the host refuses all of them, or is of an older version
            said = [self._host.ask("spawn", revision=revision, **one) for one in requests]
        later = None
        for (story, _), one in zip(asked, said, strict=True):
            if one.get("later"):  # it is still ours to start, unless the server says otherwise
                later = Conflict(f"{story.task_id}: {one['error']}")
            elif "error" in one:
                self._end_early(story, [*story.first, failed(one["error"], "unstarted")])
            else:
                self._begin(story)
        if later:
            raise later

    def _begin(self, story: Story) -> None:
        story.is_begun = True
        self._grow(story.task_id)

    def _end_early(self, story: Story, last: list[Frame]) -> None:
        """Send the last frames of a task that was never started."""
        if not self._teller.append(story, last):
            self._lost.set()
        with self._lock:
            if self._stories.get(story.task_id) is story:
                del self._stories[story.task_id]
            self._stale.append(story)
        self._begin(story)

    def _keeper(self, task_id: str, folder: Path) -> LogKeeper:
        """Sends a task's logs to servers that cannot read our folder."""
        fence = {"runner_id": self._context.options.runner_id, "revision": self._revision}
        offer = self._context.plane.offer  # a full disk there must not block all other tasks
        return LogKeeper(partial(offer, "tool.output_append", task_id=task_id, **fence), folder)

    def _do(self, ops: list[dict[str, Any]]) -> None:
        """Pass operations to the host, in order; one that it cannot record yet is tried again.

        Until it is, those behind it wait, but for a request to cancel.
        """
        stuck: set[str] = set()
        for op in ops:
            story = self._stories.get(op["task_id"])
            self._undone.pop(op["op_id"], None)
            if story is None:
                continue  # it has ended, or we start over with all that is pending
            story.op_logged(op["op_id"], op["kind"], op["payload"].get("reason"))
            if op["task_id"] in stuck and op["kind"] != "cancel":
                self._undone[op["op_id"]] = op
                continue
            said = self._host.ask(
                "control",
                task=op["task_id"],
                op=op["kind"],
                op_id=op["op_id"],
                revision=self._revision,
                **op["payload"],
            )
            if "error" in said:
                self._context.log("task.op", op=op["op_id"], why=said["error"])
                if not story.has_ended():
                    self._undone[op["op_id"]] = op
                    stuck.add(op["task_id"])
            self._grow(op["task_id"])

    # ---- listener and teller

    def _listen(self) -> None:
        """Follow the host while there are tasks; this also restarts a killed host."""
        try:
            for grown in self._host.watch():
                self._grow(grown)
                if self._leave.is_set() or not self._stories:
                    return
        except OSError as error:
            self._context.log("host.trouble", why=str(error))

    def _feel(self) -> None:
        """Tell the server of a host that does not answer, and replace it once its lease is over."""
        pulse, told = HostPulse(self._folder), True
        while not self._leave.wait(PULSE_S):
            if not self._stories and told:
                continue
            try:
                if (pid := pulse.feel()) is not None:
                    self._context.log("host.replaced", pid=pid)
                self._is_felt = pulse.is_felt
                if not self._is_felt or not told:
                    told = False
                    self._ask_for_tasks(0, host_answers=self._is_felt)
                    told = self._is_felt
            except LonghouseError as error:
                self._context.log("host.untold", why=error.message)
            except Exception as error:
                self._context.log("host.defect", why=repr(error))

    def _tell(self) -> None:
        listener: threading.Thread | None = None
        while not self._leave.is_set():
            with self._lock:
                stale, self._stale = self._stale, []
                stories = list(self._stories.values())
            for story in stale:  # closed here, where they are read
                story.close()
            if stories and (listener is None or not listener.is_alive()):
                listener = threading.Thread(target=self._listen, name="host listener", daemon=True)
                listener.start()
            named = self._named(stories)
            try:
                more = self._teller.tell([story for story in named if story.is_begun])
            except Exception as error:
                self._context.log("tasks.defect", why=repr(error))
                more = []
            for story in more:  # in the next round, with all that have grown meanwhile
                self._grow(story.task_id)
            if len(named) == len(stories):
                tick_s = max(TICK_S, TICK_PER_TASK_S * len(stories))
                self._look_at = time.monotonic() + tick_s
            pause_s = max(0.0, self._look_at - time.monotonic()) if stories else None
            self._wake.wait(pause_s)
            self._wake.clear()

    def _grow(self, task: str) -> None:
        """This task has something to tell; an empty name means that any may have."""
        with self._lock:
            self._grown.add(task)
        self._wake.set()

    def _named(self, stories: list[Story]) -> list[Story]:
        """The stories to look at: all when it is time, else those that are known to have grown.

        The host says nothing of what programs without a terminal print, so all are looked at now
        and then.
        """
        with self._lock:
            grown, self._grown = self._grown, set()
        if "" in grown or time.monotonic() >= self._look_at:
            return stories
        return [story for story in stories if story.task_id in grown]

    def _forget(self, story: Story) -> None:
        with self._lock:
            if self._stories.get(story.task_id) is story:
                del self._stories[story.task_id]

    def _lose(self, story: Story) -> None:
        """Start over, unless this story has already been replaced."""
        with self._lock:
            if self._stories.get(story.task_id) is story:
                self._lost.set()
