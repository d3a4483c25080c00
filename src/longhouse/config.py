"""Settings: flags over environment over `config.toml` over defaults. Only here is it read.

The store lives in `.longhouse/` at the root of the main git worktree, so that all worktrees of a
repository share it; the default workspace is the repository's name. Nothing here starts a program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.kernel.errors import InvalidInput, StoreUnusable

__all__ = [
    "DIR_NAME",
    "ClientHomes",
    "Settings",
    "client_homes",
    "environment_with",
    "load",
    "said",
    "wants_colour",
    "wants_tracebacks",
    "worktree_root",
]

DIR_NAME = ".longhouse"
DEFAULT_PORT = 7331
_OF_A_SESSION = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_PROJECT_DIR",
    }
)
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Settings(NamedTuple):
    """Everything that can be configured, resolved."""

    dir: Path
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
    log_level: str
    otel: bool
    idle_exit_s: int
    artifacts: Path
    artifact_quota_mb: int
    agent_stale_minutes: int
    items: str

    def make_dir(self) -> None:
        """Make the store's folder, but not what it would lie in: such a path is likelier a slip."""
        try:
            self.dir.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreUnusable.folder(self.dir, error) from error

    @property
    def is_sqlite(self) -> bool:
        return not self.db.startswith(("postgres://", "postgresql://"))

    @property
    def store(self) -> str:
        """The database by what tells it from another; a password is no part of that."""
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
        """Whether someone chose the database; else it is whatever serves the folder."""
        return self.db != str(self.dir / "longhouse.db")


_CHOICES = {
    "items": ("tasks", "beads"),
    "toolset": ("core", "daily", "full"),
    "policy": ("safe", "full-auto"),
    "log_level": ("debug", "info", "warning", "error"),
}
_NUMBERS = {
    "port": (0, 65535),
    "idle_exit_s": (0, 10**9),
    "artifact_quota_mb": (0, 2**40),
    "jobs_max_running": (0, 10**9),
    "agent_stale_minutes": (1, 10**6),
}
_ALIASES = {"LONGHOUSE_AGENT_STALE_MINUTES": "BB_AGENT_STALE_MINUTES"}
"""Names that teams may have set already for another tool of the same protocol."""
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
    "log_level": "info",
    "otel": False,
    "idle_exit_s": 0,
    "artifact_quota_mb": 10_240,
    "agent_stale_minutes": 15,
    "items": "tasks",
}


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Settings:
    """Resolve every setting; a wrong value is refused with the name of what holds it."""
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    given = {k: v for k, v in (flags or {}).items() if v is not None}
    root = project_root(cwd)
    folder = Path(given.get("dir") or environ.get("LONGHOUSE_DIR") or root / DIR_NAME).absolute()
    stored = _from_file(folder / "config.toml")

    def pick(name: str, default: Any) -> Any:
        if name in given:
            return _checked(name, given[name], f"--{name.replace('_', '-')}")
        variable = f"LONGHOUSE_{name.upper()}"
        for known in (variable, _ALIASES.get(variable, variable)):
            if environ.get(known):
                return _checked(name, environ[known], known)
        if name in stored:
            return _checked(name, stored[name], str(folder / "config.toml"))
        return default

    db = str(pick("db", folder / "longhouse.db"))
    values = {name: pick(name, default) for name, default in _DEFAULTS.items()}
    if values["runner_autostart"] is None:
        values["runner_autostart"] = values["toolset"] != "full"
    if values["project_guard"] is None:
        values["project_guard"] = _derived_guard(folder, db, root)
    values["port"] = 0 if values["port"] is None else values["port"]
    values["artifacts"] = _artifacts(str(pick("artifacts", folder / "artifacts")), folder)
    return Settings(
        dir=folder, db=db, project_root=root, workspace=pick("workspace", _name_of(root)), **values
    )


def said(
    name: str,
    flags: Mapping[str, Any],
    folder: Path,
    section: str,
    *,
    environ: Mapping[str, str] | None = None,
) -> tuple[Any, str] | None:
    """What flags, environment or a section of `config.toml` say about a setting, and where."""
    environ = os.environ if environ is None else environ
    if flags.get(name) is not None:
        return flags[name], f"--{name.replace('_', '-')}"
    variable = f"LONGHOUSE_{name.upper()}"
    if environ.get(variable):
        return environ[variable], variable
    path = folder / "config.toml"
    table = _from_file(path).get(section)
    if isinstance(table, dict) and name in table:
        return table[name], f"{path} [{section}] {name}"
    return None


def project_root(cwd: Path) -> Path:
    """The root of the main git worktree that holds `cwd`, or `cwd` itself outside of git."""
    for folder in (cwd, *cwd.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return folder
        if dot_git.is_file():
            return _main_worktree(dot_git) or folder
    return cwd


def worktree_root(cwd: Path) -> Path:
    """The root of the worktree that holds `cwd`, main or linked, or `cwd` itself outside of git."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


class ClientHomes(NamedTuple):
    """Where MCP clients keep what is one person's."""

    claude: Path
    claude_json: Path
    codex: Path


def client_homes(environ: Mapping[str, str] | None = None) -> ClientHomes:
    environ = os.environ if environ is None else environ
    home = Path(environ.get("HOME") or Path.home())
    given = environ.get("CLAUDE_CONFIG_DIR")
    claude = Path(given) if given else home / ".claude"
    codex = environ.get("CODEX_HOME")
    return ClientHomes(
        claude=claude,
        claude_json=(claude if given else home) / ".claude.json",
        codex=Path(codex) if codex else home / ".codex",
    )


def _main_worktree(dot_git: Path) -> Path | None:
    """A linked worktree's `.git` file names its own git folder, which names the common one."""
    text = dot_git.read_text(encoding="utf-8", errors="replace").strip()
    if not text.startswith("gitdir:"):
        return None
    git_dir = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    common = git_dir / "commondir"
    if not common.is_file():
        return None
    shared = (git_dir / common.read_text(encoding="utf-8").strip()).resolve()
    return shared.parent if shared.name == ".git" else None


def _artifacts(given: str, folder: Path) -> Path:
    """The artifacts folder; object stores are refused by name until there is one."""
    if "://" in given:
        raise InvalidInput(
            f"artifacts: {given.partition('://')[0]}:// is not supported yet",
            recovery="set LONGHOUSE_ARTIFACTS to a folder, for many hosts to a shared one",
        )
    return folder / Path(given).expanduser()


def _name_of(root: Path) -> str:
    return _NOT_IN_NAME.sub("-", root.name).strip("-._")[:128] or "default"


def _derived_guard(folder: Path, db: str, root: Path) -> str | None:
    """Two repositories of one name must not share a workspace of one store by accident.

    A store inside its repository needs no guard, and moves with it; a database on a server is
    shared by clones at different paths on purpose and takes an explicit guard only.
    """
    if db.startswith(("postgres://", "postgresql://")) or folder.is_relative_to(root):
        return None
    import hashlib

    return "repo:" + hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]


def environment_with(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with changes, for a child that we start.

    What an agent's session says about itself is left out: a server outlives that session.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_SESSION}
    return {**kept, **changes}


def wants_colour() -> bool:
    """Whether a terminal may be sent colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_tracebacks() -> bool:
    """Whether whoever runs this wants to see where a defect lies."""
    return os.environ.get("LONGHOUSE_LOG_LEVEL", "").lower() == "debug"


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: not valid TOML: {error}", recovery=f"mend {path}") from None


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
    return tuple(value) if isinstance(value, list) else value


def _database(value: str, where: str) -> str:
    """A file or PostgreSQL; the address of anything else must not become the name of a file."""
    scheme, found, _ = value.partition("://")
    if found and scheme not in ("postgres", "postgresql"):
        raise InvalidInput(
            f"{where}: {scheme}:// is no database that Longhouse can use",
            recovery=f"set {where} to the path of a file, or to postgresql://…",
        )
    return value


def _flag(value: Any, where: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    try:
        return known[str(value).strip().lower()]
    except KeyError:
        raise InvalidInput(f"{where}: {value!r} is not 1 or 0", recovery=f"set {where}") from None


def _number(value: Any, where: str, least: int, most: int) -> int:
    text = str(value)
    if text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most:
        return int(text)
    raise InvalidInput(
        f"{where}: {value!r} is not a number from {least} to {most}",
        recovery=f"set {where} to a number between them, or leave it out",
    )
