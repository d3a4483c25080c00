"""The installed clients; each test has its own home, project and store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from longhouse.client import launch, locate
from tests.clients.agents import Agent, Blocked, Claude, Codex
from tests.surfaces.serving import serve, served
from tools import clients

__all__ = ["serve", "served"]


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    clients.install()


@pytest.fixture
def proxy() -> Iterator[Blocked]:
    """A proxy that refuses every request to the outside; fails the test if there was one."""
    blocked = Blocked()
    yield blocked
    blocked.close()
    assert blocked.asked == [], "a client tried to reach the outside"


@pytest.fixture(params=[Claude, Codex], ids=lambda kind: str(kind.name))
def agent(request: pytest.FixtureRequest, tmp_path: Path, proxy: Blocked) -> Iterator[Agent]:
    made: Agent = request.param(tmp_path, proxy)
    yield made
    running = locate.recorded(made.store)
    if running is not None:
        launch.stop(running, force=True)
