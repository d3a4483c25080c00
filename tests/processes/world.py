"""What the processes room's examples need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longhouse.store.queries import Query
from longhouse.store.tx import Call
from tests.kit import CountedIds, Lh
from tests.processes.kit import HOST, RECORDED, Runner, allow, ended, running, spawned


def _spawned(lh: Lh) -> None:
    spawned(lh)


def _held(lh: Lh) -> None:
    """The host of the examples, under their revision."""
    lh("tool.task_held", runner_id="runner-1", host_id=HOST)
    _run(lh, "UPDATE tool_hosts SET revision = 1 WHERE ws = :ws")


def _claimed(lh: Lh) -> None:
    _spawned(lh)
    _held(lh)
    lh("tool.task_claim", runner_id="runner-1", host_id=HOST, revision=1)


def _ended(lh: Lh) -> None:
    _claimed(lh)
    runner = Runner(lh)
    runner.revision = 1
    runner.append("PROC-001", running(), ended())


def _recorded(lh: Lh) -> None:
    """The artifact of the example, which is a recording."""
    lh("docs.artifact.add", name="recording", content=RECORDED)


def _in_terminal(lh: Lh) -> None:
    Runner(lh).start(execution_mode="pty")


def _ruled(lh: Lh) -> None:
    lh("tool.policy_allow", tool="bash", pattern="make *")


def _woken(lh: Lh) -> None:
    lh("tool.wakeup_add", agent="amber-otter")


def _kept_back(lh: Lh) -> None:
    """A process that came with an import."""
    task = spawned(lh)
    _run(lh, "UPDATE tool_tasks SET held = 'imported' WHERE ws = :ws")
    assert task == "PROC-001"


def _run(lh: Lh, statement: str) -> None:
    query = Query("prepared", statement, statement)
    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds())
    lh.house.db.write("acme", lambda tx: tx.run(query), call)


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "tool.output_append": _claimed,
    "tool.output_fetch": _ended,
    "tool.output_raw": _ended,
    "tool.output_store": _ended,
    "tool.policy_withdraw": _ruled,
    "tool.recording_export": _ended,
    "tool.recording_import": _recorded,
    "tool.task_append": _claimed,
    "tool.task_append_many": _claimed,
    "tool.task_cancel": _spawned,
    "tool.task_claim": _held,
    "tool.task_list": _spawned,
    "tool.task_release": _kept_back,
    "tool.task_resize": _in_terminal,
    "tool.task_signal": _in_terminal,
    "tool.task_snapshot": _in_terminal,
    "tool.task_spawn": allow,
    "tool.task_status": _spawned,
    "tool.task_stream_events": _spawned,
    "tool.task_wait": _ended,
    "tool.task_watch": _held,
    "tool.task_write_stdin": _in_terminal,
    "tool.wakeup_remove": _woken,
}
