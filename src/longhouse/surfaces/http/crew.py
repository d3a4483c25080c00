"""`GET /api/sessions` and `GET /api/sessions/{bead_id}/conversation`.

They call `agents.sessions` and `agents.conversation`, with the query parameters as arguments.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from longhouse.dispatch import Dispatcher
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import WORKSPACE_HEADER
from longhouse.surfaces.http.responses import respond

__all__ = ["CrewReads"]

_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_NUMBERS = ("limit", "max_chars", "max_bytes", "max_lines", "context_budget")


class CrewReads:
    """Who is working on what, for pages and scripts that only read."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def routes(self) -> list[Route]:
        return [
            Route("/api/sessions", self._sessions, methods=["GET"]),
            Route("/api/sessions/{bead_id:path}/conversation", self._conversation, methods=["GET"]),
        ]

    async def _sessions(self, request: Request) -> Response:
        return await self._answer("agents.sessions", request, _NUMBERS, {})

    async def _conversation(self, request: Request) -> Response:
        bead_id = {"bead_id": request.path_params["bead_id"]}
        return await self._answer("agents.conversation", request, (*_NUMBERS, "cursor"), bead_id)

    async def _answer(
        self, cmd: str, request: Request, numbers: tuple[str, ...], args: dict[str, Any]
    ) -> Response:
        given: dict[str, Any] = {"budget_profile": "audit"}
        if workspace := request.headers.get(WORKSPACE_HEADER):
            given["workspace"] = workspace
        for name, text in request.query_params.items():
            short = len(text) < 20 and text.isascii() and text.isdigit()
            given[name] = int(text) if name in numbers and short else text
            if name == "open_only":
                given[name] = _FLAGS.get(text, text)
        caller = caller_of(request.scope)
        return respond(await self._dispatcher.call_async(cmd, {**given, **args}, caller))
