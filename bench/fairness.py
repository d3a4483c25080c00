"""One token misbehaves in every way it can; another's calls stay near their quiet time.

Each figure is the median time of the other token's calls while the first keeps the server busy,
against the same calls in between, when the server has finished with the first one's: reads of a
large artifact, searches of transcripts, catch-up streams, commands run as tasks, large requests.
`revoked` is how long the stream of a revoked token lives on, beside 500 catch-up streams. On both
databases.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from statistics import median
from typing import Any

from bench._harness import report
from bench._servers import Up, serving
from tools.postgres import Postgres

ROUNDS = 4
CALLS = 12
PART = 1_000_000
PARTS = 24
NOTES = 1_500
SESSION_LINES = 20_000
WARM_S = 1.0
DRAIN_S = 30.0
PROMISE = "<=3.0"
WAYS = ("artifact", "transcripts", "streams", "tasks", "bodies", "messages", "revoked")
CROWD = {
    "artifact": 60,
    "transcripts": 16,
    "streams": 200,
    "tasks": 8,
    "bodies": 16,
    "messages": 16,
    "revoked": 500,
}
LARGE = json.dumps({"content": "x", "meta": {"list": ["y"] * 200_000}}).encode()
MESSAGE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "docs", "arguments": {"args": {"list": ["y"] * 200_000}}},
    }
).encode()


class Client:
    """One connection of one token."""

    def __init__(self, url: str, token: str) -> None:
        self._http = HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def _answer(self, method: str, path: str, body: bytes | None = None) -> HTTPResponse:
        accept = {"accept": "application/json, text/event-stream"}
        for left in (1, 0):
            try:
                self._http.request(method, path, body, self._headers | accept)
                return self._http.getresponse()
            except (ConnectionError, HTTPException):  # closed, because it was idle for a while
                self._http.close()
                if not left:
                    raise
        raise AssertionError

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        body = json.dumps(args).encode()
        answer: dict[str, Any] = json.loads(self._answer("POST", f"/call/{cmd}", body).read())
        return answer

    def result(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        answer = self(cmd, **args)
        assert answer["success"], answer["error"]
        found: dict[str, Any] = answer["result"]
        return found

    def follow(self) -> HTTPResponse:
        return self._answer("GET", "/events?after=0")

    def post(self, path: str, body: bytes) -> None:
        self._answer("POST", path, body).read()

    def open_requests(self) -> int:
        text = self._answer("GET", "/metrics").read().decode()
        return int(text.split("\nlonghouse_requests_open ")[1].split()[0])


def misbehave(way: str, url: str, token: str, artifact: str, folder: str) -> None:
    """The other process: many threads that never stop asking.

    It steps back, as if it were on another machine: only the server's time is to be shared.
    """
    import threading

    os.nice(19)

    def forever(work: Callable[[Client], object]) -> None:
        while True:
            try:
                client = Client(url, token)
                while True:
                    work(client)
            except (OSError, ValueError):
                time.sleep(0.05)

    works: dict[str, Callable[[Client], object]] = {
        "artifact": lambda c: c("docs.artifact.show", id=artifact, offset_bytes=0),
        "transcripts": lambda c: c("docs.transcripts.search", query="never said", root_dir=folder),
        "streams": lambda c: c.follow().read(),
        "tasks": lambda c: c("tool.task_spawn", tool="docs.show", args={"doc_kind": "notes"}),
        "bodies": lambda c: c.post("/call/vcs.notes.commit", LARGE),
        "messages": lambda c: c.post("/mcp", MESSAGE),
        "revoked": lambda c: c.follow().read(),
    }
    for _ in range(CROWD[way]):
        threading.Thread(target=forever, args=(works[way],), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.readline()


@contextmanager
def noise(way: str, up: Up, *given: str) -> Iterator[None]:
    argv = [sys.executable, "-m", "bench.fairness", way, up.url, *given]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(WARM_S)
        yield
    finally:
        process.kill()
        process.communicate()


def calls(client: Client) -> list[float]:
    """The times of another token's reads and writes."""
    taken = []
    for number in range(CALLS):
        started = time.perf_counter()
        client.result("status")
        client.result("vcs.notes.commit", content=f"calm {number}", workspace="calm")
        taken.append(time.perf_counter() - started)
    return taken


def revocations(person: Client, url: str) -> list[float]:
    """How long a stream lives on after its token was revoked."""
    taken = []
    for _ in range(CALLS // 4):
        made = person.result("system.token.create", role="agent")
        stream = Client(url, made["token"]).follow()
        stream.readline()
        started = time.perf_counter()
        person.result("system.token.revoke", id=made["id"])
        with suppress(OSError, HTTPException):
            while stream.readline():
                pass
        taken.append(time.perf_counter() - started)
    return taken


def drain(person: Client) -> None:
    """Wait until the server has answered, or dropped, what the noise asked for."""
    ends = time.monotonic() + DRAIN_S
    while person.open_requests() > 1 and time.monotonic() < ends:
        time.sleep(0.1)


def stored(person: Client) -> str:
    """A large binary artifact, put together from parts; its id."""
    parts, digest = [], hashlib.sha256()
    for number in range(PARTS):
        data = bytes([number, 255]) * (PART // 2)
        digest.update(data)
        coded = base64.b64encode(data).decode()
        added = person.result("docs.artifact.add", content_b64=coded, name=f"part {number}")
        parts.append(added["artifact"]["ref"])
    sha256 = digest.hexdigest()
    whole = person.result("docs.artifact.join", parts=parts, name="whole", digest=sha256)
    return str(whole["artifact"]["ref"])


def conversation(base: Path) -> None:
    """A long session of the project, in the folder of transcripts."""
    path = base / "transcripts" / "session.jsonl"
    path.parent.mkdir()
    head = {"type": "session_meta", "payload": {"id": "s", "cwd": str(base)}}
    part = {"type": "input_text", "text": "some words about the work, and some more " * 20}
    said = {"type": "message", "role": "user", "content": [part]}
    line = json.dumps({"type": "response_item", "payload": said})
    path.write_text("\n".join([json.dumps(head)] + [line] * SESSION_LINES) + "\n")


def measure(name: str, db: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        conversation(base)
        with serving(base, db, "full-auto") as up:
            person = Client(up.url, up.token)
            for number in range(NOTES):
                person.result("vcs.notes.commit", content=f"note {number} " + "word " * 20)
            artifact = stored(person)
            calm = person.result("system.token.create", role="agent")["token"]
            client = Client(up.url, calm)
            calls(client)
            for way in WAYS:
                # Agents do not read transcripts.
                role = "manager" if way == "transcripts" else "agent"
                busy = person.result("system.token.create", role=role)["token"]
                quiet: list[float] = []
                noisy: list[float] = []
                for _ in range(ROUNDS):
                    drain(person)
                    ask = partial(revocations, person, up.url)
                    ask = ask if way == "revoked" else partial(calls, client)
                    quiet += ask()
                    with noise(way, up, busy, artifact, str(base / "transcripts")):
                        noisy += ask()
                shown = f"quiet {median(quiet) * 1000:.1f} ms, noisy {median(noisy) * 1000:.1f} ms"
                print(f"# fair-{way}-{name} {shown}")
                report(f"fair-{way}-{name}", median(noisy) / median(quiet), PROMISE)


def main() -> None:
    measure("sqlite", None)
    server = Postgres()
    try:
        measure("postgres", server.url())
    finally:
        server.stop()


if __name__ == "__main__":
    misbehave(*sys.argv[1:]) if sys.argv[1:] else main()
