"""Events delivered per second to 200 subscribers, each of which receives 1,000 events in order.

The floor is a bare ASGI server that keeps the events in a list and sends each subscriber the new
ones on a wake-up: no store, no commit, no token. The same writers feed both over HTTP.
"""

from __future__ import annotations

import asyncio
import re
import time

import httpx2

from bench._harness import interleave, report
from bench._servers import Up, bare, longhouse

SUBSCRIBERS = 200
EVENTS = 1000
WRITERS = 16
ID = re.compile(rb"^id: (\d+)\nevent: (\w+)", re.MULTILINE)
FLOOR = """
import asyncio, json, socket
import uvicorn

log, moved = [], asyncio.Event()

async def app(scope, receive, send):
    global moved
    if scope["type"] != "http":
        return
    if scope["method"] == "POST":
        await receive()
        seq = len(log) + 1
        row = {"seq": seq, "ts_ms": 1794737070727, "stream": "memory", "subject": "notes",
               "kind": "note", "actor": None, "data": {"branch": "main", "title": None},
               "ref": f"notes@{seq}"}
        log.append(f"id: {seq}\\nevent: memory\\ndata: {json.dumps(row)}\\n\\n".encode())
        before, moved = moved, asyncio.Event()
        before.set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})
        return
    at = int(scope["query_string"].partition(b"after=")[2])
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b"id: 0\\nevent: hello\\ndata: {}\\n\\n",
                "more_body": True})
    end = at + 1000
    while at < end:
        if at == len(log):
            await moved.wait()
        batch, at = log[at:], len(log)
        await send({"type": "http.response.body", "body": b"".join(batch), "more_body": at < end})

listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
config = uvicorn.Config(app, lifespan="off", log_level="error", access_log=False,
                        timeout_graceful_shutdown=1)
uvicorn.Server(config).run(sockets=[listener])
"""


class Subscriber:
    """A connection that only reads; its data is checked when the race is over."""

    def __init__(self, up: Up, after: int) -> None:
        self._up = up
        self._after = after
        self._last = b"\nid: %d\n" % (after + EVENTS)
        self.ready = asyncio.Event()
        self._got = bytearray()

    async def run(self) -> None:
        host, port = self._up.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"GET /events?after={self._after} HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {self._up.token}\r\n\r\n".encode()
        )
        while self._last not in self._got[-4096:]:
            chunk = await reader.read(262_144)
            assert chunk, "the stream ended early"
            self._got += chunk
            self.ready.set()
        writer.close()

    def in_order(self) -> bool:
        plain = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", bytes(self._got))
        seen = [int(seq) for seq, name in ID.findall(plain) if name == b"memory"]
        return seen == list(range(self._after + 1, self._after + EVENTS + 1))


async def race(up: Up, after: int) -> tuple[float, int]:
    """Events delivered per second, and how many subscribers got all of them in order."""
    subscribers = [Subscriber(up, after) for _ in range(SUBSCRIBERS)]
    tasks = [asyncio.create_task(s.run()) for s in subscribers]
    for subscriber in subscribers:
        await subscriber.ready.wait()
    numbers = iter(range(EVENTS))

    async def write(http: httpx2.AsyncClient) -> None:
        for number in numbers:
            answer = await http.post("/call/vcs.notes.commit", json={"content": f"n{number}"})
            answer.raise_for_status()

    async with httpx2.AsyncClient(base_url=up.url, headers=up.headers, timeout=60) as http:
        started = time.perf_counter()
        await asyncio.gather(*(write(http) for _ in range(WRITERS)))
        await asyncio.gather(*tasks)
        taken = time.perf_counter() - started
    return SUBSCRIBERS * EVENTS / taken, sum(s.in_order() for s in subscribers)


def main() -> None:
    complete: list[int] = []
    with longhouse() as ours, bare(FLOOR) as floor:
        at = {"longhouse": 0, "floor": 0}

        def run(name: str, up: Up) -> float:
            rate, good = asyncio.run(race(up, at[name]))
            at[name] += EVENTS
            if name == "longhouse":
                complete.append(good)
            return rate

        figures = interleave(
            {"longhouse": lambda: run("longhouse", ours), "floor": lambda: run("floor", floor)},
            rounds=3,
        )
    report("sse-complete", min(complete) / SUBSCRIBERS, ">=1.0")
    report("sse-delivered", figures.ratio("longhouse", "floor"), ">=0.3", figures)


if __name__ == "__main__":
    main()
