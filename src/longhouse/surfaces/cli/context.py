"""The context of a command: the settings, a door to the store, and the output."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from longhouse.client import CallOutcome, locate
from longhouse.config import Settings, load
from longhouse.kernel.errors import UnknownId
from longhouse.surfaces.cli.output import Console

if TYPE_CHECKING:
    from longhouse.client import Door, Wire

__all__ = ["Cli"]

PATIENCE_S = 3.0


class Cli:
    """One run of the command line."""

    def __init__(self, flags: dict[str, Any], output: Console, *, as_json: bool) -> None:
        self.flags = flags
        self.out = output
        self.as_json = as_json
        self.patience_s = PATIENCE_S
        self.may_make_a_store = False
        self._door: Door | None = None

    @cached_property
    def settings(self) -> Settings:
        found = load(self.flags)
        for text in found.place.notices:
            self.out.note("note", text)
        return found

    @property
    def door(self) -> Door:
        """The store's server if one is running, else the store itself, opened here."""
        if self._door is None:
            settings = self.settings
            if wire := self._find():
                from longhouse.client import RemoteDoor

                self._door = RemoteDoor(
                    wire,
                    workspace=settings.workspace,
                    agent_id=settings.agent_id,
                    find_again=self._find,
                    patience_s=self.patience_s,
                )
            else:
                self.need_a_store()
                lighten()
                from longhouse.client import EmbeddedDoor

                self._door = EmbeddedDoor(settings, sparse=True)
        return self._door

    @property
    def server_url(self) -> str | None:
        """The address of the server this run is connected to, if any."""
        wire = getattr(self._door, "wire", None)
        return wire.origin.url if wire else None

    def need_a_store(self) -> None:
        """Outside a repository, refuse to create a store unless the command asks for one."""
        self.settings.place.require()
        if self.settings.is_by_chance and not self.may_make_a_store:
            raise UnknownId(
                f"there is no store here: {self.settings.project_root} is not in a git repository, "
                "and neither it nor any folder above it has a store",
                recovery="create one here with `longhouse init`, go to your repository, "
                "or name a store with --dir",
            )

    def ask(self, cmd: str, args: dict[str, Any]) -> CallOutcome:
        """The outcome of a call; one that only reads never creates a store."""
        if self._door is None and not self.settings.is_there and _reads(cmd, args):
            self.need_a_store()
            raise UnknownId(
                f"there is no store yet for {self.settings.project_root}",
                recovery="create one with `longhouse init`",
            )
        return self.door.call(cmd, args)

    def call(self, cmd: str, **args: Any) -> Any:
        """The result of a call; a refusal is raised as an error."""
        given = {name: value for name, value in args.items() if value is not None}
        outcome = self.ask(cmd, given)
        result = outcome.result()
        if outcome.envelope and not self.as_json:
            for warning in outcome.envelope.get("warnings", ()):
                self.out.note("note", warning["message"])
        return result

    def close(self) -> None:
        if self._door is not None:
            self._door.close()

    def _find(self) -> Wire | None:
        """A wire to the store's server, if one is running."""
        found = locate.server_of(self.settings)
        return found[1] if found else None


def lighten() -> None:
    """Spare a short-lived process an import it does not need.

    msgspec imports typing_extensions only as a fallback for what typing has had since 3.11, but
    that import takes as long as msgspec itself. A None in sys.modules makes it fail at once.
    Servers and the SDK live longer and do not need this.
    """
    import sys

    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


def _reads(cmd: str, args: dict[str, Any]) -> bool:
    from longhouse.client import (
        known_commands,  # a store that is there is opened either way
    )

    return known_commands().reads(cmd, args)
