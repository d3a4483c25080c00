"""`longhouse mcp`: what an MCP client starts."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag

ROLES = ("viewer", "agent", "manager", "operator")


def run(cli: Cli, embedded: bool = False, role: str = "agent", session: str | None = None) -> int:
    if embedded:
        from longhouse.surfaces.mcp.stdio import serve_stdio

        serve_stdio(cli.settings, role)
        return 0
    from longhouse.surfaces.bridge.loop import serve

    return serve(cli, role, session)


command = Command(
    "mcp",
    "Speak MCP over standard input and output, for a client that starts it",
    flags=[
        Flag("embedded", "serve from this process and leave nothing in the background"),
        Flag("role", "what the client may do (default: agent)", "ROLE", choices=ROLES),
        Flag("session", "go on as that connection (a runner names one for its agent)", "NAME"),
    ],
    run=run,
    details="""\
Goes through the store's server, and starts it when none runs; a server started like that leaves
when it has had nothing to do for a quarter of an hour (LONGHOUSE_IDLE_EXIT_S says otherwise).
A server of another version is replaced. The client is a caller of its own with the role of an
agent: it works, but does not lead; --role manager lets it steer and cancel jobs.
`longhouse init` writes the entry that clients need.""",
    examples=["claude mcp add longhouse -- longhouse mcp", "longhouse mcp --embedded"],
)
