"""One MCP `status` call compared with an echo tool on the bare SDK, and the tool list's size."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median

import anyio.from_thread
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bench._harness import interleave, report
from bench._servers import Up, bare, longhouse

CALLS = 60
ECHO = """
import asyncio, socket
import mcp_types as types
import uvicorn
from mcp.server.lowlevel.server import Server

async def list_tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="echo")])

server = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
listener = socket.create_server(("127.0.0.1", 0))
config = uvicorn.Config(server.streamable_http_app(), log_level="error", access_log=False)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(config).run(sockets=[listener])
"""


@asynccontextmanager
async def connected(up: Up) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=up.headers, timeout=20) as http,
        Client(streamable_http_client(f"{up.url}/mcp", http_client=http)) as client,
    ):
        yield client


def contestant(
    run: Callable[[Callable[[], Awaitable[float]]], float], client: Client, tool: str
) -> Callable[[], float]:
    async def calls() -> float:
        taken = []
        for _ in range(CALLS):
            started = time.perf_counter()
            result = await client.call_tool(tool, {})
            taken.append(time.perf_counter() - started)
            assert not result.is_error
        return median(taken)

    return lambda: run(calls)


def list_bytes(up: Up) -> int:
    """The size of the `tools/list` response in the newest protocol version."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    answer = httpx2.post(
        f"{up.url}/mcp",
        headers={
            **up.headers,
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/list",
        },
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}},
    )
    assert len(answer.json()["result"]["tools"]) == 10, answer.text
    return len(answer.content)


def main() -> None:
    with (
        longhouse() as ours,
        bare(ECHO) as echo,
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connected(ours)) as status,
        portal.wrap_async_context_manager(connected(echo)) as floor,
    ):
        figures = interleave(
            {
                "status": contestant(portal.call, status, "status"),
                "echo": contestant(portal.call, floor, "echo"),
            }
        )
        report("mcp-status", figures.ratio("status", "echo"), "<=2.0", figures)
        size = list_bytes(ours)
        print(f"# mcp-tools-list: {size} bytes of 10000")
        report("mcp-tools-list", size / 10_000, "<=1.0")


if __name__ == "__main__":
    main()
