"""How a command is declared: its arguments, its flags, and what it does.

A command that only calls one registry command and shows the result names it in `calls`; its
arguments and flags are then the arguments of that call. Every other command has a `run` function,
and may still set `calls`, so that suggestions of that call are shown as this command. Help,
completion, said.json and docs/cli.md are generated from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from longhouse.surfaces.cli.context import Cli

__all__ = ["AS_OF", "GLOBALS", "Arg", "Command", "Flag", "Shown"]


class Arg(NamedTuple):
    """A positional argument."""

    name: str
    help: str
    required: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    field: str = ""
    """The argument of the call, if its name differs."""
    others: tuple[str, ...] = ()
    """Other arguments of the call with the same meaning."""


class Flag(NamedTuple):
    """`--name VALUE`; without `value` it is a switch, which may be negatable."""

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
    """The argument of the call, if its name differs."""

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")


AS_OF = Flag("as-of", "as it was at this seq", "SEQ", kind=int)
"""The moment of a read that can look back."""


class Shown(NamedTuple):
    """A command's output: `data` for `--json`, `lines` for people; `ok` sets the exit code."""

    data: Any
    lines: Iterable[str] = ()
    ok: bool = True


Run = Callable[..., "Shown | int | None"]
Show = Callable[["Cli", Any], Iterable[str]]
Words = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Command(NamedTuple):
    """One command, or a group of commands."""

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
    """Other calls it can make, each with the words to add to its name: `NAME --delete`."""
    finds: Sequence[str] = ()
    """Arguments of the call that it looks up on its own, such as an identity's token."""
    values_of: Words | None = None
    """Maps the arguments of a call to values of this command, if their names differ. An argument
    it leaves under another name cannot be expressed by this command."""

    def child(self, name: str) -> Command | None:
        return next((one for one in self.children if one.name == name), None)


_FULL_AUTO = ("safe", "full-auto")

GLOBALS = (
    Flag(
        "dir",
        "the store's folder (default: this project's, in your data folder)",
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
    Flag("agent-id", "the agent to act as, for the record", "ID", variable="LONGHOUSE_AGENT_ID"),
    Flag("json", "print {ok, command, data, error} as JSON"),
    Flag(
        "host",
        "the address the server listens on (default: 127.0.0.1)",
        "HOST",
        variable="LONGHOUSE_HOST",
    ),
    Flag(
        "port",
        "the server's port (default: its last one, else 7331, else a free one)",
        "PORT",
        variable="LONGHOUSE_PORT",
    ),
    Flag(
        "token",
        "the token to send, or the one a server accepts",
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
        "which commands are listed to agents",
        "SET",
        choices=("core", "daily", "full"),
        variable="LONGHOUSE_TOOLSET",
    ),
    Flag(
        "workspace-lock",
        "refuse all other workspaces",
        negatable=True,
        variable="LONGHOUSE_WORKSPACE_LOCK",
    ),
    Flag(
        "workspace-allowlist",
        "the workspaces to accept, comma-separated",
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
        "let the server start runners",
        negatable=True,
        variable="LONGHOUSE_RUNNER_AUTOSTART",
    ),
    Flag("help", "show help", short="h"),
    Flag("version", "show the version", short="V"),
)
"""The flags every command takes, before or after its name."""
