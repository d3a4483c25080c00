"""Resolves and checks every setting: its value, and where it came from.

The store is the project's, outside the work tree (`stores`), and all worktrees of a repository
share it; the default workspace is the name that the repository had when its store was made.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config.environment import client_homes
from longhouse.config.sources import Found, Sources
from longhouse.config.stores import StorePlace, find_store
from longhouse.kernel.errors import Conflict, InvalidInput

__all__ = ["DEFAULT_PORT", "Settings", "load"]

DEFAULT_PORT = 7331
"""The port that a server tries first."""


class Settings(NamedTuple):
    """The resolved value of every setting."""

    dir: Path
    cache_base: Path | None
    """The folder that the caches of all stores are in, if the user named one."""
    db: str
    project_root: Path
    workspace: str
    workspace_lock: bool
    workspace_allowlist: tuple[str, ...]
    project_guard: str | None
    toolset: str
    agent_id: str | None
    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    token: str | None
    policy: str
    runner_autostart: bool
    jobs_max_running: int
    processes_max_running: int
    processes_keep_days: int
    processes_quota_mb: int
    log_level: str
    otel: bool
    idle_exit_s: int
    max_header_kb: int
    max_body_kb: int
    header_timeout_s: int
    body_timeout_s: int
    calls_per_token: int
    waits_per_token: int
    streams_per_token: int
    workspaces_per_token: int
    autostart_runners: int
    artifacts: Path | None
    """The folder with the bytes of artifacts; None if they are in the database (PostgreSQL)."""
    artifact_quota_mb: int
    agent_stale_minutes: int
    changes_every_s: int
    items: str
    transcripts: tuple[Path, ...]
    place: StorePlace
    """How the store was found, and what is to be registered when it is made."""
    origins: Mapping[str, str] = {}
    """Which flag, variable or file each setting came from; a setting not listed is a default."""

    @property
    def cache(self) -> Path:
        """The folder for worktrees and scratch files; the runner creates it on demand."""
        base, place = self.cache_base, self.place
        return base / "longhouse" / place.cache_name if base else place.cache

    def make_dir(self) -> None:
        """Create the store's folder and register the project, unless both are done."""
        self.place.make(self.workspace)

    @property
    def is_by_chance(self) -> bool:
        """Whether creating a store here would be a surprise: no store, not chosen, not in git."""
        return not (self.is_there or (self.project_root / ".git").exists())

    @property
    def is_there(self) -> bool:
        """Whether a store exists or was chosen explicitly; a read must not create one otherwise."""
        return "dir" in self.origins or "db" in self.origins or self.place.project is not None

    @property
    def is_sqlite(self) -> bool:
        return not self.db.startswith(_POSTGRES)

    @property
    def store(self) -> str:
        """What identifies the database, without user and password."""
        if self.is_sqlite:
            return str(Path(self.db).absolute())
        from urllib.parse import parse_qs, urlsplit

        url = urlsplit(self.db)
        hosts = parse_qs(url.query).get("host", [])
        return (
            f"postgresql://{','.join([url.netloc.rpartition('@')[2], *hosts]).strip(',')}{url.path}"
        )

    @property
    def names_a_store(self) -> bool:
        """Whether the database was chosen explicitly, rather than the one in the store's folder."""
        return self.db != str(self.dir / "longhouse.db")


_POSTGRES = ("postgres://", "postgresql://")
_CHOICES = {
    "items": ("tasks", "beads"),
    "toolset": ("core", "daily", "full"),
    "policy": ("safe", "full-auto"),
    "log_level": ("debug", "info", "warning", "error"),
}
_NUMBERS = {
    "port": (0, 65535),
    "idle_exit_s": (0, 10**9),
    "max_header_kb": (1, 1024),
    "max_body_kb": (1, 65_536),
    "header_timeout_s": (1, 3600),
    "body_timeout_s": (1, 3600),
    "calls_per_token": (1, 10**6),
    "waits_per_token": (1, 10**6),
    "streams_per_token": (1, 10**6),
    "workspaces_per_token": (0, 10**6),
    "autostart_runners": (0, 10**4),
    "artifact_quota_mb": (0, 2**40),
    "jobs_max_running": (0, 10**9),
    "processes_max_running": (0, 10**9),
    "processes_keep_days": (0, 10**6),
    "processes_quota_mb": (0, 2**40),
    "agent_stale_minutes": (1, 10**6),
    "changes_every_s": (0, 86_400),
}
_DEFAULTS: dict[str, Any] = {
    "workspace_lock": False,
    "workspace_allowlist": (),
    "project_guard": None,
    "toolset": "daily",
    "agent_id": None,
    "host": "127.0.0.1",
    "port": None,
    "allowed_hosts": (),
    "token": None,
    "policy": "safe",
    "runner_autostart": None,
    "jobs_max_running": 0,
    "processes_max_running": 32,
    "processes_keep_days": 30,
    "processes_quota_mb": 10_240,
    "log_level": "info",
    "otel": False,
    "idle_exit_s": 0,
    "max_header_kb": 64,
    "max_body_kb": 4096,
    "header_timeout_s": 10,
    "body_timeout_s": 60,
    "calls_per_token": 512,
    "waits_per_token": 384,
    "streams_per_token": 512,
    "workspaces_per_token": 50,
    "autostart_runners": 4,
    "artifact_quota_mb": 10_240,
    "agent_stale_minutes": 15,
    "changes_every_s": 30,
    "items": "tasks",
}


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Settings:
    """Resolve every setting; the error for a wrong value names the flag, variable or file."""
    given = flags or {}
    named = given.get("dir") or (os.environ if environ is None else environ).get("LONGHOUSE_DIR")
    place = find_store(named, Path.cwd() if cwd is None else cwd, environ)
    folder, root = place.folder, place.root
    sources = Sources(given, place, environ)
    origins: dict[str, str] = {}
    if named:
        origins["dir"] = "--dir" if given.get("dir") else "LONGHOUSE_DIR"

    def pick(name: str, default: Any) -> Any:
        found = sources.find(name)
        if found is None:
            return default
        origins[name] = found.where
        return _checked(name, found.value, found.where)

    db = str(pick("db", folder / "longhouse.db"))
    values = {name: pick(name, default) for name, default in _DEFAULTS.items()}
    if values["runner_autostart"] is None:
        values["runner_autostart"] = values["toolset"] != "full"
    values["port"] = 0 if values["port"] is None else values["port"]
    kept = None if db.startswith(_POSTGRES) else folder / "artifacts"
    values["artifacts"] = _artifacts(pick("artifacts", kept), folder)
    base = pick("cache", None)
    values["cache_base"] = Path(str(base)).expanduser().absolute() if base else None
    values["transcripts"] = _transcripts(pick("transcripts", ()), environ)
    if token := _token(sources):
        values["token"], origins["token"] = token.value, token.where
    return Settings(
        dir=folder,
        db=db,
        project_root=root,
        workspace=_named_workspace(pick("workspace", None), place),
        origins=origins,
        place=place,
        **values,
    )


def _named_workspace(given: str | None, place: StorePlace) -> str:
    """The workspace; two repositories of one name must say which one they mean."""
    if given is None and place.twin is not None:
        raise Conflict(
            f"the store in {place.folder} belongs to {place.root}, and {place.twin} has the same "
            "name",
            recovery="say which workspace you mean with --workspace",
        )
    return given or place.workspace


def _token(sources: Sources) -> Found | None:
    """The token, or the contents of `token_file`, whichever comes from the stronger source."""
    token, file = sources.find("token"), sources.find("token_file")
    if file is None or (token is not None and token.rank <= file.rank):
        return token
    path = Path(str(file.value)).expanduser()
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidInput(
            f"{file.where}: {path} cannot be read: {why}",
            recovery="name a file that contains only the token",
        ) from None
    if not text:
        raise InvalidInput(f"{file.where}: {path} is empty", recovery="write the token to it")
    return Found(text, file.where, file.rank)


def _transcripts(added: tuple[str, ...], environ: Mapping[str, str] | None) -> tuple[Path, ...]:
    """The transcript folders: those of the clients, and those that the user adds."""
    homes = client_homes(environ)
    own = (Path(str(part)).expanduser().absolute() for part in added)
    return (homes.codex / "sessions", homes.claude / "projects", *own)


def _artifacts(set_to: Any, folder: Path) -> Path | None:
    """The artifacts folder; object stores are not supported yet, and are refused by name."""
    if set_to is None:
        return None
    given = str(set_to)
    if "://" in given:
        raise InvalidInput(
            f"artifacts: {given.partition('://')[0]}:// is not supported yet",
            recovery="leave LONGHOUSE_ARTIFACTS unset, or set it to a folder that all hosts share",
        )
    return folder / Path(given).expanduser()


def _checked(name: str, value: Any, where: str) -> Any:
    default = _DEFAULTS.get(name)
    if name in _CHOICES and value not in _CHOICES[name]:
        options = ", ".join(_CHOICES[name])
        raise InvalidInput(
            f"{where}: {value!r} is not one of {options}",
            recovery=f"set {where} to one of them, or leave it out",
        )
    if name == "db":
        return _database(str(value), where)
    if isinstance(default, bool) or name == "runner_autostart":
        return _flag(value, where)
    if name in _NUMBERS:
        return _number(value, where, *_NUMBERS[name])
    if name in ("workspace_allowlist", "allowed_hosts") and isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if name == "transcripts" and isinstance(value, str):
        return tuple(part for part in value.split(os.pathsep) if part)
    return tuple(value) if isinstance(value, list) else value


def _database(value: str, where: str) -> str:
    """A file or PostgreSQL URL; any other URL is refused, not used as a file name."""
    scheme, found, _ = value.partition("://")
    if found and scheme not in ("postgres", "postgresql"):
        raise InvalidInput(
            f"{where}: {scheme}:// is not a database Longhouse supports",
            recovery=f"set {where} to the path of a file, or to postgresql://…",
        )
    return value


def _flag(value: Any, where: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    try:
        return known[str(value).strip().lower()]
    except KeyError:
        raise InvalidInput(
            f"{where}: {value!r} is not 1 or 0", recovery=f"set {where} to 1 or 0"
        ) from None


def _number(value: Any, where: str, least: int, most: int) -> int:
    text = str(value)
    if text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most:
        return int(text)
    raise InvalidInput(
        f"{where}: {value!r} is not a number from {least} to {most}",
        recovery=f"set {where} to a number in that range, or leave it out",
    )
