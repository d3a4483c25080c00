"""One token misbehaves in every way it can; another's calls stay near their quiet time.

What counts is what another agent notices: how long its calls take while the abuse goes on. A calm
client with a token and a workspace of its own reads (`status`) and writes (a note) in turn, with
pauses, over one connection. Quiet and noisy stretches alternate within one run, on one server with
one store. For each way to misbehave (`bench/_abuse.py`) there are two figures, each the worse of
reads and writes: the median of all noisy calls against the median of all quiet ones, and the same
for the 95th percentile. A call that is refused fails the benchmark.

The abuser is a separate process at the lowest priority, so that the server's unfairness is
measured and not the scheduler's; the comment above each figure says how many answers it got.

`revoked` is how long the stream of a revoked token lives on beside 500 streams of another: the
median against that of quiet ones, and the slowest against the second that is promised.

`python -m bench.fairness sqlite reads writes` measures only these.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from statistics import median
from typing import Any

from bench._abuse import WAYS
from bench._harness import report
from bench._servers import Up, serving
from tools.postgres import Postgres

ROUNDS = 5
CALLS = 20
PAUSE_S = 0.004
PART = 1_000_000
PARTS = 24
NOTES = 1_500
SESSION_LINES = 20_000
WARM_S = 1.0
DRAIN_S = 30.0
PROMISE = "<=3.0"
PROMISED_S = 1.0
"""Within how long a revocation takes effect."""
ABUSERS = 2

Times = dict[str, list[float]]


class Client:
    """One connection of one token."""

    def __init__(self, url: str, token: str) -> None:
        self._http = HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def _answer(self, method: str, path: str, body: bytes | None = None) -> HTTPResponse:
        for left in (1, 0):
            try:
                self._http.request(method, path, body, self._headers)
                return self._http.getresponse()
            except (ConnectionError, HTTPException):  # closed, because it was idle for a while
                self._http.close()
                if not left:
                    raise
        raise AssertionError

    def result(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        body = json.dumps(args).encode()
        answer: dict[str, Any] = json.loads(self._answer("POST", f"/call/{cmd}", body).read())
        assert answer["success"], answer["error"]
        found: dict[str, Any] = answer["result"]
        return found

    def follow(self) -> HTTPResponse:
        return self._answer("GET", "/events?after=0")

    def open_requests(self) -> int:
        text = self._answer("GET", "/metrics").read().decode()
        return int(text.split("\nlonghouse_requests_open ")[1].split()[0])


@contextmanager
def abuse(way: str, up: Up, *given: str) -> Iterator[list[int]]:
    """Somebody who misbehaves meanwhile; yields how many answers, and refusals, it got."""
    argv = [sys.executable, "-m", "bench._abuse", way, up.url, *given]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    counts: list[int] = []
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(WARM_S)
        yield counts
        told, _ = process.communicate("\n", timeout=30)
        counts += json.loads(told)
    finally:
        process.kill()
        process.communicate()


def calls(client: Client, times: Times) -> None:
    """Add the times of another token's reads and writes."""
    for number in range(CALLS):
        for kind, cmd, args in (
            ("reads", "status", {}),
            ("writes", "vcs.notes.commit", {"content": f"calm {number}"}),
        ):
            time.sleep(PAUSE_S)
            started = time.perf_counter()
            client.result(cmd, workspace="calm", **args)
            times.setdefault(kind, []).append(time.perf_counter() - started)


def revocations(person: Client, url: str, times: Times) -> None:
    """Add how long a stream lives on after its token was revoked."""
    for _ in range(CALLS // 4):
        made = person.result("system.token.create", role="agent")
        stream = Client(url, made["token"]).follow()
        stream.readline()
        started = time.perf_counter()
        person.result("system.token.revoke", id=made["id"])
        with suppress(OSError, HTTPException):
            while stream.readline():
                pass
        times.setdefault("revoked", []).append(time.perf_counter() - started)


def drain(person: Client) -> None:
    """Wait until the server has answered, or dropped, what the abuser asked for."""
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


def furnish(person: Client) -> str:
    """Put into the store what there is to ask for; returns the large artifact."""
    for number in range(NOTES):
        person.result("vcs.notes.commit", content=f"note {number} " + "word " * 20)
    person.result("jobs.create", title="Wait for it", prompt="Wait", workspace="calm")
    return stored(person)


def high(times: Sequence[float]) -> float:
    """The 95th percentile."""
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def compare(id_: str, quiet: Times, noisy: Times, counts: Sequence[int]) -> None:
    for kind, taken in noisy.items():
        shown = " ".join(
            f"{name} {median(each) * 1000:.1f}/{high(each) * 1000:.1f}/{max(each) * 1000:.1f}"
            for name, each in (("quiet", quiet[kind]), ("noisy", taken))
        )
        print(f"# {id_} {kind}: median/95th/longest in ms, {shown}; abuser's answers {counts}")
    report(id_, max(median(noisy[kind]) / median(quiet[kind]) for kind in noisy), PROMISE)
    if "revoked" in noisy:
        report(f"{id_}-second", max(noisy["revoked"]) / PROMISED_S, "<=1.0")
    else:
        report(f"{id_}-p95", max(high(noisy[kind]) / high(quiet[kind]) for kind in noisy), PROMISE)


def measure(name: str, db: str | None, ways: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        conversation(base)
        with serving(base, db, "full-auto") as up:
            person = Client(up.url, up.token)
            artifact = furnish(person)
            client = Client(up.url, person.result("system.token.create", role="agent")["token"])
            calls(client, {})
            for way in ways:
                compare_way(f"fair-{way}-{name}", way, up, client, artifact, base)


def compare_way(id_: str, way: str, up: Up, client: Client, artifact: str, base: Path) -> None:
    person = Client(up.url, up.token)
    role = "manager" if way == "transcripts" else "agent"  # agents do not read transcripts
    many = ABUSERS if way == "two" else 1
    tokens = [person.result("system.token.create", role=role)["token"] for _ in range(many)]
    quiet: Times = {}
    noisy: Times = {}
    counts = [0, 0]

    def ask(times: Times) -> None:
        if way == "revoked":
            revocations(person, up.url, times)
        else:
            calls(client, times)

    for _ in range(ROUNDS):
        drain(person)
        ask(quiet)
        with abuse(way, up, artifact, str(base / "transcripts"), *tokens) as told:
            ask(noisy)
        counts = [before + more for before, more in zip(counts, told, strict=True)]
    compare(id_, quiet, noisy, counts)


def main(*wanted: str) -> None:
    ways = [way for way in WAYS if way in wanted] or list(WAYS)
    databases = [name for name in ("sqlite", "postgres") if name in wanted]
    if "sqlite" in databases or not databases:
        measure("sqlite", None, ways)
    if "postgres" in databases or not databases:
        server = Postgres()
        try:
            measure("postgres", server.url(), ways)
        finally:
            server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
