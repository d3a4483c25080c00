"""What a caller must know of the commands without importing any room: `catalog.json`.

It is written by `python -m tools.commands` from the registry, and a test compares them. With it a
client can tell a read from a write, and give every write an idempotency key of its own.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["CATALOG", "Catalog", "catalog", "new_key"]

CATALOG = Path(__file__).with_name("catalog.json")


class Catalog:
    """Which commands only read, and which command a tool call means."""

    def __init__(self, path: Path = CATALOG) -> None:
        found = json.loads(path.read_bytes())
        self._ops: dict[str, dict[str, str]] = found["ops"]
        self._reads: dict[str, list[str]] = found["reads"]
        self._writes = frozenset(found["writes"])

    def reads(self, cmd: str, args: dict[str, Any]) -> bool:
        """Whether a call is known to do no more than read."""
        writes_with = self._reads.get(cmd.strip().lower())
        return writes_with is not None and all(args.get(name) is None for name in writes_with)

    def writes(self, cmd: str, args: dict[str, Any]) -> bool:
        """Whether a call is known to write; a newer server may have commands that are not known."""
        name = cmd.strip().lower()
        return name in self._writes or (name in self._reads and not self.reads(name, args))

    def command(self, tool: str, arguments: dict[str, Any]) -> str:
        """The command behind a tool call, as far as that can be told."""
        ops = self._ops.get(tool)
        if ops is None:
            return tool
        op = str(arguments.get("op") or "call").strip().lower()
        return ops.get(op) or str(arguments.get("cmd") or "").strip().lower()

    def keyed(self, cmd: str, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call, with an idempotency key if it writes; no read takes one."""
        if args.get("idempotency_key") is not None or not self.writes(cmd, args):
            return args
        return {**args, "idempotency_key": new_key()}


@cache
def catalog() -> Catalog:
    return Catalog()


def new_key() -> str:
    return "auto-" + os.urandom(16).hex()
