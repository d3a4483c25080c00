"""Records the answers that the bridge gives without a server, taken from the real MCP server.

`python -m tools.commands` writes them to `surfaces/bridge/answers.json`, for both protocol eras. It
also writes the clients' catalog of commands: clients send an idempotency key with every command
that is not listed there as read-only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import anyio
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from longhouse.dispatch import Caller, Dispatcher
from longhouse.kernel.registry import PORTALS, Registry, Role
from longhouse.surfaces.mcp.server import build_server

__all__ = ["bridge_answers", "client_catalog"]

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
META = "io.modelcontextprotocol/"


def bridge_answers(commands: Registry) -> str:
    found = {
        "handshake_versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "answers": {"handshake": _handshake(commands), "modern": _modern(commands)},
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def client_catalog(commands: Registry) -> str:
    """The commands as clients know them without importing them (`client/catalog.json`)."""
    found = {
        "ops": {
            tool: {c.op: c.cmd for c in commands if c.portal == tool and c.op}
            for tool in PORTALS
            if tool not in commands.commands
        },
        "reads": {c.cmd: list(c.writes_with) for c in commands if not c.writes},
        "writes": [c.cmd for c in commands if c.writes],
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _handshake(commands: Registry) -> dict[str, Any]:
    """The answers to handshake-era clients; versions differ only in what `initialize` echoes."""
    newest: dict[str, Any] = {}
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        hello = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "tools", "version": "1"},
        }
        asked = [("initialize", hello), ("notifications/initialized", None), ("ping", {})]
        asked += [(method, {}) for method in LISTS]
        before, newest = newest, anyio.run(_ask, commands, asked)
        assert newest["initialize"]["protocolVersion"] == version
        assert not before or {**before, "initialize": None} == {**newest, "initialize": None}
    return newest


def _modern(commands: Registry) -> dict[str, Any]:
    (version,) = MODERN_PROTOCOL_VERSIONS
    meta = {META + "protocolVersion": version, META + "clientCapabilities": {}}
    asked = [(method, {"_meta": meta}) for method in ("server/discover", *LISTS)]
    return anyio.run(_ask, commands, asked)


async def _ask(commands: Registry, asked: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The results of these requests, from a server without a house behind it."""
    dispatcher = cast(Dispatcher, SimpleNamespace(registry=commands))
    server = build_server(dispatcher, lambda _request: Caller(Role.OPERATOR))
    results = {}
    async with (
        create_client_server_memory_streams() as (client, ours),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(server.run, *ours, server.create_initialization_options())
        for number, (method, params) in enumerate(asked):
            if method.startswith("notifications/"):
                note = JSONRPCNotification(jsonrpc="2.0", method=method)
                await client[1].send(SessionMessage(note))
                continue
            request = JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
            await client[1].send(SessionMessage(request))
            answer: Any = await client[0].receive()
            told = answer.message.model_dump(mode="json", by_alias=True, exclude_none=True)
            results[method] = told["result"]
        tasks.cancel_scope.cancel()
    return results
