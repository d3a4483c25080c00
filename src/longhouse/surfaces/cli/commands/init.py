"""`longhouse init`: create the store and register it with MCP clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import Forbidden, InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag, Shown
from longhouse.surfaces.client_tokens import CLIENTS, ClientTokens

SCOPES = ("project", "user")
FORMATS = ("json", "lines")
ROLES = ("viewer", "agent", "manager", "operator")


def run(
    cli: Cli,
    client: Sequence[str] = (),
    scope: str = "project",
    approve: bool = False,
    dry_run: bool = False,
    remove: bool = False,
    role: str = "agent",
    format: str | None = None,
) -> Shown:
    from longhouse.surfaces.cli.adopting import settle_store
    from longhouse.surfaces.cli.setup.files import apply, plan
    from longhouse.surfaces.cli.setup.targets import WRITTEN, argv, entry_json, targets

    if approve and remove:
        raise InvalidInput(
            "--approve: cannot be combined with --remove", recovery="use one of them"
        )
    if not dry_run and not remove:
        settle_store(cli)
    chosen = list(client) or list(WRITTEN)
    words = argv(cli.settings, cli.flags, scope)
    wanted = targets(chosen, scope, words, approve=approve, remove=remove, fmt=format)
    changes = [(one, plan(one.path, one.edit)) for one in wanted]  # edit all files or none
    if not dry_run:
        if not remove:
            cli.may_make_a_store = True
            cli.call("system.init")
        changes = [(one, apply(one.path, one.edit)) for one in wanted]
        _settle_tokens(cli, chosen, role, remove=remove)
    files = [
        {"client": one.client, "path": str(one.path), "change": change.word}
        | ({"diff": change.diff()} if dry_run else {})
        for one, change in changes
    ]
    data = {
        "store": str(cli.settings.dir),
        "workspace": cli.settings.workspace,
        "scope": scope,
        "dry_run": dry_run,
        "files": files,
        "command": words,
        "json": entry_json(words),
        "next": [] if remove else _next(chosen),
    }
    lines = _diffs(data) if dry_run else _lines(cli, data, remove=remove)
    return Shown(data, lines)


def _settle_tokens(cli: Cli, clients: Sequence[str], role: str, *, remove: bool) -> None:
    """Give each client its own token with that role, or revoke it."""
    try:
        for name in clients:
            tokens = ClientTokens(cli.settings, name)
            if remove:
                tokens.forget(cli.call)
            else:
                tokens.renew(cli.call, role)
    except Forbidden:
        cli.out.note("note", "your token cannot create others: clients use it with the agent role")


def _next(clients: Sequence[str]) -> list[str]:
    from longhouse.surfaces.cli.clients import spoken

    start = {"claude-code": "claude", "codex": "codex"}
    program = next((start[name] for name in clients if name in start), None)
    ask = "call the longhouse status tool and tell me what you see"
    return [
        f'{program} "{ask}"' if program else f"in your client: {ask}",
        f"{spoken()} status",
        f"{spoken()} up",
    ]


def _lines(cli: Cli, data: dict[str, Any], *, remove: bool) -> Iterator[str]:
    bold = cli.out.style
    if remove:
        yield bold("Longhouse is removed from the clients; the store stays", "bold")
    else:
        yield bold(f"Longhouse is set up for workspace {data['workspace']}", "bold")
    yield f"  store        {data['store']}"
    for file in data["files"]:
        yield f"  {file['client']:<11}  {_short(file['path'])}: {file['change']}"
    if remove:
        return
    yield ""
    yield bold("Connect any other client; for Cursor, in .cursor/mcp.json", "bold")
    yield f"  {data['json']}"
    yield ""
    yield bold("Next", "bold")
    yield from (f"  {number}. {text}" for number, text in enumerate(data["next"], 1))


def _diffs(data: dict[str, Any]) -> Iterator[str]:
    for file in data["files"]:
        if file["diff"]:
            yield from file["diff"]
        else:
            yield f"{file['path']}: {file['change']}"


def _short(path: str) -> str:
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


command = Command(
    "init",
    "Create the store and add Longhouse to the settings of MCP clients",
    flags=[
        Flag("client", "only this client; may be repeated", "CLIENT", choices=CLIENTS, many=True),
        Flag(
            "scope", "the project's files or your own (default: project)", "SCOPE", choices=SCOPES
        ),
        Flag("role", "what the clients may do (default: agent)", "ROLE", choices=ROLES),
        Flag(
            "format",
            "how the clients' reads are answered (default: lines for Codex, else json)",
            "FORMAT",
            choices=FORMATS,
        ),
        Flag("approve", "let the clients call Longhouse without asking you each time"),
        Flag("dry-run", "show what would change, without changing anything"),
        Flag("remove", "remove the entries again; the store stays"),
    ],
    run=run,
    details="""\
Writes .mcp.json for Claude Code and .codex/config.toml for Codex, or with --scope user
~/.claude.json and ~/.codex/config.toml; prints the entry for every other client. Everything else in
those files stays as it is, and running it twice changes nothing. Each client gets its own token for
this store, with the role given by --role; a revoked token is replaced, and --remove revokes it.
Writes and single calls with fmt=json are answered in JSON whatever --format says.""",
    examples=[
        "longhouse init",
        "longhouse init --dry-run",
        "longhouse init --client codex --approve",
        "longhouse init --role manager",
        "longhouse init --scope user --remove",
    ],
)
