"""`longhouse doctor`'s checks of this machine: shell, agents, clients, limits, rights, hooks."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import client_homes, worktree_root
from longhouse.config.places import git_folder
from longhouse.kernel.tool_tasks import host_folder
from longhouse.surfaces.cli.clients import program, spoken
from longhouse.surfaces.cli.context import Cli

__all__ = ["CheckResult", "agents", "clients", "hooks", "hosts", "limits", "rights", "shell"]

VERSION_S = 10
HOST_S = 5.0
AGENTS = {
    "codex": "npm install -g @openai/codex",
    "claude": "npm install -g @anthropic-ai/claude-code",
}
OLDEST_CODEX = (0, 138)
_PRIVATE = ("longhouse.db", "token", "server.json", "agents")


class CheckResult(NamedTuple):
    """The result of one check: `ok`, `note` (nothing is wrong), `warn` or `fail`."""

    state: str
    text: str
    fix: str | None = None


def shell(cli: Cli) -> Iterator[CheckResult]:
    """Whether `longhouse`, typed by a person or started by a client, runs this program."""
    first, *rest = program()
    found = shutil.which("longhouse")
    if found is None:
        folder = shlex.quote(str(Path(first).parent))
        yield CheckResult("warn", "`longhouse` is not on PATH", f'export PATH={folder}:"$PATH"')
    elif not rest and not Path(found).samefile(first):
        yield CheckResult(
            "warn",
            f"another Longhouse comes first on PATH: {found}",
            f"run {first}, or put {Path(first).parent} first on PATH",
        )
    else:
        yield CheckResult("ok", f"`longhouse` is {found}")


def agents(cli: Cli) -> Iterator[CheckResult]:
    """The agent programs that a runner starts for jobs."""
    from longhouse.runner.executors.claude_code import ClaudeCode

    there = {name: path for name in AGENTS if (path := shutil.which(name))}
    for name, path in there.items():
        version = _version(path)
        yield CheckResult("ok", f"{name}: {version} at {path}")
        if name == "codex" and _is_old(version):
            yield CheckResult(
                "warn",
                f"jobs need Codex {'.'.join(map(str, OLDEST_CODEX))}: this one cannot keep them "
                "out of the store and does not start",
                AGENTS["codex"],
            )
        if name == "claude" and ClaudeCode(path).unsandboxed:
            yield CheckResult(
                "warn",
                "claude runs the commands of jobs unsandboxed: they can do all that you can",
                "turn on Claude Code's own sandbox (/sandbox), or use Codex for such jobs",
            )
    if not there:
        yield CheckResult(
            "warn",
            "neither Codex nor Claude Code is installed: runners have no agent to run jobs with",
            " or ".join(AGENTS.values()),
        )


def _is_old(version: str) -> bool:
    found = re.search(r"(\d{1,6})\.(\d{1,6})", version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST_CODEX


def _version(path: str) -> str:
    try:
        said = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "does not answer"
    return (said.stdout.strip().splitlines() or ["unknown version"])[0][:60]


def limits(cli: Cli) -> Iterator[CheckResult]:
    """Whether the kernel or the process host limits how many processes a task has."""
    from longhouse.runner.host.client import running_host
    from longhouse.supervisor.groups import ControlGroups

    try:
        said = running_host(host_folder(cli.settings.dir, cli.settings.workspace), HOST_S)
    except OSError:
        yield CheckResult(
            "warn",
            "the process host of this workspace does not answer",
            "a runner replaces it within a minute: longhouse runner",
        )
        return
    if said is None:
        found = ControlGroups.find()
        said = {"groups": found and str(found.base)}
    if base := said.get("groups"):
        yield CheckResult("ok", f"each background task gets a control group below {base}")
    else:
        yield CheckResult("ok", "no delegated control group: the process host counts processes")


def hosts(cli: Cli) -> Iterator[CheckResult]:
    """The machines whose background processes nobody can reach."""
    if not cli.settings.dir.exists():
        return
    for host in cli.call("tool.host_list")["hosts"]:
        if host["unfinished"] and host["state"] != "connected":
            yield CheckResult(
                "warn",
                f"{host['unfinished']} unfinished processes on {host['host_id']}, which is "
                f"{host['state']} (runner {host['runner_id']})",
                "start a runner there, or give them up: longhouse cancel PROC-001 --force",
            )


def clients(cli: Cli) -> Iterator[CheckResult]:
    """Whether a client here has an entry for Longhouse, and one whose program exists."""
    homes, root = client_homes(), worktree_root(Path.cwd())
    files = {
        "Claude Code": (root / ".mcp.json", homes.claude_json),
        "Codex": (root / ".codex" / "config.toml", homes.codex / "config.toml"),
        "Cursor": (root / ".cursor" / "mcp.json",),
    }
    connected = False
    for client, paths in files.items():
        for path in paths:
            if path.is_file():
                for finding in _entry(client, path):
                    connected = True
                    yield finding
    if not connected:
        yield CheckResult("note", "no MCP client is connected to this store", f"{spoken()} init")


def _entry(client: str, path: Path) -> Iterator[CheckResult]:
    try:
        text = path.read_text(encoding="utf-8")
        held: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        key = "mcp_servers" if path.suffix == ".toml" else "mcpServers"
        entry = held.get(key, {}).get("longhouse")
        command = None if entry is None else str(entry["command"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        yield CheckResult("warn", f"{client} cannot read {path}: {error}", f"fix {path}")
        return
    if command is None:
        return
    if shutil.which(command):
        yield CheckResult("ok", f"{client} is connected by {path}")
    else:
        yield CheckResult(
            "fail",
            f"{path} tells {client} to start {command}, which does not exist",
            "longhouse init",
        )


def hooks(cli: Cli) -> Iterator[CheckResult]:
    """The git hooks that run when agents commit; git silently skips those not executable."""
    root = worktree_root(Path.cwd())
    folder = git_folder(root) if (root / ".git").exists() else None
    found = sorted((folder / "hooks").glob("*")) if folder else []
    for path in (one for one in found if one.is_file() and one.suffix != ".sample"):
        if os.access(path, os.X_OK):
            yield CheckResult("ok", f"git runs {path.name} when agents work in this checkout")
        else:
            yield CheckResult(
                "warn",
                f"git skips {path}: it is not executable",
                f"chmod +x {shlex.quote(str(path))}",
            )


def rights(cli: Cli) -> Iterator[CheckResult]:
    """Whether this user can write the store and other users cannot read it."""
    path = cli.settings.dir
    if not path.exists():
        return
    for own in (path, *(path / name for name in _PRIVATE)):
        if not own.exists():
            continue
        quoted = shlex.quote(str(own))
        if own.stat().st_mode & 0o077:
            yield CheckResult("warn", f"other users can read {own}", f"chmod go-rwx {quoted}")
        if not os.access(own, os.R_OK | os.W_OK):
            yield CheckResult("fail", f"{own} cannot be written", f"chmod u+rwX {quoted}")
