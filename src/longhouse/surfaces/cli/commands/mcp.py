"""`longhouse mcp`: the program that an MCP client starts."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag
from longhouse.surfaces.client_tokens import CLIENTS, OTHER

FORMATS = ("json", "lines")
ROLES = ("viewer", "agent", "manager", "operator")


def run(
    cli: Cli,
    embedded: bool = False,
    client: str = OTHER,
    role: str | None = None,
    agent_token_file: str | None = None,
    format: str = "json",
) -> int:
    if embedded:
        cli.need_a_store()
        from longhouse.surfaces.mcp.stdio import serve_stdio

        serve_stdio(cli.settings, client, role, lines=format == "lines")
        return 0
    from longhouse.surfaces.bridge.loop import serve
    from longhouse.surfaces.bridge.requests import ServedClient

    agent_token = _read(agent_token_file) if agent_token_file else None
    return serve(cli, ServedClient(client, role, agent_token, lines=format == "lines"))


def _read(path: str) -> str:
    from pathlib import Path

    from longhouse.kernel.errors import InvalidInput
    from longhouse.kernel.private_files import read_private

    try:
        return read_private(Path(path)).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a token"
        raise InvalidInput(
            f"--agent-token-file: {path} cannot be read: {why}",
            recovery="omit it; a runner writes that file for its agent",
        ) from None


command = Command(
    "mcp",
    "Speak MCP over standard input and output; MCP clients start it",
    flags=[
        Flag("embedded", "serve from this process and leave nothing in the background"),
        Flag("client", "whose token to use (default: other)", "CLIENT", choices=CLIENTS),
        Flag("role", "limit this session to this role", "ROLE", choices=ROLES),
        Flag(
            "format",
            "how reads are answered that do not say it (default: json)",
            "FORMAT",
            choices=FORMATS,
        ),
        Flag("agent-token-file", "use the token in this file, written by a runner", "FILE"),
    ],
    run=run,
    details="""\
Connects to the store's server, and starts one if none is running; a server started this way exits
after 15 minutes without a call (LONGHOUSE_IDLE_EXIT_S changes that). A server of another version is
replaced. The client has its own token, created on first use and kept in your configuration folder:
`longhouse token list` shows it, and `longhouse token revoke` ends it without affecting other
clients. Its role is agent, which can work but not lead; `longhouse init --role manager` also lets
the client steer and cancel jobs. `longhouse init` adds the entry to your clients' settings.""",
    examples=["claude mcp add longhouse -- longhouse mcp", "longhouse mcp --embedded"],
)
