"""The environment of this process, and the argv and environment of the programs we start.

A repository must not decide what runs: our own programs never import from the current folder, and
no program is looked up relative to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "ClientHomes",
    "absolute_path_only",
    "cache_home",
    "client_homes",
    "environment_with",
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


def user_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The user's own `config.toml`; None if there is no home directory to find it in.

    A client may start us with an empty environment; the system then says where home is.
    """
    known = os.environ if environ is None else environ
    base = known.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):  # the specification says to ignore a relative one
        home = known.get("HOME") or (str(Path.home()) if environ is None else "")
        if not home.startswith("/"):
            return None
        base = f"{home}/.config"
    return Path(base, "longhouse", "config.toml")


def cache_home(environ: Mapping[str, str] | None = None) -> Path | None:
    """The user's cache folder; None if there is no home directory to find it in.

    Without HOME, the user database says where home is.
    """
    known = os.environ if environ is None else environ
    base = known.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):  # the specification says to ignore a relative one
        return Path(base)
    home = known.get("HOME") or _home()
    return Path(home, ".cache") if home.startswith("/") else None


def _home() -> str:
    """The home directory in the user database; empty if this user is not there."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


class ClientHomes(NamedTuple):
    """Where MCP clients keep their per-user files."""

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


def wants_colour() -> bool:
    """Whether color may be sent to a terminal (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_tracebacks() -> bool:
    """Whether to show the traceback of an unexpected error."""
    return os.environ.get("LONGHOUSE_LOG_LEVEL", "").lower() == "debug"
