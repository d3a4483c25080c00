"""The bridge and the real server: found, started, replaced, restarted, with no leftovers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.client import launch, locate
from longhouse.kernel.registry import PORTALS
from tests.surfaces.bridge.kit import HELLO, Bridge, servers_of, words_of

Start = Callable[..., Bridge]


def running(store: Path) -> locate.Running:
    found = launch.alive(store)
    assert found
    return found


def kill(store: Path) -> int:
    pid = running(store).pid
    os.kill(pid, signal.SIGKILL)
    while locate.is_alive(pid):
        pass
    return pid


@pytest.mark.parametrize("modern", [False, True])
def test_the_first_call_starts_a_server_and_the_next_ones_use_it(
    bridge: Start, store: Path, modern: bool
) -> None:
    client = bridge(modern=modern)
    hello = "server/discover" if modern else "initialize"
    assert client.ask(hello, **({} if modern else HELLO))["result"]["instructions"]
    tools = client.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(PORTALS)
    made, failed = client.call("vcs", op="call", cmd="vcs.notes.commit", args={"content": "one"})
    assert (failed, made["result"]["ref"]) == (False, "notes@1")
    first = running(store)
    status, _ = client.call("status")
    assert status["result"]["workspace"] == "acme"
    assert running(store) == first
    assert client.close() == 0


def test_many_bridges_at_once_end_with_one_server(bridge: Start, store: Path) -> None:
    clients = [bridge() for _ in range(4)]
    for client in clients:
        client.send("tools/call", name="status", arguments={})
    assert all(not client.read()["result"]["isError"] for client in clients)
    assert servers_of(store) == [running(store).pid]


@pytest.mark.parametrize("modern", [False, True])
def test_a_conversation_goes_on_after_the_server_was_killed(
    bridge: Start, store: Path, modern: bool
) -> None:
    client = bridge(modern=modern)
    client.call("workspace", op="use", args={"workspace": "other"})
    client.call("vcs", op="call", cmd="vcs.notes.commit", args={"content": "before"})
    pid = kill(store)
    status, failed = client.call("status")
    assert (failed, status["result"]["workspace"]) == (False, "other"), "its choice is remembered"
    written, failed = client.call(
        "vcs", op="call", cmd="vcs.notes.commit", args={"content": "after"}
    )
    assert (failed, written["result"]["ref"]) == (False, "notes@2")
    assert running(store).pid != pid


def test_a_server_of_another_version_is_replaced_once(bridge: Start, store: Path) -> None:
    code = """
import sys
from longhouse import __about__
__about__.__version__ = "0.0.1"
import longhouse; longhouse.__version__ = "0.0.1"
from longhouse.surfaces.cli import main
sys.exit(main(sys.argv[1:]))
"""
    argv = ["longhouse", "serve", "--dir", str(store), "--port", "0", "--log-to-file"]
    with subprocess.Popen([sys.executable, "-c", code, *argv[1:]]) as old:
        while not launch.alive(store):
            assert old.poll() is None
        assert running(store).version == "0.0.1"
        client = bridge()
        status, failed = client.call("status", view="full")
        assert not failed
        assert status["result"]["server"]["version"] == running(store).version != "0.0.1"
        assert old.wait(20) == 0


def test_a_call_in_flight_is_cancelled_in_the_server(bridge: Start, store: Path) -> None:
    """Also when the client goes away, by closing its pipe or by a signal."""
    from tests.surfaces.serving import Served

    served = Served(store.parent)
    waiting = {"op": "call", "cmd": "system.probe.wait", "args": {"seq": 10_000}}

    def settled(count: int) -> None:
        while served.metric("longhouse_requests_open") != count + 1:
            pass

    try:
        client = bridge()
        sent = client.send("tools/call", name="system", arguments=waiting)
        settled(1)
        client.notify("notifications/cancelled", requestId=sent, reason="enough")
        settled(0)
        assert client.ask("ping")["result"] == {}, "and nothing is said about it"
        client.send("tools/call", name="system", arguments=waiting)
        settled(1)
        assert client.close() == 0
        settled(0)
        other = bridge()
        other.send("tools/call", name="system", arguments=waiting)
        settled(1)
        other.process.terminate()
        assert other.process.wait(60) == -signal.SIGTERM
        settled(0)
    finally:
        served.stop()


def test_what_is_piped_in_is_answered(store: Path) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "status", "arguments": {"fmt": "lines"}},
        },
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "longhouse", "mcp", "--dir", str(store), "-w", "acme"],
        input="\n".join(map(json.dumps, lines)),
        capture_output=True,
        text=True,
        timeout=30,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["content"][0]["text"].startswith("new ")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_server_that_cannot_start_is_told_in_the_answer(bridge: Start, store: Path) -> None:
    store.mkdir()
    (store / "longhouse.db").write_bytes(b"no database at all" * 400)
    client = bridge()
    assert client.ask("initialize", **HELLO)["result"]
    refused, failed = client.call("status")
    assert failed
    assert refused["error"]["recovery"]
    lines = client.ask("tools/call", name="status", arguments={"fmt": "lines"})["result"]
    assert lines["content"][0]["text"].startswith(f"ERROR: {refused['error']['code']} ")
    (store / "longhouse.db").unlink()
    assert not client.call("status")[1], "and the next call tries again"


def test_a_server_that_a_bridge_started_leaves_when_idle(bridge: Start, store: Path) -> None:
    client = bridge()
    client.call("status")
    words = words_of(running(store).pid)
    assert words[words.index(b"--idle-exit") + 1] == b"900"


def test_the_bridge_imports_nothing_heavy() -> None:
    code = """
import sys
from longhouse.surfaces.cli.run import run
from longhouse.surfaces.bridge import loop, seek
heavy = {"mcp", "asyncio", "msgspec", "pydantic", "starlette", "apsw"}
sys.exit(sorted(heavy & set(sys.modules)) or 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_call_during_the_end_of_a_server_waits_for_the_next_one(
    bridge: Start, store: Path
) -> None:
    """The old one still holds the store while it finishes another client's call."""
    from tests.surfaces.serving import Served

    served = Served(store.parent)
    waiting = {
        "op": "call",
        "cmd": "system.probe.wait",
        "args": {"seq": 10_000, "timeout_ms": 5000},
    }
    slow, client = bridge(), bridge()
    slow.send("tools/call", name="system", arguments=waiting)
    while served.metric("longhouse_requests_open") != 2:
        pass
    served.process.terminate()
    while launch.alive(store):
        pass
    assert served.process.poll() is None, "it is still busy"
    written, failed = client.call("vcs", op="call", cmd="vcs.notes.commit", args={"content": "x"})
    assert not failed, written
    served.process.wait(
        timeout=30
    )  # it was already told to stop; a second signal at the very end would kill it
    assert served.stop() == 0
    assert running(store).pid != served.process.pid


def test_a_server_is_started_for_a_client_that_says_hello_and_for_nobody_else(
    bridge: Start, store: Path
) -> None:
    client = bridge()
    client.raw(b"hello?")
    client.read()
    client.ask("ping")
    assert client.close() == 0
    assert not store.exists()
    other = bridge()
    other.ask("initialize", **HELLO)
    while not launch.alive(store):
        assert other.process.poll() is None
