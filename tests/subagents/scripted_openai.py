"""A local stand-in for an OpenAI-compatible endpoint: answers each request with the next line."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def says(text: str | None, *, tokens: int = 0, finish: str = "stop") -> dict[str, Any]:
    return _answer({"role": "assistant", "content": text}, tokens, finish)


def calls(*tools: tuple[str, Any], tokens: int = 0) -> dict[str, Any]:
    wanted = [
        {
            "id": f"call-{index}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for index, (name, given) in enumerate(tools)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": wanted}
    return _answer(message, tokens, "tool_calls")


def _answer(message: dict[str, Any], tokens: int, finish: str) -> dict[str, Any]:
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens},
    }


class ScriptedServer:
    def __init__(self, script: Iterable[dict[str, Any] | tuple[int, Any]]) -> None:
        self._script = iter(script)
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.url = ""

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            self.requests.append(body)
            line = next(self._script)
        return line if isinstance(line, tuple) else (200, line)


@contextmanager
def scripted(*script: dict[str, Any] | tuple[int, Any]) -> Iterator[ScriptedServer]:
    server = ScriptedServer(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            status, answer = server.answer(json.loads(self.rfile.read(length)))
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_port}/v1"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
