"""`longhouse doctor`: checks the installation and says how to fix what is wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from longhouse.__about__ import __version__
from longhouse.client import launch, locate
from longhouse.config import Settings, Sources
from longhouse.kernel.errors import Forbidden, LonghouseError
from longhouse.surfaces.cli import disk
from longhouse.surfaces.cli.clients import spoken
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.machine import (
    CheckResult,
    agents,
    clients,
    hooks,
    hosts,
    jobs,
    limits,
    rights,
    shell,
)
from longhouse.surfaces.cli.speaking import in_prose
from longhouse.surfaces.cli.spec import Command, Shown

LIBRARIES = ("apsw", "mcp", "msgspec", "starlette", "structlog", "uvicorn")
APART_MS = 5_000


def python(cli: Cli) -> Iterator[CheckResult]:
    yield CheckResult("ok", f"Python {sys.version.split()[0]} at {sys.executable}")


def libraries(cli: Cli) -> Iterator[CheckResult]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield CheckResult("fail", f"{name} is missing", "reinstall longhouse")
    import apsw

    yield CheckResult("ok", ", ".join([*found, f"SQLite {apsw.sqlite_lib_version()}"]))


def settings(cli: Cli) -> Iterator[CheckResult]:
    """Each setting that is not a default, and where it came from; secrets are not shown."""
    for name, where in sorted(cli.settings.origins.items()):
        yield CheckResult("ok", f"{name} = {_shown(cli.settings, name)}, from {where}")
    from longhouse.executors import OPTIONS

    sources = Sources({}, cli.settings.place)
    for option in OPTIONS:
        if found := sources.find(option.name, "runner"):
            yield CheckResult("ok", f"runner {option.name} = {found.value}, from {found.where}")


def _shown(settings: Settings, name: str) -> str:
    if name == "token":
        return "***"
    value = settings.store if name == "db" else getattr(settings, name)
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def folder(cli: Cli) -> Iterator[CheckResult]:
    path = cli.settings.dir
    if not path.exists():
        if cli.settings.is_by_chance:
            yield CheckResult("note", f"no store in {path.parent} or above it", f"{spoken()} init")
        else:
            yield CheckResult("note", f"no store at {path} yet; the first write creates it")
        return
    yield CheckResult("ok", f"{path}")
    if wrong := disk.trouble(path):
        yield CheckResult("warn", *wrong)


def git(cli: Cli) -> Iterator[CheckResult]:
    path, root = cli.settings.dir, cli.settings.project_root
    if not path.is_relative_to(root):
        yield CheckResult("ok", f"the store is outside the work tree {root}")
        return
    yield CheckResult(
        "warn",
        f"the store is inside {root}, where agents can reach it, whatever their sandbox",
        "longhouse project move FOLDER",
    )
    if path.exists() and not _ignored(path):
        yield CheckResult(
            "warn", "git does not ignore the store", f"echo '*' > {path / '.gitignore'}"
        )


def _ignored(path: Path) -> bool:
    ignore = path / ".gitignore"
    return ignore.is_file() and "*" in ignore.read_text(encoding="utf-8").split()


def store(cli: Cli) -> Iterator[CheckResult]:
    if _is_there(cli):
        found = cli.call("system.storage")
        yield CheckResult("ok", f"{found['engine']}, schema {found['schema_version']}")
        yield from clocks(found["engine"], found["now_ms"] - time.time_ns() // 1_000_000)


def clocks(engine: str, ahead_ms: int) -> Iterator[CheckResult]:
    """Whether the store's clock, by which leases expire, agrees with this machine's."""
    if abs(ahead_ms) < APART_MS:
        return
    where = "ahead of" if ahead_ms > 0 else "behind"
    text = f"the store's clock is {in_words(abs(ahead_ms))} {where} this machine's; leases go by it"
    if engine == "sqlite":
        yield CheckResult("warn", text, "check this machine's clock; the store's follows it slowly")
    else:
        yield CheckResult("warn", text, "check the clocks of this machine and of the database")


def in_words(ms: int) -> str:
    for name, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        if ms >= 2 * size:
            return f"{ms // size} {name}s"
    return f"{ms // 1000} seconds"


def projects(cli: Cli) -> Iterator[CheckResult]:
    """Where the work of this store's workspaces is done."""
    if not _is_there(cli):
        return
    for row in cli.call("workspace.list", limit=200)["workspaces"]:
        name = row["workspace"]
        places = ", ".join(one["root"] for one in row.get("projects", ()))
        if places and name == cli.settings.workspace:
            yield CheckResult("ok", f"the work of {name} is done in {places}")
        elif not places:
            yield CheckResult(
                "note",
                f"the work of {name} is done in no project: none is bound to it yet",
                f"in its repository: longhouse workspace bind {name}",
            )


def tokens(cli: Cli) -> Iterator[CheckResult]:
    """Tokens of clients whose entry is gone."""
    if not _is_there(cli):
        return
    from longhouse.surfaces.cli.setup.leftover import leftover, said_about

    with suppress(Forbidden):  # only an operator may list them
        for row in leftover(cli.settings, cli.call):
            yield CheckResult("warn", *said_about(row))


def _is_there(cli: Cli) -> bool:
    return not cli.settings.is_sqlite or Path(cli.settings.db).exists()


def server(cli: Cli) -> Iterator[CheckResult]:
    path = cli.settings.dir
    running, record = launch.alive(path), locate.recorded(path)
    if running is not None:
        yield CheckResult("ok", f"running at {running.url} (pid {running.pid})")
        if running.moved_from:
            yield CheckResult(
                "warn",
                f"it had to move: another program listens on port {running.moved_from}",
                "close pages that are open there; the clients that still connect there are above",
            )
        if running.version != __version__:
            yield CheckResult(
                "warn",
                f"it is version {running.version}; this is {__version__}",
                "longhouse down && longhouse up",
            )
    elif record is not None and locate.serves(record):
        yield CheckResult(
            "fail", f"pid {record.pid} is running but does not answer", "longhouse down --force"
        )
    elif record is not None:
        yield CheckResult("note", "not running; the last one did not exit cleanly", "longhouse up")
    else:
        yield CheckResult("note", "not running; commands open the store directly", "longhouse up")


CHECKS: tuple[tuple[str, Callable[[Cli], Iterator[CheckResult]]], ...] = (
    ("python", python),
    ("libraries", libraries),
    ("settings", settings),
    ("PATH", shell),
    ("agents", agents),
    ("clients", clients),
    ("folder", folder),
    ("rights", rights),
    ("hooks", hooks),
    ("git", git),
    ("server", server),
    ("limits", limits),
    ("hosts", hosts),
    ("store", store),
    ("jobs", jobs),
    ("tokens", tokens),
    ("projects", projects),
)


def run(cli: Cli) -> Shown:
    found = [(name, finding) for name, check in CHECKS for finding in _safely(check, cli)]
    ok = all(finding.state != "fail" for _, finding in found)
    data = {
        "version": __version__,
        "workspace": cli.settings.workspace,
        "checks": [{"name": name, **finding._asdict()} for name, finding in found],
    }
    return Shown(data, _lines(cli, found), ok=ok)


def _safely(check: Callable[[Cli], Iterator[CheckResult]], cli: Cli) -> list[CheckResult]:
    """The results of one check; an error becomes a result, so that the other checks still run."""
    try:
        return list(check(cli))
    except LonghouseError as error:
        return [CheckResult("fail", error.message, error.recovery)]
    except OSError as error:
        return [CheckResult("fail", str(error))]


def _lines(cli: Cli, found: list[tuple[str, CheckResult]]) -> Iterator[str]:
    colours = {"ok": "green", "note": "dim", "warn": "yellow", "fail": "red"}
    yield f"Longhouse {__version__}, workspace {cli.settings.workspace}"
    for name, finding in found:
        state: Any = cli.out.style(f"{finding.state:<4}", colours[finding.state])
        yield f"  {state}  {name:<9}  {finding.text}"
        if finding.fix:
            yield f"                     fix: {in_prose(finding.fix)}"


command = Command(
    "doctor",
    "Check the store, the server, the clients and this machine, and say what to fix",
    run=run,
)
