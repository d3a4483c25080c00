"""How a command is declared: its words, its flags, and what it does.

A command that only calls one command of the registry and shows the result names it in `calls`;
its arguments and flags are then the call's arguments. Everything else gives a `run` function, and
may name in `calls` what it stands for, so that suggestions are said with it. Help, completion,
said.json and docs/cli.md are made from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from longhouse.surfaces.cli.context import Cli

__all__ = ["GLOBALS", "Arg", "Command", "Flag", "Shown"]


class Arg(NamedTuple):
    """A word on the command line that is no flag."""

    name: str
    help: str
    required: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    field: str = ""
    """The argument of the call that it becomes, where that has another name."""
    others: tuple[str, ...] = ()
    """Further arguments of the call that mean the same."""


class Flag(NamedTuple):
    """`--name VALUE`; without `value` a switch, which may also be negated."""

    name: str
    help: str
    value: str = ""
    short: str = ""
    kind: type[str | int] = str
    choices: tuple[str, ...] = ()
    many: bool = False
    negatable: bool = False
    variable: str = ""
    field: str = ""
    """The argument of the call that it becomes, where that has another name."""

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")


class Shown(NamedTuple):
    """What a command has to say: `data` for `--json`, `lines` for people; `ok` sets the exit."""

    data: Any
    lines: Iterable[str] = ()
    ok: bool = True


Run = Callable[..., "Shown | int | None"]
Show = Callable[["Cli", Any], Iterable[str]]
Words = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Command(NamedTuple):
    """One command, or a group of them."""

    name: str
    summary: str
    args: Sequence[Arg] = ()
    flags: Sequence[Flag] = ()
    run: Run | None = None
    calls: str = ""
    show: Show | None = None
    children: Sequence[Command] = ()
    details: str = ""
    examples: Sequence[str] = ()
    also: Mapping[str, str] = {}
    """Other calls that it stands for, with the words to say after its name: `NAME --delete`."""
    finds: Sequence[str] = ()
    """Arguments of the call that it finds by itself, such as the token of an identity."""
    values_of: Words | None = None
    """The arguments of a call as values of this command, where their names do not tell. What it
    leaves under another name cannot be said."""

    def child(self, name: str) -> Command | None:
        return next((one for one in self.children if one.name == name), None)


_FULL_AUTO = ("safe", "full-auto")

GLOBALS = (
    Flag(
        "dir",
        "the store's folder (default: .longhouse at the root of the repository)",
        "DIR",
        variable="LONGHOUSE_DIR",
    ),
    Flag("db", "the database: a file, or postgresql://…", "URL", variable="LONGHOUSE_DB"),
    Flag(
        "workspace",
        "the workspace (default: the repository's name)",
        "NAME",
        short="w",
        variable="LONGHOUSE_WORKSPACE",
    ),
    Flag("agent-id", "who acts, for the record", "ID", variable="LONGHOUSE_AGENT_ID"),
    Flag("json", "print {ok, command, data, error} for programs"),
    Flag(
        "host", "where the server listens (default: 127.0.0.1)", "HOST", variable="LONGHOUSE_HOST"
    ),
    Flag(
        "port",
        "its port (default: the one it had last, else 7331, else a free one)",
        "PORT",
        variable="LONGHOUSE_PORT",
    ),
    Flag(
        "token",
        "the token to show, or the one a server accepts",
        "TOKEN",
        variable="LONGHOUSE_TOKEN",
    ),
    Flag("token-file", "a file that holds the token", "FILE", variable="LONGHOUSE_TOKEN_FILE"),
    Flag(
        "policy",
        "what background programs may do",
        "POLICY",
        choices=_FULL_AUTO,
        variable="LONGHOUSE_POLICY",
    ),
    Flag(
        "toolset",
        "how much an MCP client is shown",
        "SET",
        choices=("core", "daily", "full"),
        variable="LONGHOUSE_TOOLSET",
    ),
    Flag(
        "workspace-lock",
        "refuse every other workspace",
        negatable=True,
        variable="LONGHOUSE_WORKSPACE_LOCK",
    ),
    Flag(
        "workspace-allowlist",
        "the workspaces to accept, with commas",
        "NAMES",
        variable="LONGHOUSE_WORKSPACE_ALLOWLIST",
    ),
    Flag(
        "project-guard",
        "bind new workspaces to this project",
        "GUARD",
        variable="LONGHOUSE_PROJECT_GUARD",
    ),
    Flag(
        "runner-autostart",
        "let the server start a runner",
        negatable=True,
        variable="LONGHOUSE_RUNNER_AUTOSTART",
    ),
    Flag("help", "show what a command takes", short="h"),
    Flag("version", "show the version", short="V"),
)
"""What every command takes, before or after its name."""
