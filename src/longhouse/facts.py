"""What handlers may know about the house they run in.

The attributes describe the house itself. What a room needs beyond them it declares as a class with
`from_house`, and its handlers ask for it: `tx.facts.of(JobFacts).max_running`. So a new room needs
no line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from longhouse.__about__ import __version__

if TYPE_CHECKING:
    from longhouse.config import Settings
    from longhouse.kernel.registry import Registry

__all__ = ["FromHouse", "HouseFacts"]


class FromHouse(Protocol):
    """What a room declares: built once for each house, when a handler first asks for it."""

    @classmethod
    def from_house(cls, house: HouseFacts, /) -> Self: ...


FactsT = TypeVar("FactsT", bound=FromHouse)


class HouseFacts:
    """One house: its settings, its registry, its store, and what its rooms made of them.

    `services` are abilities that only some processes have, by name: a server can start runners, a
    command line cannot.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        *,
        engine: str,
        schema_version: int,
        services: Mapping[str, Any],
    ) -> None:
        self.settings = settings
        self.registry = registry
        self.engine = engine
        self.schema_version = schema_version
        self.services = services
        self.version = __version__
        self.storage_dir = str(settings.dir)
        self.default_workspace: str | None = settings.workspace
        self.workspace_lock = settings.workspace_lock
        self.workspace_allowlist = settings.workspace_allowlist
        self.project_guard = settings.project_guard
        self.agent_id = settings.agent_id
        self._made: dict[type, Any] = {}

    def of(self, kind: type[FactsT]) -> FactsT:
        """What a room declared that its handlers need."""
        made: FactsT | None = self._made.get(kind)
        if made is None:
            made = self._made.setdefault(kind, kind.from_house(self))
        return made

    def put(self, made: FromHouse) -> None:
        """Use this instead of what `from_house` would make."""
        self._made[type(made)] = made
