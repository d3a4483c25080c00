"""Every command, each in a house where its example succeeds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longhouse.config import load
from longhouse.house import House, registry
from longhouse.kernel.registry import Command
from longhouse.store.queries import ENGINES
from tests.contracts.world import build_world, fingerprint, prepare
from tests.kit import CountedIds, Lh, ManualClock

COMMANDS = tuple(registry())


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine, for a whole module: tests that share a world run in sequence."""
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=COMMANDS, ids=lambda command: command.cmd)
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


@pytest.fixture(scope="module")
def untouched(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    worker_id: str,
    engine: str,
    command: Command,
) -> Iterator[Lh]:
    """One world for all read-only tests of a module; fails at the end if one of them wrote."""
    folder, clock, db = tmp_path_factory.mktemp("shared"), ManualClock(), None
    if engine == "postgres":
        db = request.getfixturevalue("databases").empty(f"shared_{worker_id}")
    settings = load(
        {"dir": str(folder / ".longhouse"), "workspace": "acme", "db": db},
        environ={"HOME": str(folder / "home")},
        cwd=folder,
    )
    house = House(settings, clock=clock, ids=CountedIds())
    try:
        lh = Lh(house, clock)
        build_world(lh)
        prepare(lh, command.cmd)
        before = fingerprint(lh)
        yield lh
        assert fingerprint(lh) == before, f"{command.cmd} wrote although it was refused, or reads"
    finally:
        house.close()
