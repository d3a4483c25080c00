"""Every command, each in a house where its example succeeds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longhouse.house import registry
from longhouse.kernel.registry import Command
from longhouse.store.queries import ENGINES
from tests.contracts.copies import Place, World, built, copied
from tests.contracts.world import fingerprint, prepare
from tests.kit import Lh

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


class Worlds:
    """Makes copies of the built world, for one worker."""

    def __init__(self, request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> None:
        self._request, self._folders = request, folders
        self._built: dict[str, World] = {}

    def copy(self, database: str, engine: str) -> Lh:
        """A house on a copy; on PostgreSQL a database holds one copy at a time."""
        databases = self._request.getfixturevalue("databases") if engine == "postgres" else None
        name = database if databases else ""
        if name not in self._built:
            self._built[name] = built(Place(self._folders.mktemp("world"), name), databases)
        return copied(self._built[name], Place(self._folders.mktemp("copy"), name), databases)


@pytest.fixture(scope="session")
def worlds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return Worlds(request, tmp_path_factory)


@pytest.fixture
def world(worlds: Worlds, engine: str, worker_id: str) -> Iterator[Lh]:
    """A house with a little of everything in it."""
    lh = worlds.copy(f"world_{worker_id}", engine)
    yield lh
    lh.house.close()


@pytest.fixture
def ready(world: Lh, command: Command) -> Lh:
    """The world, prepared for the example of this command."""
    prepare(world, command.cmd)
    return world


@pytest.fixture(scope="module")
def untouched(worlds: Worlds, engine: str, worker_id: str, command: Command) -> Iterator[Lh]:
    """One world for all read-only tests of a module; fails at the end if one of them wrote."""
    lh = worlds.copy(f"shared_{worker_id}", engine)
    try:
        prepare(lh, command.cmd)
        before = fingerprint(lh)
        yield lh
        assert fingerprint(lh) == before, f"{command.cmd} wrote although it was refused, or reads"
    finally:
        lh.house.close()
