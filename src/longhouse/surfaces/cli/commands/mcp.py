"""`longhouse mcp`: what an MCP client starts."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag


def run(cli: Cli, embedded: bool = False) -> int:
    from longhouse.surfaces.mcp.stdio import serve_stdio

    serve_stdio(cli.settings)
    return 0


command = Command(
    "mcp",
    "Speak MCP over standard input and output, for a client that starts it",
    flags=[Flag("embedded", "serve from this process and leave nothing in the background")],
    run=run,
    examples=["claude mcp add longhouse -- longhouse mcp"],
)
