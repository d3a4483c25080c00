"""`/tasks…`: background processes over HTTP.

Each path calls one registry command (`tool.*`) with its arguments from the path, the query or the
body. It answers with the plain object that the API promises; a refusal is an envelope.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from longhouse.dispatch import Dispatcher
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import asked_workspace, decoded
from longhouse.surfaces.http.responses import respond
from longhouse.surfaces.http.task_streams import TaskStreams

__all__ = ["ToolTasks"]

_NUMBERS = ("limit", "offset_bytes", "max_bytes", "tail", "port", "timeout_ms")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_NO_STORE = {"cache-control": "no-store"}


class ToolTasks:
    """The routes for background processes."""

    def __init__(self, dispatcher: Dispatcher, streams: TaskStreams) -> None:
        self._dispatcher = dispatcher
        self._streams = streams

    def routes(self) -> list[Route]:
        one = "/tasks/{task_id}"
        return [
            Route("/tasks", self._spawn, methods=["POST"]),
            Route("/tasks", self._list, methods=["GET"]),
            Route(one, self._status, methods=["GET"]),
            Route(f"{one}/events", self._streams.events, methods=["GET"]),
            Route(f"{one}/output", self._output, methods=["GET"]),
            Route(f"{one}/output/raw", self._streams.raw, methods=["GET"]),
            Route(f"{one}/wait", self._wait, methods=["GET"]),
            Route(f"{one}/snapshot", self._snapshot, methods=["GET"]),
            Route(f"{one}/cancel", self._cancel, methods=["POST"]),
            Route(f"{one}/stdin", self._control("tool.task_write_stdin"), methods=["POST"]),
            Route(f"{one}/resize", self._control("tool.task_resize"), methods=["POST"]),
            Route(f"{one}/signal", self._control("tool.task_signal"), methods=["POST"]),
        ]

    async def _spawn(self, request: Request) -> Response:
        answer = await self._post("tool.task_spawn", request, {})
        if not answer.success:
            return _refused(answer)
        task_id = answer.envelope["result"]["task_id"]
        headers = {"location": f"/tasks/{task_id}", **_NO_STORE}
        return JSONResponse({"task_id": task_id}, 201, headers)

    async def _list(self, request: Request) -> Response:
        return _plain(await self._get("tool.task_list", request, {}))

    async def _status(self, request: Request) -> Response:
        answer = await self._get("tool.task_status", request, _path(request))
        return _plain(answer, _with_screen)

    async def _snapshot(self, request: Request) -> Response:
        return _plain(await self._get("tool.task_snapshot", request, _path(request)))

    async def _wait(self, request: Request) -> Response:
        return _plain(await self._get("tool.task_wait", request, _path(request)))

    async def _output(self, request: Request) -> Response:
        try:
            lines = _lines(request.query_params.get("lines"))
        except LonghouseError as error:
            return respond(self._dispatcher.fail("tool.output_fetch", error))
        answer = await self._get("tool.output_fetch", request, _path(request) | lines)
        return _plain(answer, _output)

    async def _cancel(self, request: Request) -> Response:
        answer = await self._post("tool.task_cancel", request, _path(request))
        if not answer.success:
            return _refused(answer)
        result = answer.envelope["result"]
        task = result.get("task", result)  # a tiny budget may cut the task and its fields
        ended = task.get("ended_at_ms") is not None
        return JSONResponse(task, 200 if ended else 202, _NO_STORE)

    def _control(self, cmd: str) -> Any:
        async def answer(request: Request) -> Response:
            return _plain(await self._post(cmd, request, _path(request)), status=202)

        return answer

    async def _get(self, cmd: str, request: Request, args: dict[str, Any]) -> Answer:
        given: dict[str, Any] = {"budget_profile": "audit"}
        for name, text in request.query_params.items():
            short = len(text) < 20 and text.isascii() and text.isdigit()
            given[name] = int(text) if name in _NUMBERS and short else text
        if given.get("screen") in _FLAGS:
            given["screen"] = _FLAGS[given["screen"]]
        given.pop("lines", None)
        if "tail" in given:
            given["tail_lines"] = given.pop("tail")
        return await self._call(cmd, request, {**given, **args})

    async def _post(self, cmd: str, request: Request, args: dict[str, Any]) -> Answer:
        body = await request.body()
        try:
            given = await decoded(self._dispatcher, caller_of(request.scope), body)
            if not isinstance(given, dict):
                raise InvalidInput('body: expected an object; fix: {"tool": "bash"}')
        except LonghouseError as error:
            return self._dispatcher.fail(cmd, error)
        if key := request.headers.get("idempotency-key"):
            given.setdefault("idempotency_key", key)
        return await self._call(cmd, request, {**given, **args})

    async def _call(self, cmd: str, request: Request, args: dict[str, Any]) -> Answer:
        if workspace := asked_workspace(request):
            args.setdefault("workspace", workspace)
        return await self._dispatcher.call_async(cmd, args, caller_of(request.scope))


def _path(request: Request) -> dict[str, Any]:
    return {"task_id": request.path_params["task_id"]}


def _plain(answer: Answer, shown: Any = lambda result: result, status: int = 200) -> Response:
    if not answer.success:
        return _refused(answer)
    return JSONResponse(shown(answer.envelope["result"]), status, _NO_STORE)


def _with_screen(result: dict[str, Any]) -> dict[str, Any]:
    """A task, with its terminal's screen if that was requested."""
    task: dict[str, Any] = result["task"]
    return {**task, "screen": result["screen"]} if result.get("screen") else task


def _refused(answer: Answer) -> Response:
    """The envelope; if the refused task was still recorded, its id is in the error."""
    error = answer.envelope["error"]
    for hint in error.get("hints", ()):
        if "task_id" in hint:
            error["task_id"] = hint["task_id"]
    return respond(answer)


def _output(result: dict[str, Any]) -> dict[str, Any]:
    """A range of output with the field names of the HTTP API."""
    parts = result["parts"]
    start = result["offset_bytes"]
    end = parts[-1]["next_offset"] if parts else start
    more = result["has_more"]
    return {
        "task_id": result["task_id"],
        "stream": result["stream"],
        "content": "".join(part["text"] for part in parts),
        "offset_bytes": start,
        "bytes": end - start,
        "total_bytes": result["total_bytes"],
        "truncated": more,
        "artifact_id": result["artifact_id"],
        "path": result["path"],
        "next_offset": result["next_cursor"],
        "eof": not more and result["status"] in ("exited", "cancelled", "failed"),
        "capped": result["capped"],
        "gap": result["gap"],
        "first_line": result["first_line"],
    }


def _lines(text: str | None) -> dict[str, Any]:
    """`lines=3-10` as the first line and the number of lines."""
    if text is None:
        return {}
    first, dash, last = text.partition("-")
    numbers = [part for part in (first, last) if part.isascii() and part.isdigit()]
    if not dash or len(numbers) != 2 or len(text) > 24 or not 1 <= int(first) <= int(last):
        raise InvalidInput(f"lines: expected FROM-TO, not {text[:40]!r}; fix: lines=1-20")
    return {"line": int(first), "max_lines": min(int(last) - int(first) + 1, 100_000)}
