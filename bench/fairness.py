"""One token misbehaves in every way it can; another's calls stay near their quiet time.

Each figure is the median time of the other token's calls while the first keeps the server busy,
against the same calls before, in one run: reads of a large artifact, catch-up streams, commands run
as tasks, large requests. On both databases.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

from bench._harness import report
from bench._servers import Up, serving
from tools.postgres import Postgres

CALLS = 40
PART = 1_000_000
PARTS = 24
NOTES = 1_500
WARM_S = 1.0
PROMISE = "<=3.0"
WAYS = ("artifact", "streams", "tasks", "bodies")
CROWD = {"artifact": 60, "streams": 200, "tasks": 8, "bodies": 16}


class Client:
    """One connection of one token."""

    def __init__(self, url: str, token: str) -> None:
        self._http = HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        body = json.dumps(args)
        try:
            self._http.request("POST", f"/call/{cmd}", body, self._headers)
        except ConnectionError:  # the server closed a connection that was idle for a while
            self._http.close()
            self._http.request("POST", f"/call/{cmd}", body, self._headers)
        answer: dict[str, Any] = json.loads(self._http.getresponse().read())
        return answer

    def result(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        answer = self(cmd, **args)
        assert answer["success"], answer["error"]
        found: dict[str, Any] = answer["result"]
        return found

    def follow(self) -> None:
        self._http.request("GET", "/events?after=0", headers=self._headers)
        self._http.getresponse().read()


def misbehave(way: str, url: str, token: str, artifact: str) -> None:
    """The other process: many threads that never stop asking."""
    import threading

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
        "streams": lambda c: c.follow(),
        "tasks": lambda c: c("tool.task_spawn", tool="docs.show", args={"doc_kind": "notes"}),
        "bodies": lambda c: c("vcs.notes.commit", content="x", tags=["y"] * 200_000),
    }
    for _ in range(CROWD[way]):
        threading.Thread(target=forever, args=(works[way],), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.readline()


@contextmanager
def noise(way: str, up: Up, token: str, artifact: str) -> Iterator[None]:
    argv = [sys.executable, "-m", "bench.fairness", way, up.url, token, artifact]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(WARM_S)
        yield
    finally:
        process.kill()
        process.communicate()


def seconds(client: Client) -> float:
    """The median time of another token's reads and writes."""
    taken = []
    for number in range(CALLS):
        started = time.perf_counter()
        client.result("status")
        client.result("vcs.notes.commit", content=f"calm {number}", workspace="calm")
        taken.append(time.perf_counter() - started)
    return median(taken)


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


def measure(name: str, db: str | None) -> None:
    with tempfile.TemporaryDirectory() as base, serving(Path(base), db, "full-auto") as up:
        person = Client(up.url, up.token)
        for number in range(NOTES):
            person.result("vcs.notes.commit", content=f"note {number} " + "word " * 20)
        artifact = stored(person)
        busy, calm = (person.result("system.token.create", role="agent")["token"] for _ in "ab")
        client = Client(up.url, calm)
        seconds(client)
        for way in WAYS:
            quiet = seconds(client)
            with noise(way, up, busy, artifact):
                noisy = seconds(client)
            print(f"# fair-{way}-{name} quiet {quiet * 1000:.1f} ms, noisy {noisy * 1000:.1f} ms")
            report(f"fair-{way}-{name}", noisy / quiet, PROMISE)


def main() -> None:
    measure("sqlite", None)
    server = Postgres()
    try:
        measure("postgres", server.url())
    finally:
        server.stop()


if __name__ == "__main__":
    misbehave(*sys.argv[1:]) if sys.argv[1:] else main()
