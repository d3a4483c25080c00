"""A client that misbehaves in one way until its input ends: `python -m bench._abuse WAY …`.

It runs in a process of its own, at the lowest priority: on a machine with few cores a client that
never stops also takes the processor from whoever is measured, and that would be the scheduler's
unfairness, not the server's. What the server does for it runs at the server's own priority. At the
end it prints how many answers it got, and how many of them were refusals, so that a figure without
abuse behind it shows.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from string import Template
from typing import Any, NamedTuple
from urllib.parse import urlsplit

LIST = ["y"] * 200_000
WORKSPACES = 40
PROTOCOL = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Target(NamedTuple):
    """What the abuser knows: the server, its tokens, and what there is to ask for."""

    url: str
    tokens: tuple[str, ...]
    artifact: str
    folder: str


class Abuse(NamedTuple):
    """One way to misbehave: how many connections, what each sends, and whether it is closed."""

    connections: int
    request: Callable[[Target, int], bytes]
    reconnects: bool = False


def wire(target: Target, method: str, path: str, body: bytes = b"", **more: str) -> bytes:
    headers = {
        "host": urlsplit(target.url).netloc,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
    } | {name.replace("_", "-"): value for name, value in more.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def bearer(target: Target, number: int) -> str:
    return f"Bearer {target.tokens[number % len(target.tokens)]}"


def call(cmd: str, **args: Any) -> Callable[[Target, int], bytes]:
    """A call; `$` words in it stand for what is in the target, and the number of the request."""
    text = json.dumps(args)

    def made(target: Target, number: int) -> bytes:
        body = text
        if "$" in text:
            given = {"artifact": target.artifact, "folder": target.folder, "number": number}
            body = Template(text).substitute(given, crowd=f"crowd-{number % WORKSPACES}")
        path = f"/call/{cmd}"
        return wire(target, "POST", path, body.encode(), authorization=bearer(target, number))

    return made


def message(method: str, **meta: Any) -> Callable[[Target, int], bytes]:
    """A message that only the SDK answers."""
    params = {"_meta": META | meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    routing = {"mcp-protocol-version": PROTOCOL, "mcp-method": method}

    def made(target: Target, number: int) -> bytes:
        more = {"authorization": bearer(target, number), **routing}
        return wire(target, "POST", "/mcp", body, **more)

    return made


def stream(target: Target, number: int) -> bytes:
    return wire(target, "GET", "/events?after=0", authorization=bearer(target, number))


def knock(target: Target, number: int) -> bytes:
    """A call with no token, or with one that nobody made."""
    invented = {"authorization": f"Bearer lh_{random.randbytes(24).hex()}"} if number % 2 else {}
    return wire(target, "POST", "/call/status", b"{}", **invented)


WAYS = {
    "artifact": Abuse(60, call("docs.artifact.show", id="$artifact", offset_bytes=0)),
    "transcripts": Abuse(60, call("docs.transcripts.search", query="never", root_dir="$folder")),
    "streams": Abuse(500, stream),
    "tasks": Abuse(16, call("tool.task_spawn", tool="docs.show", args={"doc_kind": "notes"})),
    "bodies": Abuse(16, call("vcs.notes.commit", content="x", meta={"list": LIST})),
    "messages": Abuse(16, message("tools/list", list=LIST)),
    "lists": Abuse(100, message("tools/list")),
    "reads": Abuse(200, call("status")),
    "two": Abuse(200, call("status")),
    "writes": Abuse(200, call("vcs.notes.commit", content="note $number")),
    "workspaces": Abuse(200, call("vcs.notes.commit", content="note", workspace="$crowd")),
    "errors": Abuse(200, call("task.lst", plann="PLAN-1")),
    "waits": Abuse(380, call("jobs.wait", job="JOB-001", timeout_ms=20_000, workspace="calm")),
    "knocks": Abuse(200, knock, reconnects=True),
    "revoked": Abuse(500, stream),
}


class Counts:
    answered = refused = 0


async def crowd(abuse: Abuse, target: Target) -> None:
    numbers = itertools.count()
    tasks = [asyncio.create_task(forever(abuse, target, numbers)) for _ in range(abuse.connections)]
    await asyncio.wait(tasks, timeout=0)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps([Counts.answered, Counts.refused]), flush=True)
    os._exit(0)


async def forever(abuse: Abuse, target: Target, numbers: Iterator[int]) -> None:
    address = urlsplit(target.url)
    while True:
        try:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            while True:
                writer.write(abuse.request(target, next(numbers)))
                await answered(reader)
                if abuse.reconnects:
                    writer.close()
                    break
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.05)


async def answered(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    Counts.answered += 1
    Counts.refused += not head.startswith(b"http/1.1 200")
    if b"content-length:" in head:
        await reader.readexactly(int(head.split(b"content-length:")[1].split()[0]))
        return
    while size := int(await reader.readline(), 16):  # a stream: it ends with the server
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


def main(way: str, url: str, artifact: str, folder: str, *tokens: str) -> None:
    os.nice(19)
    asyncio.run(crowd(WAYS[way], Target(url, tokens, artifact, folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
