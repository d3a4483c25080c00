"""Claude Code and Codex as people run them, set up by `longhouse init`, through bridge and HTTP."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from longhouse.client import launch, locate
from tests.clients.agents import Agent, Blocked
from tests.clients.scripted.model import Call, Drop, Fail, Model, Say, Step, Turn, after
from tests.surfaces.serving import Served

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]
HOW = pytest.mark.parametrize("how", ["bridge", "http"])

NOTE = Call(
    "vcs", {"op": "call", "cmd": "vcs.notes.commit", "args": {"content": "It is the cookie."}}
)
WAIT = Call("system", {"op": "call", "cmd": "system.probe.wait", "args": {"seq": 10_000}})


@contextmanager
def connected(
    agent: Agent, how: str, *, port: int = 0, own: bool = False
) -> Iterator[Served | None]:
    """The agent set up; with a server of the test's own where it needs one."""
    agent.longhouse("init", "--approve", "--client", agent.name)
    if how == "bridge" and not own:
        yield None
        return
    server = Served(agent.project, store=agent.made_store(), port=port)
    if how == "http":
        agent.over_http(f"{server.url}/mcp", server.token)
    try:
        yield server
    finally:
        server.stop()


def follow(model: Model) -> Step:
    """Do what the refusal says: its first action, as it stands."""
    action = model.last["actions"][0]
    return Call(action["tool"], action["args"])


def bridges(project: Path) -> list[str]:
    """Bridges that run for clients in this project."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            here = (entry / "cwd").readlink() == project
        except OSError:
            continue
        if here and b"mcp" in words:
            found.append(entry.name)
    return found


def gone(project: Path) -> None:
    while bridges(project):
        pass


@HOW
def test_an_agent_looks_writes_reads_lines_is_refused_and_follows_the_way_out(
    agent: Agent, how: str
) -> None:
    turns: list[Turn] = [
        Call("status"),
        after(0.5, NOTE),
        Call("status", {"fmt": "lines"}),
        Call("jobs", {"op": "create", "args": {"title": "T"}}),
        follow,
        Say("all done"),
    ]
    with connected(agent, how), Model(*turns) as model:
        ran = agent.run(model)
        assert agent.final(ran) == "all done", ran
        status, written, lines, refused, followed = model.results
        assert json.loads(status)["result"]["workspace"] == "acme"
        ref = json.loads(written)["result"]["ref"]
        assert lines.startswith("ready checkout=main workspace=acme ")
        assert json.loads(refused)["error"]["code"] == "INVALID_INPUT"
        assert json.loads(followed)["success"] is True
        opened = json.loads(agent.longhouse("open", ref, "--json"))["data"]
        assert opened["entry"]["content"] == "It is the cookie."
    gone(agent.project)


@HOW
def test_a_slow_call_is_cancelled_with_its_agent(agent: Agent, how: str) -> None:
    with connected(agent, how, own=True) as server, Model(WAIT) as model:
        assert server
        finished = server.metric('longhouse_calls_total{cmd="system.probe.wait",code="OK"}')
        # The one that asks is open too; over HTTP a client of the handshake era also listens.
        at_rest = 1 + (how == "http" and agent.handshake_over_http)
        with agent.started(model) as process:
            while server.metric("longhouse_requests_open") <= at_rest or not model.requests:
                assert process.poll() is None, process.communicate()
            agent.ended(process, signal.SIGINT)
        while server.metric("longhouse_requests_open") > 1:
            pass
        after_it = server.metric('longhouse_calls_total{cmd="system.probe.wait",code="OK"}')
        assert after_it == finished
    gone(agent.project)


@HOW
def test_a_server_killed_between_two_calls_is_not_noticed(agent: Agent, how: str) -> None:
    restarted: list[Served] = []
    port = free_port() if how == "http" else 0

    def kill(step: Step) -> Callable[[Model], Step]:
        def then(_model: Model) -> Step:
            running = locate.recorded(agent.store)
            assert running
            launch.stop(running, force=True)
            if how == "http":
                restarted.append(Served(agent.project, store=agent.made_store(), port=port))
            return step

        return then

    again = Call("open", {"id": "notes@2"})
    with connected(agent, how, port=port), Model(NOTE, kill(again), Say("all done")) as model:
        try:
            assert agent.final(agent.run(model)) == "all done"
            assert json.loads(model.results[0])["result"]["ref"] == "notes@2"
            assert model.last["result"]["entry"]["content"] == "It is the cookie.", model.results
        finally:
            for server in restarted:
                server.stop()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("trouble", [Fail(500), Drop()], ids=["error", "dropped"])
def test_an_agent_whose_model_fails_leaves_no_bridge_behind(agent: Agent, trouble: Step) -> None:
    with connected(agent, "bridge"), Model(NOTE, trouble) as model:
        ran = agent.run(model)
        assert ran.code != 0
        assert json.loads(model.results[0])["success"] is True
        status = json.loads(agent.longhouse("status", "--json"))["data"]
        assert status["last_doc_entry"]["doc"] == "notes"
    gone(agent.project)


def test_without_approval_the_client_asks_and_with_removal_it_forgets(agent: Agent) -> None:
    """What `--approve` grants is not there before it, nor after `--remove`."""
    # Codex lets a tool through that says it stays in the store and destroys nothing; jobs do not.
    job = Call("jobs", {"op": "create", "args": {"title": "T", "prompt": "P"}})
    with Model(job, Say("refused")) as model:
        agent.longhouse("init", "--client", agent.name)
        ran = agent.run(model)
        assert not any('"success":true' in result for result in model.results), ran
    agent.longhouse("init", "--client", agent.name, "--approve")
    with Model(job, Say("done")) as model:
        agent.run(model)
        assert json.loads(model.results[0])["success"] is True
    agent.longhouse("init", "--client", agent.name, "--remove")
    with Model(Say("alone")) as model:
        agent.run(model)
        assert not any("longhouse" in name for name in model.offered)


def test_nothing_goes_out(proxy: Blocked) -> None:
    """The proxy would see it: this is what its count stands for."""
    host, port = proxy.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
        assert connection.recv(1) == b""
    assert proxy.asked.pop().startswith("CONNECT example.org")
