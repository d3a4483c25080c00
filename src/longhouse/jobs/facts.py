"""The facts about the house that this room's handlers need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from longhouse.facts import HouseFacts

__all__ = ["STARTER", "JobFacts", "Starter"]

STARTER: Final = "jobs.runner_starter"
"""The service by which a server starts runners; its value is a `Starter`."""


class Starter(Protocol):
    """Starts `longhouse runner` for a workspace."""

    def running(self, workspace: str) -> bool: ...

    def start(self, workspace: str, root: Path | None = None) -> None:
        """Start one that works in the store's own project, or in `root`."""

    def agents(self) -> Mapping[str, Sequence[str]]:
        """The executors that a runner started now would find on this machine, with profiles."""
        ...

    def trouble(self, workspace: str) -> str | None:
        """Why the last start did not help, if it is known."""
        ...


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
