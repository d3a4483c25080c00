"""A rig for each test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runner.kit import Rig


@pytest.fixture
def make_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []
    monkeypatch.setenv("FAKE_STATE", str(tmp_path / "state"))

    def make(**options: Any) -> Rig:
        made.append(Rig(tmp_path, **options))
        return made[-1]

    yield make
    for rig in made:
        rig.context.plane.close()
        rig.house.close()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig()


TimePasses = Callable[[float, Callable[[], bool]], None]


@pytest.fixture
def time_passes(monkeypatch: pytest.MonkeyPatch) -> TimePasses:
    """`time_passes(seconds, once)`: the runner's clock jumps ahead once the condition is true.

    The runner checks its clock when its child prints, so the child has to print after that.
    """

    def passes(seconds: float, once: Callable[[], bool]) -> None:
        clock = SimpleNamespace(monotonic=lambda: time.monotonic() + (seconds if once() else 0))
        monkeypatch.setattr("longhouse.supervisor.child.time", clock)

    return passes
