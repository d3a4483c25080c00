"""Whatever dies, what is typed reaches its terminal once and in order, or is told as failed.

Runners watch, pass on and tell in any interleaving with kills of runner and server, answers that
are lost, and an earlier runner that is only frozen; on both engines.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from longhouse.house import House
from tests.kit import Lh, ManualClock
from tests.processes.kit import Runner, ended
from tests.processes.test_typing import log


class Host:
    """Applies each operation once and remembers its outcome, as the real one's journal does."""

    def __init__(self) -> None:
        self.journal: dict[str, dict[str, Any]] = {}
        self.terminals: dict[str, bytes] = {}

    def control(self, op: dict[str, Any]) -> None:
        op_id, task_id = op["op_id"], op["task_id"]
        if op_id in self.journal:
            return
        if op["payload"].get("lost"):
            self.journal[op_id] = {"type": "tool_task_op_failed", "op_id": op_id, "error": "lost"}
            return
        typed = base64.b64decode(op["payload"]["chunk_b64"].replace(" ", ""))
        self.terminals[task_id] = self.terminals.get(task_id, b"") + typed
        told = {"type": "tool_task_stdin_written", "op_id": op_id, "bytes": len(typed)}
        self.journal[op_id] = told


class Speaker:
    """A runner as the model sees it: what it was given and has not passed on, and its cursor."""

    def __init__(self, lh: Lh, name: str, host: Host) -> None:
        self.runner = Runner(lh, name)
        self.host = host
        self.after = 0
        self.given: list[dict[str, Any]] = []
        self.pending: list[str] = []

    def hold(self) -> None:
        self.after, self.given, self.pending = 0, [], []
        self.take(self.runner.hold()["ops"], moves=False)

    def watch(self) -> None:
        self.take(self.runner.watch(after_seq=self.after)["ops"])

    def take(self, ops: list[dict[str, Any]], *, moves: bool = True) -> None:
        """What `tool.task_held` lists is listed by the first watch again, as in the speaker."""
        self.given += ops
        self.pending += [op["op_id"] for op in ops if op["op_id"] not in self.pending]
        if moves:
            self.after = max([self.after, *(op["seq"] for op in ops)])

    def pass_on(self) -> None:
        given, self.given = self.given, []
        for op in given:
            self.host.control(op)


class Typing(RuleBasedStateMachine):
    make: Callable[[], Lh]

    def __init__(self) -> None:
        super().__init__()
        self.lh = self.make()
        self.number = 0
        self.host = Host()
        self.speaker = Speaker(self.lh, "runner-0", self.host)
        self.speaker.hold()
        self.frozen: Speaker | None = None
        self.tasks = [self.speaker.runner.start(execution_mode="pty") for _ in range(2)]
        self.typed: dict[str, list[tuple[str, bytes]]] = {task: [] for task in self.tasks}
        self.begins = self.lh("tool.task_status", task_id=self.tasks[0])["task"]["next_seq"]
        self.log_begins = len(log(self.lh))

    @rule(which=st.integers(0, 1), keys=st.integers(1, 4))
    def types(self, which: int, keys: int) -> None:
        task = self.tasks[which]
        for _ in range(keys):
            self.number += 1
            data = f"{self.number} ".encode()
            chunk = base64.b64encode(data).decode()
            op = self.lh("tool.task_write_stdin", task_id=task, chunk_b64=chunk)
            self.typed[task].append((op["op_id"], data))

    @rule()
    def another_writes(self) -> None:
        self.lh("vcs.notes.commit", content="between")

    @rule()
    def the_runner_watches(self) -> None:
        self.speaker.watch()

    @rule()
    def the_runner_passes_on(self) -> None:
        self.speaker.pass_on()

    @rule(which=st.integers(0, 1), twice=st.booleans())
    def the_runner_tells(self, which: int, twice: bool) -> None:
        self.tell(self.speaker, self.tasks[which], twice=twice)

    @rule()
    def the_runner_is_killed(self) -> None:
        self.number += 1
        self.speaker = Speaker(self.lh, f"runner-{self.number}", self.host)
        self.speaker.hold()

    @rule()
    def the_runner_is_frozen_and_another_takes_over(self) -> None:
        self.frozen = self.speaker
        self.the_runner_is_killed()

    @rule()
    def the_frozen_runner_goes_on(self) -> None:
        """What it was given before reaches the host once more; the server refuses it."""
        if self.frozen is None:
            return
        self.frozen.runner.lh = self.lh
        runner = self.frozen.runner
        gone = self.lh.refused(
            "tool.task_watch", revision=runner.revision, timeout_ms=0, **runner.me
        )
        assert gone["code"] == "CONFLICT"
        self.frozen = None  # the host fences it: see the tests of the host

    @rule()
    def the_server_is_killed(self) -> None:
        """On SQLite what it held in memory is gone, and told as failed."""
        self.lh = self.make()
        self.speaker.runner.lh = self.lh

    def tell(self, speaker: Speaker, task: str, *, twice: bool = False) -> None:
        mine = [op for op in speaker.pending if op.startswith(f"{task}.")]
        frames = [speaker.host.journal[op] for op in mine if op in speaker.host.journal]
        if not frames:
            return
        at = self.lh("tool.task_status", task_id=task)["task"]["next_seq"]
        speaker.runner.append(task, *frames, base_seq=at)
        if twice:
            assert speaker.runner.append(task, *frames, base_seq=at)["repeated"]
        for frame in frames:
            speaker.pending.remove(frame["op_id"])

    def teardown(self) -> None:
        self.speaker.watch()
        self.speaker.pass_on()
        for task in self.tasks:
            self.tell(self.speaker, task)
        rows = log(self.lh)[self.log_begins :]
        for task, typed in self.typed.items():
            told = [
                row.data["op_id"] for row in rows if row.subject == task and "op_id" in row.data
            ]
            assert told == [op_id for op_id, _ in typed], "one frame a call, in order"
            failed = {
                op_id
                for op_id, one in self.host.journal.items()
                if one["type"] == "tool_task_op_failed"
            }
            reached = b"".join(data for op_id, data in typed if op_id not in failed)
            assert self.host.terminals.get(task, b"") == reached
            self.speaker.runner.append(task, ended())
        assert not [row for row in log(self.lh) if row.stream == "tool_ops"]


@pytest.mark.proves("TTA-031", "TTA-032")
def test_no_key_is_lost_doubled_or_reordered(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    made: list[House] = []

    def make() -> Lh:
        if made:
            made.pop().close()
        made.append(new_house())
        return Lh(made[0], clock)

    machine = type("TypingHere", (Typing,), {"make": staticmethod(make)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
