"""Writes what is derived from the registry: reference pages, manifest, API types.

`python -m tools.commands` writes them, `--check` only tells whether they are what the code says.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

import longhouse
from longhouse.client.catalog import CATALOG
from longhouse.desk.catalog import example_call
from longhouse.house import registry
from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.explain import shape
from longhouse.kernel.lines import command_line
from longhouse.kernel.registry import PORTALS, Command, Registry
from longhouse.kernel.schema import Common, args_schema, required_args
from longhouse.sparse import MANIFEST, manifest_of
from longhouse.surfaces.bridge.messages import ANSWERS
from longhouse.surfaces.cli.parse import every_command
from longhouse.surfaces.cli.speaking import SAID, said_of
from tools.api_names import STUB, api_homes, api_stub
from tools.bridge_answers import bridge_answers, client_catalog
from tools.cli_page import cli_page
from tools.error_advice import ADVICE
from tools.typescript import TYPES, typescript

DOCS = Path(__file__).parents[1] / "docs"
_COMMON = tuple(Common.__struct_fields__)

COMMANDS_HEAD = """\
# Commands

Every command, by the tool it is called through. This page is written by `python -m tools.commands`.

`status` and `open` take flat arguments. The other tools take `{op, args}` for an op, or
`{op: "call", cmd, args}` for any command; over HTTP a command is `POST /call/<command>` with its
arguments as the body, on the command line `longhouse call <command> '<arguments>'`.

Beside its own arguments every command takes:

| argument | what it is |
| --- | --- |
"""
COMMANDS_TOOLSETS = """
`fmt=lines` gives a short answer to read and paste instead of JSON. `budget_profile` bounds a call
and supplies no default: `portal` (6,000 characters, 50 rows), `default` (20,000, 200), `audit`
(80,000, 500).

A toolset (`--toolset`, `LONGHOUSE_TOOLSET`) chooses which commands `system.cmd.list` shows: `core`
the golden ones, `daily` (the default) also the advanced ones, `full` also those for audits. Every
command can be called in every toolset, and the ten tools stay the same.
"""
ERRORS_HEAD = """\
# Errors

Every error has a code that never changes, a message, a recovery and, where a call can mend it,
actions that run as given. This page is written by `python -m tools.commands`.

| code | what happened | HTTP | exit | worth retrying | what to do |
| --- | --- | --- | --- | --- | --- |
"""


def commands_page(commands: Registry) -> str:
    """The command reference, grouped by tool."""
    schema = args_schema(commands.get("system.init"))
    common = [f"| `{n}` | {_argument(schema, n)} |" for n in _COMMON]
    parts = [COMMANDS_HEAD + "\n".join(common) + "\n" + COMMANDS_TOOLSETS]
    for tool in PORTALS:
        mine = [c for c in commands if c.portal == tool]
        if mine:
            parts.append(f"## The tool {tool}\n")
            parts += [_command(commands, command) for command in mine]
    return "\n".join(parts)


def _command(commands: Registry, command: Command) -> str:
    call = example_call(commands, command)
    kind = "writes" if command.writes else "reads"
    facts = [kind, f"role {command.role.name.lower()}", f"profile {command.profile}", command.tier]
    if command.op:
        facts.insert(0, f"op `{command.op}`")
    if command.destructive:
        facts.append("destructive")
    lines = [f"### {command.cmd}\n", f"{command.summary}\n", " · ".join(facts) + "\n"]
    schema = args_schema(command)
    own = [name for name in command.fields() if name in schema["properties"]]
    if own:
        lines += ["| argument | what it is |", "| --- | --- |"]
        lines += [
            f"| `{name}`{' (required)' if name in required_args(command) else ''} "
            f"| {_argument(schema, name)} |"
            for name in own
        ]
        lines.append("")
    lines.append(f"Gives {_result(command)}.\n")
    pasted = command_line(call["tool"], call["args"], default_workspace=None)
    lines += [
        "```",
        json.dumps({"tool": call["tool"], "arguments": call["args"]}, ensure_ascii=False),
        pasted,
        "```\n",
    ]
    return "\n".join(lines)


def _argument(schema: dict[str, Any], name: str) -> str:
    prop = schema["properties"][name]
    words = shape(prop, schema).replace("|", "\\|")
    notes = [o["description"] for o in (prop, *prop.get("anyOf", [])) if "description" in o]
    default = prop.get("default")
    tail = f"; default `{json.dumps(default)}`" if default not in (None, [], {}) else ""
    return ": ".join([*notes[:1], words]) + tail


def _result(command: Command) -> str:
    fields = msgspec.structs.fields(command.result)
    names = [f"`{f.encode_name}`" + ("" if f.required else "?") for f in fields]
    return (
        ", ".join([*names, "`truncated`"]) if names else "what the id stands for, with its `kind`"
    )


def errors_page() -> str:
    """Every error class of the house, by its code."""
    rows: dict[str, str] = {}
    for kind in sorted(every_error(), key=lambda k: len(k.__mro__)):
        what = (kind.__doc__ or "").splitlines()[0]
        again = "yes" if kind.retryable else "no"
        fix = kind.fix or ADVICE.get(kind.code)
        if fix is None:
            raise SystemExit(f"say in tools/error_advice.py what to do about {kind.code}")
        rows.setdefault(
            kind.code,
            f"| `{kind.code}` | {what} | {kind.status} | {kind.exit_code} | {again} | {fix} |",
        )
    return ERRORS_HEAD + "\n".join(rows[code] for code in sorted(rows)) + "\n"


def every_error() -> Iterator[type[LonghouseError]]:
    """All error classes that can reach a caller, whatever room they are in."""
    for module in pkgutil.walk_packages(longhouse.__path__, "longhouse."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # a part whose optional library is not installed
                importlib.import_module(module.name)
    found: dict[str, type[LonghouseError]] = {}
    wait = LonghouseError.__subclasses__()
    while wait:
        kind = wait.pop()
        if kind.__module__.startswith("longhouse."):
            found[f"{kind.__module__}.{kind.__qualname__}"] = kind
        wait += kind.__subclasses__()
    yield from found.values()


def main(arguments: list[str]) -> int:
    pages = {
        DOCS / "cli.md": cli_page(),
        DOCS / "commands.md": commands_page(registry()),
        DOCS / "errors.md": errors_page(),
        MANIFEST: manifest_of(registry(), api_homes(registry())),
        STUB: api_stub(registry()),
        TYPES: typescript(registry(), (kind.code for kind in every_error())),
        ANSWERS: bridge_answers(registry()),
        CATALOG: client_catalog(registry()),
        SAID: said_of(every_command()),
    }
    stale = []
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.parent.mkdir(exist_ok=True, parents=True)
                path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name}: " + ("not what the code says" if "--check" in arguments else "written"))
    return bool(stale) and "--check" in arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
