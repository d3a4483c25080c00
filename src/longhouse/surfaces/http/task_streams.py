"""Streaming responses: a task's frames as server-sent events, its output bytes by Range.

Events are read from the store by seq, page by page, so a late, slow or reconnecting client sees the
same frames; the stream ends after the last one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from longhouse.dispatch import Dispatcher
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.tool_tasks import ENDED
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import asked_workspace
from longhouse.surfaces.http.responses import respond

__all__ = ["RangeNotSatisfiable", "TaskStreams"]

_BEAT_MS = 15_000
_PAGE = 64
_BLOCK = 49_152
_HEADERS = {"cache-control": "no-store, no-transform", "x-accel-buffering": "no"}
_RANGE = re.compile(r"bytes=(\d{0,16})-(\d{0,16})\Z")


class RangeNotSatisfiable(InvalidInput):
    """There are no bytes in that range."""

    code = "RANGE_NOT_SATISFIABLE"
    status = 416


class TaskStreams:
    """Streams one task to one client."""

    def __init__(self, dispatcher: Dispatcher, closing: Callable[[], bool]) -> None:
        self._dispatcher = dispatcher
        self._closing = closing

    async def events(self, request: Request) -> Response:
        """Frames after `Last-Event-ID` or `?after_seq=` as they arrive, until the last one."""
        cmd = "tool.task_stream_events"
        last = request.headers.get("last-event-id") or request.query_params.get("after_seq", "-1")
        if not re.fullmatch(r"-1|[0-9]{1,16}", last):
            error = InvalidInput(f"Last-Event-ID: expected a seq, not {last[:40]!r}")
            return respond(self._dispatcher.fail(cmd, error))
        args = {"task_id": request.path_params["task_id"], "after_seq": int(last)}
        args |= {"limit": _PAGE, "budget_profile": "audit"}
        first = await self._call(cmd, request, args)
        if not first.success:
            return respond(first)
        wire = self._wire(cmd, request, args, first)
        return StreamingResponse(wire, 200, _HEADERS, "text/event-stream; charset=utf-8")

    async def raw(self, request: Request) -> Response:
        """The raw bytes: everything that is kept, or a range by stream offset."""
        query = request.query_params
        args: dict[str, Any] = {"task_id": request.path_params["task_id"]}
        if "stream" in query:
            args["stream"] = query["stream"]
        args |= {"budget_profile": "audit", "max_bytes": _BLOCK}
        head = await self._raw(request, {**args, "max_bytes": 1})
        if not head.success:
            return respond(head)
        total, gap = head.envelope["result"]["total_bytes"], head.envelope["result"]["gap"]
        asked = _RANGE.match(request.headers.get("range", ""))
        headers = {"accept-ranges": "bytes", "cache-control": "no-store"}
        if gap:
            headers["longhouse-gap"] = f"{gap['from']}-{gap['to']}"
        if asked is None or not (asked[1] or asked[2]):
            kept = [(0, gap["from"]), (gap["to"], total)] if gap else [(0, total)]
            headers["content-length"] = str(sum(end - start for start, end in kept))
            return StreamingResponse(
                self._bytes(request, args, kept), 200, headers, "application/octet-stream"
            )
        start, end = _asked_range(asked, total)
        if gap and start < gap["from"]:
            end = min(end, gap["from"])
        if start >= end or (gap and gap["from"] <= start < gap["to"]):
            where = f"; {gap['from']} to {gap['to']} was not kept" if gap else ""
            refused = RangeNotSatisfiable(f"Range: the log has {total} bytes{where}")
            response = respond(self._dispatcher.fail("tool.output_raw", refused))
            response.headers["content-range"] = f"bytes */{total}"
            return response
        headers["content-range"] = f"bytes {start}-{end - 1}/{total}"
        headers["content-length"] = str(end - start)
        return StreamingResponse(
            self._bytes(request, args, [(start, end)]), 206, headers, "application/octet-stream"
        )

    async def _wire(
        self, cmd: str, request: Request, args: dict[str, Any], answer: Answer
    ) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        while answer.success and not self._closing():
            page = answer.envelope["result"]
            for frame in page["frames"]:
                yield b"id: %d\ndata: %s\n\n" % (frame["seq"], msgspec.json.encode(frame))
            if page["status"] in ENDED and not page["has_more"]:
                return
            if not page["frames"]:
                yield b": ping\n\n"
            after = {"after_seq": page["next_cursor"], "timeout_ms": _BEAT_MS}
            answer = await self._call(cmd, request, {**args, **after})

    async def _bytes(
        self, request: Request, args: dict[str, Any], ranges: list[tuple[int, int]]
    ) -> AsyncIterator[bytes]:
        for start, end in ranges:
            at = start
            while at < end:
                block = {**args, "offset_bytes": at, "max_bytes": min(_BLOCK, end - at)}
                answer = await self._raw(request, block)
                data = base64.b64decode(answer.envelope.get("result", {}).get("data_b64", ""))
                if not data:
                    return  # shorter than Content-Length, so the client sees it is incomplete
                yield data
                at += len(data)

    async def _raw(self, request: Request, args: dict[str, Any]) -> Answer:
        return await self._call("tool.output_raw", request, args)

    async def _call(self, cmd: str, request: Request, args: dict[str, Any]) -> Answer:
        workspace = asked_workspace(request)
        given = {**args, "workspace": workspace} if workspace else args
        return await self._dispatcher.call_async(cmd, given, caller_of(request.scope))


def _asked_range(asked: re.Match[str], total: int) -> tuple[int, int]:
    """The half-open range; `-5` asks for the last five bytes."""
    if not asked[1]:
        return max(0, total - int(asked[2])), total
    last = int(asked[2]) + 1 if asked[2] else total
    return int(asked[1]), min(last, total)
