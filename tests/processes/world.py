"""What the examples of the processes room need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.kit import Lh
from tests.processes.kit import HOST, allow, spawned


def _spawned(lh: Lh) -> None:
    spawned(lh)


def _held(lh: Lh) -> None:
    lh("tool.task_held", runner_id="runner-1", host_id=HOST)


def _claimed(lh: Lh) -> None:
    _spawned(lh)
    _held(lh)
    lh("tool.task_claim", runner_id="runner-1", host_id=HOST, revision=1)


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "tool.task_append": _claimed,
    "tool.task_cancel": _spawned,
    "tool.task_claim": _held,
    "tool.task_list": _spawned,
    "tool.task_spawn": allow,
    "tool.task_status": _spawned,
    "tool.task_watch": _held,
}
