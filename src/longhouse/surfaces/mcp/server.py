"""The MCP server: a low-level SDK server over a house's dispatcher, the same on every transport.

An answer is plain text: the compact JSON envelope, or lines. A refusal is a result with `isError`,
so that the model reads its recovery; protocol errors are only for protocol misuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server

from longhouse import __version__
from longhouse.client import tool_named, tool_result
from longhouse.dispatch import Caller, Dispatcher
from longhouse.kernel.registry import Role
from longhouse.surfaces.mcp.lines import preferred
from longhouse.surfaces.mcp.tools import instructions, tool_list

__all__ = ["build_server"]

FindCaller = Callable[[Any], Caller]


def build_server(
    dispatcher: Dispatcher, find_caller: FindCaller, role: Role = Role.OPERATOR
) -> Server[Any]:
    """The server; `find_caller` identifies the caller of a transport request.

    `role` is the most that any of its callers has; each is told of what its own role may call.
    """
    listed = {role: _listed(dispatcher, role) for role in Role}
    schemas = {tool.name: tool.input_schema for tool in listed[Role.OPERATOR].tools}

    async def on_list_tools(ctx: Any, _params: Any) -> types.ListToolsResult:
        return listed[find_caller(ctx.request).role]

    async def on_call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        caller = find_caller(ctx.request)
        name = tool_named(params.name)
        arguments = preferred(caller, name, params.arguments)
        answer = await dispatcher.portal_async(name, arguments, caller)
        result = tool_result(answer.lean(), failed=not answer.success)
        return types.CallToolResult.model_validate(result)

    # Some clients ask for these without checking capabilities: answer with empty lists.
    async def on_list_prompts(_ctx: Any, _params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def on_list_resources(_ctx: Any, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def on_list_templates(_ctx: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    return Server(
        "longhouse",
        version=__version__,
        title="Longhouse",
        instructions=instructions(role),
        get_tool_input_schema=schemas.get,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_prompts=on_list_prompts,
        on_list_resources=on_list_resources,
        on_list_resource_templates=on_list_templates,
    )


def _listed(dispatcher: Dispatcher, role: Role) -> types.ListToolsResult:
    tools = tool_list(dispatcher.registry, role)
    return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])
