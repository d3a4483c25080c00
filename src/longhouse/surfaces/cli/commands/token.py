"""`longhouse token`: access tokens for the server."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import ago, table
from longhouse.surfaces.cli.spec import Arg, Command, Flag

ROLES = ("viewer", "agent", "manager", "operator")


def show_created(cli: Cli, result: dict[str, Any]) -> Iterator[str]:
    yield result["token"]
    over = result.get("expires_at_ms")
    ends = f"expires {ago(over)}" if over else "does not expire"
    about = f"{result['id']} has the role {result['role']} and {ends}"
    if cli.out.for_people:
        yield cli.out.style(f"{about}. The token is shown only once.", "dim")
    else:  # so that a script gets the token alone
        cli.out.note("note", about)


def show_list(cli: Cli, result: dict[str, Any]) -> Iterable[str]:
    rows = [
        {
            **row,
            "created": ago(row["created_at_ms"]),
            "state": _state(row),
            "expires": ago(row["expires_at_ms"]) if row.get("expires_at_ms") else "never",
            "runner": "yes" if row.get("runner") else "-",
            "workspaces": ",".join(row.get("workspaces") or ()) or "all",
        }
        for row in result["tokens"]
    ]
    from longhouse.surfaces.cli.setup.leftover import leftover, said_about

    for row in leftover(cli.settings, cli.call):
        cli.out.note("note", "; run: ".join(said_about(row)))
    columns = (
        "id",
        "role",
        "state",
        "created",
        "expires",
        "runner",
        "client",
        "workspaces",
        "name",
    )
    return table(rows, columns) if rows else ["no tokens yet"]


def _state(row: dict[str, Any]) -> str:
    if row.get("revoked_at_ms"):
        return "revoked"
    over = row.get("expires_at_ms") or 0
    return "expired" if 0 < over <= time.time() * 1000 else "live"


def show_revoked(cli: Cli, result: dict[str, Any]) -> list[str]:
    return [f"{result['id']} is revoked"]


command = Command(
    "token",
    "Create, list and revoke access tokens",
    children=[
        Command(
            "create",
            "Create a token and print it once",
            flags=[
                Flag("role", "what its holder may do (default: agent)", "ROLE", choices=ROLES),
                Flag("name", "the only agent its holder may act as", "NAME"),
                Flag(
                    "workspaces", "limit it to this workspace; may be repeated", "NAME", many=True
                ),
                Flag("runner", "let its holder host background processes, terminals too"),
                Flag("expires-hours", "let it expire after this many hours", "N", kind=int),
            ],
            calls="system.token.create",
            show=show_created,
            examples=[
                "longhouse token create --role viewer --name 'wall screen'",
                "longhouse token create --role agent --runner",
            ],
        ),
        Command("list", "List the tokens", calls="system.token.list", show=show_list),
        Command(
            "revoke",
            "Revoke a token and close everything open under it",
            args=[Arg("id", "the token's id, from `longhouse token list`")],
            calls="system.token.revoke",
            show=show_revoked,
        ),
    ],
)
