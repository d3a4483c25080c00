"""The composition root: opens the store, joins the rooms, and hands out the one way in.

Everything that a house needs is made here and nowhere else, from resolved settings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from longhouse.__about__ import __version__
from longhouse.config import Settings
from longhouse.dispatch import Caller, Dispatcher, Observer
from longhouse.jobs.autostart import Autostart, Starter, wanted
from longhouse.kernel.clock import Clock, Ids, RandomIds, SystemClock
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import StoreUnusable
from longhouse.kernel.registry import Registry, Role
from longhouse.store import migrate
from longhouse.store.database import Database
from longhouse.store.engine import Engine
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Call

if TYPE_CHECKING:
    from longhouse.crew.items import WorkItems
    from longhouse.store.artifacts import Artifacts
    from longhouse.store.maintenance import Maintenance, Trouble

__all__ = ["House", "HouseFacts", "registry"]


def registry() -> Registry:
    """All commands; rooms first, the desk that stands on them last."""
    from longhouse import crew, desk, jobs, ledger, memory, work  # not before all are needed
    from longhouse.store import artifacts

    rooms = (artifacts, memory, work, jobs, ledger, crew, desk)
    return Registry([one.room for one in rooms])


class HouseFacts(NamedTuple):
    """What handlers may know about the house they run in."""

    registry: Registry
    version: str
    storage_dir: str
    schema_version: int
    default_workspace: str | None
    workspace_lock: bool
    workspace_allowlist: tuple[str, ...]
    project_guard: str | None
    toolset: str
    agent_id: str | None
    engine: str
    artifacts: Callable[[], Artifacts]
    runner_autostart: bool
    can_start_runner: bool
    jobs_max_running: int
    project_root: str
    agent_stale_minutes: int
    work_items: Callable[[], WorkItems]


class House:
    """One open store with its rooms."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        observe: Observer | None = None,
        commands: Registry | None = None,
        starter: Starter | None = None,
    ) -> None:
        self.settings = settings
        self._observe = observe
        self.db = Database(open_engine(settings), project_guard=settings.project_guard)
        self.registry = commands or registry()
        self.facts = HouseFacts(
            registry=self.registry,
            version=__version__,
            storage_dir=str(settings.dir),
            schema_version=migrate.newest(),
            default_workspace=settings.workspace,
            workspace_lock=settings.workspace_lock,
            workspace_allowlist=settings.workspace_allowlist,
            project_guard=settings.project_guard,
            toolset=settings.toolset,
            agent_id=settings.agent_id,
            engine=self.db.engine.name,
            artifacts=lambda: self.artifacts,
            runner_autostart=settings.runner_autostart,
            can_start_runner=starter is not None,
            jobs_max_running=settings.jobs_max_running,
            project_root=str(settings.project_root),
            agent_stale_minutes=settings.agent_stale_minutes,
            work_items=lambda: self.work_items,
        )
        self._clock = clock or SystemClock()
        self._time_of_calls = clock.now_ms if clock else lambda: None
        self._ids = ids or RandomIds()
        self._autostart = starter and Autostart(
            starter,
            enabled=settings.runner_autostart,
            now_ms=self._clock.now_ms,
            look=lambda workspace: self.db.read(workspace, wanted, self._call()),
        )
        self.dispatcher = Dispatcher(
            self.registry,
            self.db,
            self.facts,
            clock=self._clock,
            ids=self._ids,
            observe=self._heard,
            time_of_calls=self._time_of_calls,
        )

    def call(
        self, cmd: str, args: dict[str, Any] | None = None, caller: Caller | None = None
    ) -> Answer:
        """Carry out one command as the owner of the store, or as `caller`."""
        return self.dispatcher.call(cmd, args, caller or Caller(Role.OPERATOR))

    @cached_property
    def artifacts(self) -> Artifacts:
        """The artifact store, opened by the first who needs it: most calls do not."""
        from longhouse.store.artifacts import Artifacts

        settings = self.settings
        return Artifacts(settings.artifacts, quota_bytes=settings.artifact_quota_mb << 20)

    @cached_property
    def work_items(self) -> WorkItems:
        """Where the crew finds work items."""
        if self.settings.items == "beads":
            from longhouse.crew.beads import BeadsItems

            exported = self.settings.project_root / ".beads" / "issues.jsonl"
            return BeadsItems(self.settings.dir / "beads.json", exported)
        from longhouse.crew.tasks import TaskItems

        return TaskItems()

    def maintenance(self, trouble: Trouble) -> Maintenance:
        """The upkeep of store and rooms, for a server to run while it serves."""
        from longhouse.store.artifacts.sweep import sweep_bytes
        from longhouse.store.maintenance import Maintenance

        def tidy() -> None:
            sweep_bytes(self.db, self.artifacts, self._call())

        return Maintenance(self.db, self.registry.loops, self._call, trouble, tidy)

    def close(self) -> None:
        self.db.close()

    def _heard(
        self, cmd: str, answer: Answer, seconds: float, defect: BaseException | None
    ) -> None:
        """A call was answered: tell the observer, and start a runner where one is missing."""
        if self._autostart and answer.success:
            self._autostart.after(cmd, answer.envelope["context"].get("workspace"))
        if self._observe is not None:
            self._observe(cmd, answer, seconds, defect)

    def _call(self) -> Call:
        return Call(now_ms=self._time_of_calls(), ids=self._ids, facts=self.facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_engine(settings: Settings) -> Engine:
    """The engine that the settings name, with its folder made and hidden from git."""
    settings.make_dir()
    try:
        ignore = settings.dir / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnusable.folder(settings.dir, error) from error
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
