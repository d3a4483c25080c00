"""Facts about the house, available to every handler as `tx.facts`.

The attributes describe the house itself. A room that needs more declares a class with `from_house`,
and its handlers ask for that: `tx.facts.of(JobFacts).max_running`. Adding a room does not change
this file. Which workspaces callers may use is decided here, for every surface and command.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from longhouse.__about__ import __version__
from longhouse.kernel.errors import WorkspaceLocked, WorkspaceNotAllowed
from longhouse.kernel.refs import check_workspace

if TYPE_CHECKING:
    from longhouse.config import OwnProject, Settings
    from longhouse.kernel.registry import Registry
    from longhouse.store.engine import StoreEngine

__all__ = ["FromHouse", "HouseFacts", "fallback_workspace", "permit_workspace"]

_SHOWN = 5


class FromHouse(Protocol):
    """Facts that a room declares; built once per house, when a handler first asks for them."""

    @classmethod
    def from_house(cls, house: HouseFacts, /) -> Self: ...


FactsT = TypeVar("FactsT", bound=FromHouse)


class _MadeFacts(dict[type, Any]):
    """The facts of rooms, by their type."""

    def __init__(self, house: HouseFacts) -> None:
        super().__init__()
        self._house = house

    def __missing__(self, kind: type[FromHouse]) -> Any:
        return self.setdefault(kind, kind.from_house(self._house))


class HouseFacts:
    """The settings, registry and store of one house, and the facts its rooms derive from them.

    `services` maps names to capabilities that only some processes have: a server can start runners,
    the command line cannot.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        *,
        engine: str,
        store_engine: StoreEngine | None = None,
        schema_version: int,
        services: Mapping[str, Any],
    ) -> None:
        self.settings = settings
        self.registry = registry
        self.engine = engine
        self.store_engine = store_engine
        self.schema_version = schema_version
        self.services = services
        self.version = __version__
        self.storage_dir = str(settings.dir)
        self.default_workspace: str | None = settings.workspace
        self.workspace_lock = settings.workspace_lock
        self.workspace_allowlist = settings.workspace_allowlist
        self.project_guard = settings.project_guard
        self.agent_id = settings.agent_id
        self.follow_ups: dict[tuple[str, str, int], bytes] = {}
        """The encoded actions after a write that suggests nothing itself, once they are known."""
        self.permitted: set[tuple[str, tuple[str, ...] | None]] = set()
        """The workspaces that callers with these limits are known to be permitted."""
        self._made = _MadeFacts(self)
        if not TYPE_CHECKING:
            self.of = self._made.__getitem__  # called very often

    @property
    def shares_database(self) -> bool:
        """Whether other stores may use the same database: it is not in this store's folder."""
        return self.settings.names_a_store

    @cached_property
    def own(self) -> OwnProject | None:
        """The project that the store was made for, which is nobody's choice at a call."""
        from longhouse.config import own_project

        return own_project(self.settings.place)

    def of(self, kind: type[FactsT]) -> FactsT:
        """Return the room's facts of this type, building them on first use."""
        made: FactsT = self._made[kind]
        return made

    def put(self, made: FromHouse) -> None:
        """Use this instance instead of calling `from_house`."""
        self._made[type(made)] = made


def permit_workspace(facts: HouseFacts, name: str, token_allows: tuple[str, ...] | None) -> None:
    """Refuse an invalid name, or one that may not be used here; the error says which may.

    An allowlist, if configured, replaces the lock.
    `token_allows` lists the workspaces of the caller's token; None means all.
    """
    check_workspace(name)
    if facts.workspace_allowlist:
        if name not in facts.workspace_allowlist:
            shown = ", ".join(facts.workspace_allowlist[:_SHOWN])
            raise WorkspaceNotAllowed(
                f"workspace: {name!r} is not allowed here; fix: "
                f"workspace={fallback_workspace(facts)}",
                recovery=f"use one of: {shown}",
            )
    elif facts.workspace_lock and name != facts.default_workspace:
        raise WorkspaceLocked(
            f"workspace: this server is locked to {facts.default_workspace!r}, not {name!r}",
            recovery=f"leave workspace out, or pass workspace={facts.default_workspace}",
        )
    if token_allows is not None and name not in token_allows:
        raise WorkspaceNotAllowed(
            f"workspace: this token has no access to {name!r}; fix: workspace={token_allows[0]}",
            recovery=f"use one of: {', '.join(token_allows[:_SHOWN])}",
        )


def fallback_workspace(facts: HouseFacts) -> str | None:
    """A workspace that may be used: the default, or else the first on the allowlist."""
    allowed = facts.workspace_allowlist
    if allowed and facts.default_workspace not in allowed:
        return allowed[0]
    return facts.default_workspace
