"""`POST /call/{cmd}`: the body is the command's arguments, the answer its envelope or its lines."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from longhouse.dispatch import Caller, Dispatcher
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.limits import waits_of
from longhouse.surfaces.http.responses import respond
from longhouse.surfaces.sessions import SESSION_HEADER, OpenSessions

__all__ = ["WORKSPACE_HEADER", "Calls", "asked_workspace", "decoded"]

WORKSPACE_HEADER = "longhouse-workspace"


def asked_workspace(request: Request) -> str | None:
    """The workspace named in the query or a header, on any path."""
    return request.query_params.get("workspace") or request.headers.get(WORKSPACE_HEADER) or None


class Calls:
    """Passes calls from HTTP to the dispatcher, and answers back."""

    def __init__(self, dispatcher: Dispatcher, sessions: OpenSessions) -> None:
        self._dispatcher = dispatcher
        self._sessions = sessions

    async def answer(self, request: Request) -> Response:
        cmd: str = request.path_params["cmd"]
        args: Any = None
        caller = caller_of(request.scope)
        try:
            args = await decoded(self._dispatcher, caller, await request.body())
            if isinstance(args, dict):
                self._add_workspace(cmd, args, asked_workspace(request))
        except LonghouseError as error:
            return respond(self._dispatcher.fail(cmd, error, args))
        key = request.headers.get(SESSION_HEADER)
        caller.session = self._sessions.find(caller.owner, key)
        caller.waits = waits_of(request.scope)
        return respond(await self._dispatcher.call_async(cmd, args, caller))

    def _add_workspace(self, cmd: str, args: dict[str, Any], asked: str | None) -> None:
        """Add the workspace unless the body names one or the command has its own `workspace`."""
        command = self._dispatcher.registry.commands.get(cmd)
        if asked and command and "workspace" not in command.fields():
            args.setdefault("workspace", asked)


async def decoded(dispatcher: Dispatcher, caller: Caller, body: bytes) -> Any:
    """The JSON of a body; a large one is decoded outside the event loop."""
    if caller.large:
        return await dispatcher.apart(caller, lambda: _decode(body))
    return _decode(body)


def _decode(body: bytes) -> Any:
    if not body.strip():
        return {}
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"body: not valid JSON: {error}", recovery='send a JSON object such as {"limit": 5}'
        ) from None
