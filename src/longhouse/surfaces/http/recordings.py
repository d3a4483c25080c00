"""`GET /tasks/{id}/recording` and `POST /recordings`: export and import recordings.

Both call registry commands (`tool.recording_export`, `tool.recording_import`), which decide who may
read a recording, what is masked in it, and what is refused.
"""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from longhouse.dispatch import Dispatcher
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import asked_workspace
from longhouse.surfaces.http.responses import respond
from longhouse.terminals import AsciicastWriter
from longhouse.terminals import recording as rec

__all__ = ["Recordings"]

_EXPORT, _IMPORT = "tool.recording_export", "tool.recording_import"
_KINDS = {
    "longhouse": ("jsonl", "application/x-ndjson"),
    "asciicast": ("cast", "application/x-asciicast"),
}
MOST_BYTES = 1_000_000
"""The largest file that one request may import."""


class Recordings:
    """The routes for recordings."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def routes(self) -> list[Route]:
        return [
            Route("/tasks/{task_id}/recording", self._export, methods=["GET"]),
            Route("/recordings", self._import, methods=["POST"]),
        ]

    async def _export(self, request: Request) -> Response:
        """The file, page by page; nothing is sent until the first page has been read."""
        args = {**request.query_params, "task_id": request.path_params["task_id"]}
        args.pop("cursor", None)  # a download is the whole file
        kind = args.pop("format", "longhouse")
        if kind not in _KINDS:
            error = InvalidInput(
                f"format: unknown format {kind[:40]!r}; fix: format=asciicast",
                recovery="use longhouse or asciicast",
            )
            return respond(self._dispatcher.fail(_EXPORT, error))
        first = await self._call(_EXPORT, request, args)
        if not first.success:
            return respond(first)
        writer = AsciicastWriter() if kind == "asciicast" else None
        try:
            begun = _written(first, writer)
        except rec.BadRecording as why:
            error = InvalidInput(f"format: {why}", recovery="omit format")
            return respond(self._dispatcher.fail(_EXPORT, error))
        ending, media_type = _KINDS[kind]
        name = re.sub(r"[^A-Za-z0-9._-]", "_", first.envelope["result"]["task_id"])
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="{name}.{ending}"',
        }
        pages = self._pages(request, args, first, begun, writer)
        return StreamingResponse(pages, 200, headers, media_type)

    async def _pages(
        self,
        request: Request,
        args: dict[str, Any],
        answer: Answer,
        written: bytes,
        writer: AsciicastWriter | None,
    ) -> AsyncIterator[bytes]:
        yield written
        while cursor := answer.envelope["result"]["next_cursor"]:
            answer = await self._call(_EXPORT, request, {**args, "cursor": cursor})
            if not answer.success:  # break off, so that the file is not taken for complete
                raise ConnectionAbortedError(answer.envelope["error"]["message"])
            yield _written(answer, writer)

    async def _import(self, request: Request) -> Response:
        """Import a file in either format as a finished task."""
        body = await request.body()
        if len(body) > MOST_BYTES:
            error = InvalidInput(
                f"body: the recording is {len(body)} bytes long; at most {MOST_BYTES}",
                recovery="send it in parts with the command line: longhouse recording import FILE",
            )
            return respond(self._dispatcher.fail(_IMPORT, error))
        args: dict[str, Any] = {"content_b64": base64.b64encode(body).decode()}
        if key := request.headers.get("idempotency-key"):
            args["idempotency_key"] = key
        answer = await self._call(_IMPORT, request, {**request.query_params, **args})
        if not answer.success:
            return respond(answer)
        task_id = answer.envelope["result"]["task"]["task_id"]
        headers = {"location": f"/tasks/{task_id}", "cache-control": "no-store"}
        return JSONResponse({"task_id": task_id}, 201, headers)

    async def _call(self, cmd: str, request: Request, args: dict[str, Any]) -> Answer:
        if workspace := asked_workspace(request):
            args = {**args, "workspace": workspace}
        given = {**args, "budget_profile": "audit"}
        return await self._dispatcher.call_async(cmd, given, caller_of(request.scope))


def _written(page: Answer, writer: AsciicastWriter | None) -> bytes:
    """A page of a recording in the requested format."""
    data = base64.b64decode(page.envelope["result"]["data_b64"])
    if writer is None:
        return data
    told = (rec.decoded(line) for line in data.splitlines())
    return b"".join(line for one in told for line in writer.lines(one))
