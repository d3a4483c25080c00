"""The composition root: opens the store, joins the rooms, and provides the single entry point.

Everything a house needs is built here, and only here, from resolved settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from longhouse.config import Settings
from longhouse.dispatch import Caller, Dispatcher, Observer
from longhouse.facts import HouseFacts
from longhouse.kernel.clock import Clock, Ids, RandomIds
from longhouse.kernel.contributions import Loop
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import LonghouseError, ProjectGuardMismatch, StoreUnusable
from longhouse.kernel.registry import Registry, Role
from longhouse.store import migrate
from longhouse.store.database import Database
from longhouse.store.engine import Lost, StoreEngine
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Call, Tx
from longhouse.store.tx import sql as store_sql

if TYPE_CHECKING:
    from longhouse.store.maintenance import Maintenance, Trouble

__all__ = ["ROOMS", "House", "registry"]

ROOMS = (
    "store.artifacts",
    "store.recall",
    "memory",
    "work",
    "thinking",
    "jobs",
    "ledger",
    "crew",
    "processes",
    "desk",
)

CLAMP_S = 60


def registry() -> Registry:
    """A registry of every room in `ROOMS`; the desk comes last because it uses the others."""
    return Registry(import_module(f"longhouse.{name}.room").room for name in ROOMS)


class House:
    """One open store with its rooms.

    `services` maps names to capabilities that only a server has. A house that has them also runs
    the rooms' reactions to committed writes.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        observe: Observer | None = None,
        commands: Registry | None = None,
        services: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = settings
        self.db = Database(open_engine(settings), project_guard=settings.project_guard)
        self.registry = commands or registry()
        self.facts = HouseFacts(
            settings,
            self.registry,
            engine=self.db.engine.name,
            store_engine=self.db.engine,
            schema_version=migrate.newest(),
            services=services or {},
        )
        self._clock = clock or self.db.engine.clock
        self._time_of_calls = clock.now_ms if clock else None
        self._ids = ids or RandomIds()
        self.dispatcher = Dispatcher(
            self.registry,
            self.db,
            self.facts,
            clock=self._clock,
            ids=self._ids,
            observe=observe,
            time_of_calls=self._time_of_calls,
        )
        if self.db.engine.began_anew():
            self._look_through()

    def call(
        self, cmd: str, args: dict[str, Any] | None = None, caller: Caller | None = None
    ) -> Answer:
        """Run one command as the owner of the store, or as `caller`."""
        return self.dispatcher.call(cmd, args, caller or Caller(Role.OPERATOR))

    def owner(self) -> Caller:
        """The owner of the store, as the agent that the settings name, as over a connection."""
        return Caller(Role.OPERATOR, name=self.settings.agent_id)

    def maintenance(self, trouble: Trouble) -> Maintenance:
        """The maintenance loops of the store and the rooms, which a server runs while it serves."""
        from longhouse.store.maintenance import Maintenance

        loops = (Loop("store.clamp", CLAMP_S, self._clamp), *self.registry.loops)
        return Maintenance(self.db, loops, self._call, trouble, self.registry.tidiers)

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait until observers and reactions have processed every call answered so far."""
        return self.dispatcher.aftermath.settle(timeout_s)

    def close(self) -> None:
        self.dispatcher.aftermath.close()
        self.db.close()

    def _look_through(self) -> None:
        """Clamp every workspace; what fails here is tried again by the next house, or the loop."""
        try:
            for workspace in self.db.workspaces():
                with suppress(ProjectGuardMismatch):  # its own project does it
                    self.db.write(workspace, self._clamp, self._call())
            self.db.engine.looked_through()
        except (LonghouseError, Lost):
            return

    def _clamp(self, tx: Tx) -> None:
        """Shorten leases and the like that lie further ahead than the clock could have put them."""
        tx.run(store_sql.idempotency_clamp, now=tx.now_ms)
        for clamp in self.registry.clampers:
            clamp(tx)

    def _call(self) -> Call:
        now_ms = self._time_of_calls() if self._time_of_calls else None
        return Call(now_ms=now_ms, ids=self._ids, facts=self.facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_engine(settings: Settings) -> StoreEngine:
    """The engine that the settings select; creates the store's folder."""
    settings.make_dir()
    if settings.is_sqlite:
        return SqliteEngine(Path(settings.db))
    try:
        from longhouse.store.postgres import PostgresEngine
    except ImportError as error:
        raise StoreUnusable(
            f"PostgreSQL needs a package that is not installed: {error.name}",
            recovery="pip install 'longhouse[postgres]', or leave LONGHOUSE_DB unset for SQLite",
        ) from error
    return PostgresEngine(settings.db)
