"""The facts about the house that this room's handlers need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["STARTER", "JobFacts", "Starter"]

STARTER: Final = "jobs.runner_starter"
"""The service by which a server starts runners; its value is a `Starter`."""


class Starter(Protocol):
    """Starts `longhouse runner` for a workspace."""

    def running(self, workspace: str) -> bool: ...

    def start(self, workspace: str) -> None: ...


class JobFacts(NamedTuple):
    """`starter` is None if this process cannot start runners."""

    starter: Starter | None
    autostart: bool
    max_running: int

    @classmethod
    def from_house(cls, house: HouseFacts) -> JobFacts:
        settings = house.settings
        return cls(
            house.services.get(STARTER), settings.runner_autostart, settings.jobs_max_running
        )
