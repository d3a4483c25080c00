"""A registry for processes that make a single call: it imports only the modules that call needs.

`manifest.json` says which module declares what. `python -m tools.commands` writes it, and a test
compares it with the full registry. A command missing from it is looked up in the full registry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from longhouse.kernel.contributions import Opener, Searchable
from longhouse.kernel.refs import MANIFEST, RefKind
from longhouse.kernel.registry import Command, Outline, Registry, Role
from longhouse.kernel.values import Draft, Request, kind_of

__all__ = ["MANIFEST", "SparseRegistry", "manifest_of"]

_FUNCTIONS = ("advisers", "clampers", "recognizers", "recoverers", "targets", "vouchers")
"""Declared functions that a single call may need; only servers need the other declarations."""


class SparseRegistry(Registry):
    """Answers from the manifest; for anything else it loads the full registry."""

    def __init__(self, whole: Callable[[], Registry], manifest: Path = MANIFEST) -> None:
        # No super().__init__(): __getattr__ creates the attributes it would set, on demand.
        self._whole = whole
        self._found: dict[str, Command] = {}
        try:
            read = json.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            read = {}
        self._manifest: dict[str, Any] = {"commands": {}, "requests": {}, **read}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            if name in _FUNCTIONS:
                made: Any = tuple(_function(*where) for where in self._manifest[name])
            elif name == "provided":
                made = {what: _function(*where) for what, where in self._manifest[name].items()}
            elif name == "searchables":
                made = tuple(_searchable(*one) for one in self._manifest[name])
            elif name == "openers":
                made = tuple(_opener(*one) for one in self._manifest["openers"])
            else:
                raise LookupError(name)
        except (AttributeError, ImportError, LookupError):
            self.__dict__.update(self._whole().__dict__)
            return self.__dict__[name]
        self.__dict__[name] = made
        return made

    def __contains__(self, cmd: object) -> bool:
        known = self._manifest["commands"]
        return cmd in known if known else super().__contains__(cmd)

    def known(self, cmd: str) -> Command | None:
        name = cmd if cmd in self._manifest["commands"] else cmd.strip().lower()
        command = self._found.get(name) or self._declared(name)
        if command is None:
            return super().known(cmd)
        self._found[name] = command
        return command

    def outline(self, request: Request | Draft) -> Command | Outline | None:
        cmd = self._cmd_of(request)
        known = self._manifest.get("outlines", {}).get(cmd)
        if known is None:
            return super().outline(request)
        portal, op, role, writes_role, writes, writes_with, destructive, needs_workspace = known
        return Outline(
            cmd=cmd,
            portal=portal,
            op=op,
            role=Role(role),
            writes_role=Role(writes_role),
            writes=writes,
            writes_with=tuple(writes_with),
            destructive=destructive,
            needs_workspace=needs_workspace,
        )

    def find(self, request: Request | Draft) -> Command | None:
        cmd = self._cmd_of(request)
        return super().find(request) if cmd is None else self.get(cmd)

    def _cmd_of(self, request: Request | Draft) -> Any:
        kind = kind_of(request)
        return kind if isinstance(kind, str) else self._manifest["requests"].get(_path(kind))

    def _declared(self, cmd: str) -> Command | None:
        """The command as its module declares it; None if the manifest is out of date."""
        module = self._manifest["commands"].get(cmd)
        if module is None:
            return None
        try:
            import_module(module)
            room = import_module(".".join([*module.split(".")[:2], "room"])).room
        except (AttributeError, ImportError):
            return None
        return next((command for command in room.commands if command.cmd == cmd), None)


def manifest_of(registry: Registry, api: Mapping[str, str]) -> str:
    """The contents of `manifest.json` for a full registry."""
    made = {
        "commands": {c.cmd: c.handler.__module__ for c in registry},
        "requests": {_path(c.request): c.cmd for c in registry},
        "outlines": {
            c.cmd: [
                c.portal,
                c.op,
                int(c.role),
                int(c.writes_role),
                c.writes,
                c.writes_with,
                c.destructive,
                c.needs_workspace,
            ]
            for c in registry
        },
        "openers": [
            [one.ref._asdict(), one.resolve.__module__, one.resolve.__name__]
            for one in registry.openers
        ],
        **{
            kind: [[one.__module__, one.__name__] for one in getattr(registry, kind)]
            for kind in _FUNCTIONS
        },
        "provided": {
            what: [one.__module__, one.__name__] for what, one in sorted(registry.provided.items())
        },
        "searchables": [
            [one.kind, one.read.__module__, one.read.__name__, one.rows.__name__]
            for one in registry.searchables
        ],
        "api": dict(api),
    }
    rows = (f" {json.dumps(name)}: {_block(part)}" for name, part in made.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _block(part: Any) -> str:
    """One entry per line, so that diffs are short and merges rarely conflict."""
    if isinstance(part, dict):
        rows = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in part.items()]
        return "{\n" + ",\n".join(rows) + "\n }"
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in part) + "\n ]"


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _function(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _opener(ref: dict[str, Any], module: str, name: str) -> Opener:
    def resolve(tx: Any, request: Any, match: re.Match[str]) -> Any:
        return _function(module, name)(tx, request, match)

    kind = RefKind(**ref)
    return Opener(kind, re.compile(rf"(?:{kind.pattern})\Z"), resolve)


def _searchable(kind: str, module: str, read: str, rows: str) -> Searchable:
    def reads(tx: Any, seqs: Any, look: Any) -> Any:
        return _function(module, read)(tx, seqs, look)

    def lists(tx: Any, after: int, limit: int) -> Any:
        return _function(module, rows)(tx, after, limit)

    return Searchable(kind, reads, lists)
