"""`longhouse doctor`'s checks of this machine: shell, agents, clients, limits, rights, hooks."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.client import launch
from longhouse.config import git_folder, worktree_root
from longhouse.kernel.tool_tasks import host_folder
from longhouse.surfaces.cli.clients import program, spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.setup.present import PresentEntry, entries_here

__all__ = [
    "CheckResult",
    "agents",
    "clients",
    "hooks",
    "hosts",
    "jobs",
    "limits",
    "rights",
    "shell",
]

VERSION_S = 10
HOST_S = 5.0
AGENTS = {
    "codex": "npm install -g @openai/codex",
    "claude": "npm install -g @anthropic-ai/claude-code",
}
OLDEST_CODEX = (0, 138)
OF_RUNNERS = ("no_agent", "no_runner", "declined", "runner_fails")
"""The reasons for waiting that somebody must mend."""
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
    """The agent programs that a runner starts for jobs: those that the settings name, or PATH."""
    from longhouse.executors import ClaudeCode, agents_here, load_options

    options = load_options({}, cli.settings.place)
    named = {"codex": options.codex_bin, "claude": options.claude_bin or "claude"}
    there = {name: path for name, said in named.items() if (path := shutil.which(said))}
    for name, said in named.items():
        if said != name and name not in there:
            yield CheckResult("fail", f"{name}: {said}, which the settings name, does not run")
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
    others = [name for name in agents_here(options) if name not in ("codex", "claude_code")]
    for name in others:
        yield CheckResult("ok", f"{name}: a plug-in")
    if not there and not others:
        yield CheckResult(
            "warn",
            "neither Codex nor Claude Code is installed: runners have no agent to run jobs with",
            " or ".join(AGENTS.values()),
        )


def jobs(cli: Cli) -> Iterator[CheckResult]:
    """Why queued jobs wait for a runner, if they do."""
    if not cli.settings.dir.exists():
        return
    found = cli.call("jobs.radar", status="QUEUED", limit=200)["jobs"]
    reasons: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for row in found:
        if (waiting := row.get("waiting")) and waiting["code"] in OF_RUNNERS:
            reasons.setdefault(waiting["why"], (waiting, []))[1].append(row["id"])
    for waiting, ids in reasons.values():
        which = ids[0] if len(ids) == 1 else f"{len(ids)} jobs, {ids[0]} first,"
        wait = "waits" if len(ids) == 1 else "wait"
        fix = waiting.get("fix")
        if fix == "longhouse doctor":
            fix = "what `agents` above names"  # this is the doctor
        yield CheckResult("warn", f"{which} {wait}: {waiting['why']}", fix)


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
    from longhouse.runner import running_host
    from longhouse.supervisor import ControlGroups

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
            what = "process" if host["unfinished"] == 1 else "processes"
            yield CheckResult(
                "warn",
                f"{host['unfinished']} unfinished {what} on {host['host_id']}, which is "
                f"{host['state']} (runner {host['runner_id']})",
                _way_out(cli, host["state"]),
            )


def _way_out(cli: Cli, state: str) -> str:
    """What helps the processes of a host that is silent or frozen."""
    if state == "frozen":
        return f"its runner replaces it within a minute; if not, start one there: {spoken()} runner"
    active = cli.call("tool.task_list", status="active")["tasks"]
    lost = [task["task_id"] for task in active if task["host"] == state]
    giving_up = f", or give them up: {spoken()} cancel {lost[0]} --force" if lost else ""
    return f"start a runner there: {spoken()} runner{giving_up}"


def clients(cli: Cli) -> Iterator[CheckResult]:
    """Whether a client here has an entry for Longhouse, and one that leads to this store."""
    connected = False
    for entry in entries_here():
        connected = True
        yield _checked(entry, cli)
    if not connected:
        yield CheckResult("note", "no MCP client is connected to this store", f"{spoken()} init")


def _checked(entry: PresentEntry, cli: Cli) -> CheckResult:
    client, path = entry.client, entry.path
    if entry.trouble is not None:
        return CheckResult("warn", f"{client} cannot read {path}: {entry.trouble}", f"fix {path}")
    if entry.command is not None and not shutil.which(entry.command):
        return CheckResult(
            "fail",
            f"{path} tells {client} to start {entry.command}, which does not exist",
            "longhouse init",
        )
    running = launch.alive(cli.settings.dir) if entry.local_port else None
    if running is not None and not running.url.endswith(f":{entry.local_port}"):
        return CheckResult(
            "warn",
            f"{path} tells {client} to send its token to {entry.url}, but this store's server is "
            f"at {running.url}",
            f"change the address to {running.url}/mcp, or use `longhouse init`, which needs none; "
            "revoke the token if you do not know who listens there",
        )
    return CheckResult("ok", f"{client} is connected by {path}")


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
