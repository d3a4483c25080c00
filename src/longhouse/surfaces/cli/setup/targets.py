"""Which settings files of which client get which entries, by scope.

Project scope is for everyone who opens this repository: if the shell finds us by name, the entry
contains no path of this machine. User scope is for all of one person's repositories, each with its
own store. Approving our tools is a personal decision, and goes only into that person's own files.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import DIR_NAME, Settings, client_homes, user_file, worktree_root
from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.clients import program, words_for
from longhouse.surfaces.cli.setup.files import Edit
from longhouse.surfaces.cli.setup.json_file import json_edit
from longhouse.surfaces.cli.setup.toml_file import toml_edit

__all__ = ["NAME", "WRITTEN", "ClientFile", "argv", "entry_json", "targets"]

NAME = "longhouse"
WRITTEN = ("claude-code", "codex")
_ALLOW = f"mcp__{NAME}"


class ClientFile(NamedTuple):
    """One settings file of a client, and the edit to make."""

    client: str
    path: Path
    edit: Edit


def argv(settings: Settings, flags: dict[str, Any], scope: str) -> list[str]:
    """How a client starts us, with the relevant flags of this command line.

    The role is not one of them: the client's token decides that, and no repository can change it.
    """
    words = program()
    found = shutil.which(NAME) if scope == "project" and len(words) == 1 else None
    if found and Path(found).samefile(words[0]):
        words = [NAME]
    if flags.get("db"):
        raise InvalidInput(
            "--db: a client's entry must not contain a database address",
            recovery=f'put db = "…" under [stores."{settings.dir}"] in '
            f"{user_file()}, then try again without --db",
        )
    given = {"dir": str(settings.dir)} if settings.place.chosen else {}
    given |= {name: str(flags[name]) for name in ("workspace", "agent_id") if flags.get(name)}
    pairs = [(f"--{name.replace('_', '-')}", value) for name, value in given.items()]
    return [*words, "mcp", *(word for pair in pairs for word in pair)]


def entry_json(words: list[str]) -> str:
    return json.dumps({"mcpServers": {NAME: {"command": words[0], "args": words[1:]}}})


def targets(
    clients: list[str],
    scope: str,
    words: list[str],
    *,
    approve: bool,
    remove: bool,
    fmt: str | None = None,
) -> list[ClientFile]:
    """The files to change; without `fmt`, each client's reads have the format best for it."""
    found = []
    if "claude-code" in clients:
        own = [*words, *words_for("claude-code", fmt)]
        found += _claude(scope, own, approve=approve, remove=remove)
    if "codex" in clients:
        own = [*words, *words_for("codex", fmt)]
        found.append(_codex(scope, own, approve=approve, remove=remove))
    if scope == "project":
        for target in found:
            _refuse_ways_out(target.path)
    return found


def _refuse_ways_out(path: Path) -> None:
    """Refuse a project file if a symbolic link takes it outside the project."""
    root = worktree_root(Path.cwd()).resolve()
    place = path.resolve()
    within = place.relative_to(root).parts if place.is_relative_to(root) else (".git",)
    if within[0] in (".git", DIR_NAME):
        raise InvalidInput(
            f"{path}: a link points to {place}, which is not a file of this project",
            recovery="remove the link, then try again; `longhouse init --scope user` writes your "
            "own files instead",
        )


def _claude(scope: str, words: list[str], *, approve: bool, remove: bool) -> list[ClientFile]:
    homes = client_homes()
    if scope == "project":
        root = worktree_root(Path.cwd())
        servers, settings = root / ".mcp.json", root / ".claude" / "settings.local.json"
    else:
        servers, settings = homes.claude_json, homes.claude / "settings.json"
    entry = {"type": "stdio", "command": words[0], "args": words[1:]}

    def set_entry(value: dict[str, Any]) -> None:
        known = value.setdefault("mcpServers", {})
        if remove:
            known.pop(NAME, None)
        else:
            known[NAME] = {**known.get(NAME, {}), **entry}
        if not known:
            del value["mcpServers"]

    def set_approval(value: dict[str, Any]) -> None:
        permissions = value.get("permissions", {})
        _member(permissions, "allow", _ALLOW, wanted=not remove)
        _put(value, "permissions", permissions)
        if scope == "project":
            _member(value, "enabledMcpjsonServers", NAME, wanted=not remove)

    found = [ClientFile("claude-code", servers, json_edit(set_entry))]
    if approve or remove:
        found.append(ClientFile("claude-code", settings, json_edit(set_approval)))
    return found


def _codex(scope: str, words: list[str], *, approve: bool, remove: bool) -> ClientFile:
    if scope == "project":
        path = worktree_root(Path.cwd()) / ".codex" / "config.toml"
    else:
        path = client_homes().codex / "config.toml"
    # Without `required`, Codex starts its first turn before our tools are available.
    keys = {"command": words[0], "args": words[1:], "required": True}
    if approve:
        keys["default_tools_approval_mode"] = "approve"
    return ClientFile("codex", path, toml_edit(("mcp_servers", NAME), None if remove else keys))


def _member(holder: dict[str, Any], key: str, item: str, *, wanted: bool) -> None:
    """Add an item to a list, or remove it."""
    members = [one for one in holder.get(key, []) if one != item or wanted]
    if wanted and item not in members:
        members.append(item)
    _put(holder, key, members)


def _put(holder: dict[str, Any], key: str, value: Any) -> None:
    if value:
        holder[key] = value
    else:
        holder.pop(key, None)
