"""`longhouse mcp --embedded`: the MCP server in this process, over its standard streams."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from longhouse.config import Settings
from longhouse.dispatch import Caller, Session
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.surfaces.mcp.server import build_server

__all__ = ["serve_stdio"]


def serve_stdio(settings: Settings) -> None:
    """Serve one client until it closes its end; it acts as the owner of the store."""
    caller = Caller(Role.OPERATOR, session=Session())
    with House(settings) as house:
        server = build_server(house.dispatcher, lambda _request: caller)

        async def serve() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        anyio.run(serve)
