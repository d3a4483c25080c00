"""The door to a store without a server: it is opened in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.client.replies import CallOutcome, answer_outcome
from longhouse.config import Settings
from longhouse.house import House, registry

__all__ = ["EmbeddedDoor"]


class EmbeddedDoor:
    """The store, opened here; `sparse` is for processes that make a call or two and exit."""

    def __init__(self, settings: Settings, *, sparse: bool = False) -> None:
        commands = None
        if sparse:
            from longhouse.sparse import SparseRegistry

            commands = SparseRegistry(registry)
        self.house: House = House(settings, commands=commands)

    def call(self, cmd: str, args: dict[str, Any]) -> CallOutcome:
        return answer_outcome(self.house.call(cmd, args, self.house.owner()))

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> Iterator[dict[str, Any]]:
        from longhouse.client.feed import pages

        for page in pages(self.house, after, workspace=workspace, follow=follow):
            yield from (row for row in page if not streams or row["stream"] in streams)

    def close(self) -> None:
        self.house.close()
