"""A separate store for each test; no process is left running afterward."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.bridge.kit import Bridge, Puppet, Script, servers_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / ".longhouse"
    yield folder
    for pid in servers_of(folder):  # including one that a bridge has just started
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def bridge(store: Path) -> Iterator[Callable[..., Bridge]]:
    """Starts bridges to this test's store."""
    started: list[Bridge] = []

    def start(*flags: str, **how: Any) -> Bridge:
        started.append(Bridge(store, *flags, **how))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture
def puppet(store: Path) -> Iterator[Callable[[Script], Puppet]]:
    started: list[Puppet] = []

    def start(script: Script) -> Puppet:
        started.append(Puppet(store, script))
        return started[-1]

    yield start
    for one in started:
        one.stop()
