"""A model that plays what a test has written down, for the real command lines of Codex and Claude.

It listens on loopback and speaks their two streaming APIs. Each request of an agent gets the next
step of the play; what the agent's tools answered is kept for the test to look at.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from tests.clients.scripted import claude, codex

SERVER = "longhouse"

__all__ = [
    "Call",
    "Drop",
    "Fail",
    "Finish",
    "Model",
    "Say",
    "Shell",
    "Step",
    "Turn",
    "Use",
    "after",
]


class Call(NamedTuple):
    """Call a tool of ours."""

    tool: str
    arguments: dict[str, Any] = {}


class Shell(NamedTuple):
    """Run a command with the client's own tool."""

    command: str


class Use(NamedTuple):
    """Use another tool of the client's own."""

    name: str
    arguments: dict[str, Any]


class Say(NamedTuple):
    """Say this, and be done."""

    text: str


class Finish(NamedTuple):
    """Answer in the shape that the client was told to ask for, and be done."""

    answer: dict[str, Any]


class Fail(NamedTuple):
    """Answer with an HTTP status, as an overloaded service does."""

    status: int


class Drop(NamedTuple):
    """Begin to answer, and hang up."""


Step = Call | Shell | Use | Say | Finish | Fail | Drop
Turn = Step | Callable[["Model"], Step]
"""A step, or what makes one from what has happened so far; it may wait, or do something first."""


class Model(ThreadingHTTPServer):
    """Plays one script; `results` are the texts that the tools gave back, in order.

    `asked` is every request as the client sent it.
    """

    daemon_threads = True

    def __init__(self, *turns: Turn) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.turns = list(turns)
        self.results: list[str] = []
        self.offered: list[str] = []
        self.asked: list[str] = []
        self.requests = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def last(self) -> dict[str, Any]:
        """The newest answer, as an envelope."""
        envelope: dict[str, Any] = json.loads(self.results[-1])
        return envelope

    def next_step(self, results: list[str]) -> Step:
        with self._lock:
            self.requests += 1
            self.results = results
            turn = self.turns.pop(0) if self.turns else Say("the script is over")
        return turn(self) if callable(turn) else turn

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


def after(seconds: float, step: Step) -> Callable[[Model], Step]:
    """A model that thinks for a while."""

    def wait(_model: Model) -> Step:
        time.sleep(seconds)
        return step

    return wait


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json(404, {})

    def do_GET(self) -> None:
        models = {"object": "list", "data": [], "models": [], "has_more": False}
        self._json(200 if "/models" in self.path else 404, models)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        speech = {"/v1/messages": claude, "/v1/responses": codex}.get(path)
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": 100})
        elif speech is None:
            self._json(404, {"error": {"message": "not found"}})
        else:
            self._play(speech, body)

    def _play(self, speech: Any, body: dict[str, Any]) -> None:
        asked = speech.understand(body)
        self.server.asked.append(json.dumps(body, ensure_ascii=False))
        self.server.offered = asked.tools or self.server.offered
        if asked.aside:
            step: Any = Say("ok")
        else:
            step = self.server.next_step(asked.results)
        if isinstance(step, Fail):
            self._json(step.status, speech.failure(step.status))
            return
        if isinstance(step, Call):
            output = speech.call(asked, SERVER, step.tool, step.arguments)
            if output is None:  # the client holds its tools back until they are searched for
                output = speech.search(SERVER, step.tool)
                self.server.turns.insert(0, step)
        elif isinstance(step, Shell):
            output = speech.shell(step.command)
        elif isinstance(step, Use):
            output = speech.use(step.name, step.arguments)
        elif isinstance(step, Finish):
            output = speech.finish(asked, step.answer)
        else:
            output = speech.say(step.text) if isinstance(step, Say) else step
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        events = speech.events(body, None if isinstance(step, Drop) else output)
        try:
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
        except OSError:
            pass  # the client was told to stop

    def _json(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
