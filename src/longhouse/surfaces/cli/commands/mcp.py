"""`longhouse mcp`: what an MCP client starts."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag
from longhouse.surfaces.client_tokens import CLIENTS, OTHER

ROLES = ("viewer", "agent", "manager", "operator")


def run(
    cli: Cli,
    embedded: bool = False,
    client: str = OTHER,
    role: str | None = None,
    agent_token_file: str | None = None,
) -> int:
    if embedded:
        cli.need_a_store()
        from longhouse.surfaces.mcp.stdio import serve_stdio

        serve_stdio(cli.settings, client, role)
        return 0
    from longhouse.surfaces.bridge.loop import serve
    from longhouse.surfaces.bridge.requests import ServedClient

    agent_token = _read(agent_token_file) if agent_token_file else None
    return serve(cli, ServedClient(client, role, agent_token))


def _read(path: str) -> str:
    from pathlib import Path

    from longhouse.kernel.errors import InvalidInput
    from longhouse.kernel.private_files import read_private

    try:
        return read_private(Path(path)).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it holds no token"
        raise InvalidInput(
            f"--agent-token-file: {path} cannot be read: {why}",
            recovery="leave it out; a runner writes that file for its agent",
        ) from None


command = Command(
    "mcp",
    "Speak MCP over standard input and output, for a client that starts it",
    flags=[
        Flag("embedded", "serve from this process and leave nothing in the background"),
        Flag("client", "whose token to work under (default: other)", "CLIENT", choices=CLIENTS),
        Flag("role", "do no more than this, though the token may", "ROLE", choices=ROLES),
        Flag("agent-token-file", "work under that token (a runner writes it)", "FILE"),
    ],
    run=run,
    details="""\
Goes through the store's server, and starts it when none runs; a server started like that leaves
when it has had nothing to do for a quarter of an hour (LONGHOUSE_IDLE_EXIT_S says otherwise).
A server of another version is replaced. The client works under a token of its own, made on first
use and kept in your own configuration folder: `longhouse token list` shows it, and `longhouse token
revoke` ends it alone. It is an agent's, which works but does not lead; `longhouse init --role
manager` lets the client steer and cancel jobs. `longhouse init` writes the entry for clients.""",
    examples=["claude mcp add longhouse -- longhouse mcp", "longhouse mcp --embedded"],
)
