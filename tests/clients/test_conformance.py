"""The official conformance suite, as far as it needs no tools of its own.

The suite cannot send a token, so a small proxy on loopback adds it and passes all else through.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.serving import Served
from tools.clients import bin_of

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

SCENARIOS = {
    "2025-11-25": [
        "server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-error",
        "server-sse-multiple-streams", "resources-list", "prompts-list",
        "dns-rebinding-protection", "server-session-lifecycle",
    ],
    "2026-07-28": [
        "tools-list", "tools-call-simple-text", "tools-call-error", "caching", "resources-list",
        "prompts-list", "dns-rebinding-protection", "http-header-validation",
        "input-required-result-unsupported-methods",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def open_door(served: Served) -> Iterator[str]:
    """An address that needs no token: each connection's requests get ours."""
    loop = asyncio.new_event_loop()
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(lambda r, w: _pass(served, r, w), sock=listener), loop
    ).result(5)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    loop.call_soon_threadsafe(server.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


async def _pass(served: Served, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request a connection: its head gets our header, everything else is passed as it is."""
    host, port = served.url.removeprefix("http://").split(":")
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        kept = [line for line in head[1:] if line and not line.lower().startswith("connection:")]
        ours = [f"Authorization: Bearer {served.token}", "Connection: close"]
        server_reader, server_writer = await asyncio.open_connection(host, int(port))
        server_writer.write("\r\n".join([head[0], *kept, *ours, "", ""]).encode("latin-1"))
        await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@pytest.mark.parametrize(
    "revision, scenario",
    [(revision, name) for revision, names in SCENARIOS.items() for name in names],
)
def test_the_official_suite_finds_nothing_wrong(
    open_door: str, tmp_path: Path, revision: str, scenario: str
) -> None:
    ran = subprocess.run(
        [
            *bin_of("conformance"), "server", "--url", open_door, "--scenario", scenario,
            "--spec-version", revision,
        ],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
