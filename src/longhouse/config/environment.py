"""The environment of this process, and the argv and environment of the programs we start.

A repository must not decide what runs: our own programs never import from the current folder, and
no program is looked up relative to it.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "ClientHomes",
    "absolute_path_only",
    "cache_home",
    "client_homes",
    "data_home",
    "environment_with",
    "home_folder",
    "is_ci",
    "is_sandboxed",
    "own_argv",
    "user_file",
    "wants_colour",
    "wants_tracebacks",
]

_OF_A_SESSION = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_PROJECT_DIR",
    }
)
_SEARCHED = ("PATH", "PYTHONPATH")


def own_argv(*words: str) -> list[str]:
    """The argv that starts this same Longhouse; `-P` keeps the current folder off `sys.path`."""
    return [sys.executable, "-P", "-m", "longhouse", *words]


def absolute_path_only() -> None:
    """Remove the entries of search paths that are relative to the current folder.

    An empty entry, `.` or `bin` would find programs in whatever repository is the current folder.
    """
    for name in _SEARCHED:
        if name in os.environ:
            os.environ[name] = _absolute(name, os.environ[name])


def _absolute(name: str, value: str) -> str:
    kept = [entry for entry in value.split(os.pathsep) if entry.startswith("/")]
    return os.pathsep.join(kept) or (os.defpath if name == "PATH" else "")


def environment_with(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with changes, for a child process.

    Variables that describe an agent's session are left out, because a server outlives the session.
    So are the entries of search paths that are relative to the current folder.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _OF_A_SESSION}
    kept |= {name: _absolute(name, kept[name]) for name in _SEARCHED if name in kept}
    return {**kept, **changes}


def home_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """The home directory: `$HOME`, else what the system says; None if there is none.

    A client may start us with an empty environment; the system then says where home is.
    """
    home = (os.environ if environ is None else environ).get("HOME", "")
    if not home and environ is None:
        with suppress(KeyError):
            home = pwd.getpwuid(os.geteuid()).pw_dir
    return Path(home) if home.startswith("/") else None


def _below_home(variable: str, usual: str, environ: Mapping[str, str] | None) -> Path | None:
    """A folder of the XDG base directory specification, which ignores relative ones."""
    given = (os.environ if environ is None else environ).get(variable, "")
    if given.startswith("/"):
        return Path(given)
    home = home_folder(environ)
    return home / usual if home else None


def user_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The user's own `config.toml`; None if there is no home directory to find it in."""
    base = _below_home("XDG_CONFIG_HOME", ".config", environ)
    return base / "longhouse" / "config.toml" if base else None


def data_home(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where new stores are made."""
    base = _below_home("XDG_DATA_HOME", ".local/share", environ)
    return base / "longhouse" if base else None


def cache_home(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where worktrees and scratch files of new stores are kept."""
    base = _below_home("XDG_CACHE_HOME", ".cache", environ)
    return base / "longhouse" if base else None


def is_ci(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a continuous-integration service runs us: its home directory is thrown away."""
    said = (os.environ if environ is None else environ).get("CI", "")
    return said.lower() not in ("", "0", "false", "no")


def is_sandboxed(environ: Mapping[str, str] | None = None) -> bool:
    """Whether an agent's sandbox runs us, as far as the sandbox says so."""
    known = os.environ if environ is None else environ
    return any(known.get(name) for name in ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"))


class ClientHomes(NamedTuple):
    """Where MCP clients keep their per-user files."""

    claude: Path
    claude_json: Path
    codex: Path


def client_homes(environ: Mapping[str, str] | None = None) -> ClientHomes:
    """The folders in which agents' clients keep their settings."""
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


def wants_colour() -> bool:
    """Whether color may be sent to a terminal (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_tracebacks() -> bool:
    """Whether to show the traceback of an unexpected error."""
    return os.environ.get("LONGHOUSE_LOG_LEVEL", "").lower() == "debug"
