"""The cost of the bridge: until it lists tools, until the first answer without a server, per call.

Clients drop a server that is slow to list its tools, so that figure includes starting the process.
The same SDK client makes a `status` call through the bridge and directly over HTTP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio.from_thread
from mcp import Client, StdioServerParameters

from bench._harness import interleave, report, timed
from bench._servers import Up
from bench.mcp import connected, contestant
from longhouse.client import locate

LONGHOUSE = str(Path(sys.executable).with_name("longhouse"))
ROUNDS = 25
COLD_ROUNDS = 5
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@contextmanager
def bridge(store: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [LONGHOUSE, "mcp", "--dir", str(store)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def ask(process: subprocess.Popen[bytes], method: str, params: dict[str, Any]) -> Any:
    assert process.stdin
    assert process.stdout
    message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())["result"]


def start_to_list(store: Path) -> float:
    started = time.perf_counter()
    with bridge(store) as process:
        ask(process, "initialize", HELLO)
        assert len(ask(process, "tools/list", {})["tools"]) == 10
        return time.perf_counter() - started


def start_to_first_answer(store: Path) -> float:
    started = time.perf_counter()
    with bridge(store) as process:
        ask(process, "initialize", HELLO)
        assert not ask(process, "tools/call", {"name": "status", "arguments": {}})["isError"]
        return time.perf_counter() - started


def cold(store: Path) -> float:
    """The same without a server; the one the bridge starts is stopped outside the measurement."""
    taken = start_to_first_answer(store)
    run(LONGHOUSE, "down", "--dir", str(store))
    return taken


@asynccontextmanager
async def through_bridge(store: Path) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=LONGHOUSE, args=["mcp", "--dir", str(store)], env=environment()
    )
    async with Client(parameters) as client:
        yield client


def calls(store: Path) -> None:
    running = locate.recorded(store)
    assert running
    up = Up(running.url, locate.token_of(store) or "", running.pid)
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connected(up)) as straight,
        portal.wrap_async_context_manager(through_bridge(store)) as bridged,
    ):
        figures = interleave(
            {
                "bridge": contestant(portal.call, bridged, "status"),
                "http": contestant(portal.call, straight, "status"),
            }
        )
    report("bridge-status", figures.ratio("bridge", "http"), "<=1.5", figures)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        figures = interleave({"seconds": lambda: cold(store)}, rounds=COLD_ROUNDS)
        report("bridge-first-answer-seconds", figures.median("seconds"), "<=1.5", figures)
        run(LONGHOUSE, "up", "--dir", str(store), "--port", "0")
        try:
            figures = interleave(
                {
                    "python": timed(lambda: run(sys.executable, "-c", "pass")),
                    "bridge": lambda: start_to_list(store),
                },
                rounds=ROUNDS,
            )
            report("bridge-tools-list", figures.ratio("bridge", "python"), "<=6.0", figures)
            calls(store)
        finally:
            run(LONGHOUSE, "down", "--dir", str(store))


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environment())


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}


if __name__ == "__main__":
    main()
