"""What a client needs to know about commands without importing any room: `catalog.json`.

`python -m tools.commands` writes it from the registry, and a test compares the two. Clients use it
to tell reads from writes and to give every write its own idempotency key.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["CATALOG", "Catalog", "known_commands", "new_key"]

_FORMAT = ("fmt", "format", "output", "output_format")
"""The names under which a call says its format."""
CATALOG = Path(__file__).with_name("catalog.json")


class Catalog:
    """Which commands only read, and which command a tool call means."""

    def __init__(self, path: Path = CATALOG) -> None:
        found = json.loads(path.read_bytes())
        self._ops: dict[str, dict[str, str]] = found["ops"]
        self._reads: dict[str, list[str]] = found["reads"]
        self._writes = frozenset(found["writes"])

    def reads(self, cmd: str, args: dict[str, Any]) -> bool:
        """Whether a call is known to only read."""
        writes_with = self._reads.get(cmd.strip().lower())
        return writes_with is not None and all(args.get(name) is None for name in writes_with)

    def writes(self, cmd: str, args: dict[str, Any]) -> bool:
        """Whether a call is known to write; a newer server may have unknown commands."""
        name = cmd.strip().lower()
        return name in self._writes or (name in self._reads and not self.reads(name, args))

    def command(self, tool: str, arguments: dict[str, Any]) -> str:
        """The command behind a tool call; empty if only the server can tell."""
        ops = self._ops.get(tool)
        if ops is None:
            return tool
        op = str(arguments.get("op") or "call").strip().lower()
        if op != "call":
            return ops.get(op, "")
        return str(arguments.get("cmd") or "").strip().lower()

    def in_lines(self, tool: str, arguments: dict[str, Any] | None) -> dict[str, Any] | None:
        """The arguments of a tool call that asks for lines, if it only reads and says no format."""
        arguments = arguments or {}
        inner = arguments.get("args")
        given = {**arguments, **inner} if isinstance(inner, dict) else arguments
        said = any(given.get(name) is not None for name in _FORMAT)
        if said or not self.reads(self.command(tool, arguments), given):
            return arguments or None
        return {**arguments, "fmt": "lines"}

    def keyed(self, cmd: str, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call, with an idempotency key if it writes; reads accept none."""
        if args.get("idempotency_key") is not None or not self.writes(cmd, args):
            return args
        return {**args, "idempotency_key": new_key()}


@cache
def known_commands() -> Catalog:
    """Which commands there are, as this client knows them."""
    return Catalog()


def new_key() -> str:
    """A new idempotency key for one write."""
    return "auto-" + os.urandom(16).hex()
