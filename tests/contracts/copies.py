"""Copies of a built world, which is built once per worker and engine; tests start from a copy.

A copy has the rows, the artifacts, the clock and the count of ids of the original, so that a test
cannot tell it from a world of its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from longhouse.config import Settings, load
from longhouse.house import House
from tests.contracts.world import build_world
from tests.kit import CountedIds, Lh, ManualClock
from tests.plugins.postgres import Databases


class Place(NamedTuple):
    """Where one test's world is."""

    folder: Path
    database: str
    """The name of the PostgreSQL database; empty for SQLite."""


class World(NamedTuple):
    """The original: its store, closed, and how far its clock and its ids had come."""

    settings: Settings
    now_ms: int
    ids: int
    kept: dict[str, str]


def settings_in(folder: Path, db: str | None, root: Path) -> Settings:
    """Settings of a store in this folder; its workspace is bound to the project at `root`."""
    return load(
        {"dir": str(folder / ".longhouse"), "workspace": "acme", "db": db},
        environ={"HOME": str(root / "home")},
        cwd=root,
    )


def built(place: Place, databases: Databases | None) -> World:
    """Build the world, once."""
    url = databases.empty(place.database) if databases else None
    settings, clock, ids = settings_in(place.folder, url, place.folder), ManualClock(), CountedIds()
    with House(settings, clock=clock, ids=ids) as house:
        lh = Lh(house, clock)
        build_world(lh)
    if databases:
        databases.keep(place.database)
    return World(settings, clock.now_ms(), ids.count, lh.kept)


def copied(world: World, place: Place, databases: Databases | None) -> Lh:
    """A house on a copy; whoever asked for it closes it."""
    url = databases.refill(place.database) if databases else None
    settings = settings_in(place.folder, url, world.settings.dir.parent)
    settings.dir.mkdir(mode=0o700)
    for name in ("project.json", *([] if databases else [world.settings.db])):
        shutil.copy2(world.settings.dir / name, settings.dir)
    artifacts = world.settings.dir / "artifacts"
    if artifacts.exists():
        shutil.copytree(artifacts, settings.dir / "artifacts")
    clock, ids = ManualClock(world.now_ms), CountedIds(world.ids)
    lh = Lh(House(settings, clock=clock, ids=ids), clock)
    lh.kept.update(world.kept)
    return lh
