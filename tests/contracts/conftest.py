"""Every command of the house, each in a world where its example succeeds."""

from __future__ import annotations

import pytest

from longhouse.house import registry
from longhouse.kernel.registry import Command
from tests.contracts.world import build_world, prepare
from tests.kit import Lh

COMMANDS = tuple(registry())


@pytest.fixture(params=COMMANDS, ids=lambda command: command.cmd)
def command(request: pytest.FixtureRequest) -> Command:
    found: Command = request.param
    return found


@pytest.fixture
def world(lh: Lh) -> Lh:
    """A house with a little of everything in it."""
    build_world(lh)
    return lh


@pytest.fixture
def ready(world: Lh, command: Command) -> Lh:
    """The world, prepared for the example of this command."""
    prepare(world, command.cmd)
    return world
