"""The official client against the real server: both eras, streamable HTTP and stdio."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from longhouse.kernel.registry import PORTALS
from tests.surfaces.serving import ROOT, Served

Connect = Callable[[], AbstractAsyncContextManager[Client]]
ERAS = {"handshake": "legacy", "modern": "2026-07-28"}


@asynccontextmanager
async def over_http(
    served: Served, era: str, token: str | None = None, **headers: str
) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token or served.token}", **headers}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(
            streamable_http_client(f"{served.url}/mcp", http_client=http), mode=ERAS[era]
        ) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(folder: Path, era: str) -> AsyncIterator[Client]:
    flags = {"dir": str(folder / ".longhouse"), "workspace": "acme"}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.surfaces.launch", "mcp", json.dumps(flags)],
        cwd=str(ROOT),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )
    async with Client(parameters, mode=ERAS[era]) as client:
        yield client


@pytest.fixture(params=["http-handshake", "http-modern", "stdio-handshake", "stdio-modern"])
def connect(request: pytest.FixtureRequest, served: Served, tmp_path: Path) -> Connect:
    """The transports; each test connects on its own, in the task that uses the client."""
    how, era = request.param.split("-")
    return lambda: over_http(served, era) if how == "http" else over_stdio(tmp_path, era)


async def call(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], bool]:
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is None
    (content,) = result.content
    assert content.type == "text"
    return json.loads(content.text), bool(result.is_error)


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    text: str = content.text
    return text


@pytest.mark.proves("DEL-001", "DEL-002", "DEL-003")
async def test_a_client_works_through_the_ten_tools(connect: Connect) -> None:
    async with connect() as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(PORTALS)
        assert all(tool.output_schema is None for tool in listed)

        status, failed = await call(client, "status")
        assert (status["intent"], status["success"], failed) == ("status", True, False)

        made, _ = await call(
            client,
            "jobs",
            op="call",
            cmd="jobs.create",
            workspace="tools",
            args={"title": "T", "prompt": "P"},
        )
        job = made["result"]["job"]["id"]
        golden, _ = await call(
            client, "jobs", op="create", workspace="tools", args={"title": "U", "prompt": "P"}
        )
        assert golden["intent"] == "jobs.create"
        opened, _ = await call(client, "open", id=job, workspace="tools")
        assert opened["result"]["job"]["title"] == "T"

        legacy, failed = await call(client, "tasks_jobs_create", title="T")
        assert (legacy["error"]["code"], failed) == ("UNKNOWN_TOOL", True)
        for action in legacy["actions"]:
            answer, failed = await call(client, action["tool"], **action["args"])
            assert not failed, answer
        assert [a["action_id"] for a in legacy["actions"]] == [
            "recover.migration.lookup::tasks_jobs_create",
            "recover.status.portal",
        ]


async def test_lines_are_asked_for_beside_the_arguments_or_in_them(connect: Connect) -> None:
    async with connect() as client:
        assert (await text_of(client, "status", fmt="lines")).startswith(("ready ", "new "))
        asked = {"op": "call", "cmd": "system.cmd.list"}
        beside = await text_of(client, "system", **asked, fmt="lines")
        inside = await text_of(client, "system", **asked, args={"fmt": "lines"})
        assert beside == inside
        assert beside.startswith("system.cmd.list ")
        wrong = await text_of(client, "jobs", op="nope", args={"fmt": "lines"})
        assert wrong.startswith("ERROR: UNKNOWN_OP ")


async def test_a_wrong_call_is_a_result_that_tells_the_way_out(connect: Connect) -> None:
    async with connect() as client:
        wrong: list[tuple[str, dict[str, Any], str]] = [
            ("jobs", {"op": "nope"}, "UNKNOWN_OP"),
            ("jobs", {}, "UNKNOWN_OP"),
            ("jobs", {"op": "call"}, "INVALID_INPUT"),
            ("think", {"op": "call"}, "INVALID_INPUT"),
            ("jobs", {"op": "call", "cmd": "vcs.notes.commit"}, "UNKNOWN_CMD"),
            ("jobs", {"op": "call", "cmd": "jobs.create", "args": {}}, "INVALID_INPUT"),
            ("jobs", {"op": "call", "cmd": "jobs.create", "args": 7}, "INVALID_INPUT"),
            ("open", {"id": "JOB-999"}, "UNKNOWN_ID"),
            ("system", {"op": "call", "cmd": "system.probe.fail"}, "INTERNAL_ERROR"),
            ("nobody/knows.this", {}, "UNKNOWN_TOOL"),
        ]
        for tool, arguments, code in wrong:
            envelope, failed = await call(client, tool, **arguments)
            assert (envelope["error"]["code"], failed) == (code, True), tool
            assert envelope["error"]["recovery"]
            assert "secret detail" not in json.dumps(envelope)


async def test_a_name_with_a_prefix_means_the_tool_behind_it(connect: Connect) -> None:
    async with connect() as client:
        for name in ("longhouse/status", "longhouse.status", "a/b/longhouse.status"):
            envelope, failed = await call(client, name)
            assert (envelope["intent"], failed) == ("status", False)


async def test_a_waiting_call_can_be_cancelled_and_the_next_one_is_answered(
    connect: Connect,
) -> None:
    waiting = {"op": "call", "cmd": "system.probe.wait", "args": {"seq": 10_000}}
    async with connect() as client:
        with anyio.move_on_after(0.2) as scope:
            await client.call_tool("system", waiting)
        assert scope.cancelled_caught
        envelope, _ = await call(client, "status")
        assert envelope["success"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_leaves_nothing_waiting_in_the_server(
    served: Served, era: str
) -> None:
    waiting = {"op": "call", "cmd": "system.probe.wait", "args": {"seq": 10_000}}
    finished = served.metric('longhouse_calls_total{cmd="system.probe.wait",code="OK"}')
    resting = 2 if era == "handshake" else 1  # a handshake client also keeps a stream open
    async with over_http(served, era) as client:
        await settled(served, resting)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "system", waiting)
            await settled(served, resting + 1)
            tasks.cancel_scope.cancel()
        await settled(served, resting)
    assert served.metric('longhouse_calls_total{cmd="system.probe.wait",code="OK"}') == finished


async def settled(served: Served, requests: int) -> None:
    """Wait until the server is serving this many requests, including this one."""
    with anyio.fail_after(5):
        while served.metric("longhouse_requests_open") != requests:
            await anyio.lowlevel.checkpoint()


async def test_a_call_that_waits_is_woken_by_a_write(served: Served) -> None:
    answers: list[dict[str, Any]] = []

    async def wait(client: Client) -> None:
        envelope, _ = await call(
            client,
            "system",
            op="call",
            cmd="system.probe.wait",
            workspace="woken",
            args={"seq": 1},
        )
        answers.append(envelope)

    async with (
        over_http(served, "modern") as client,
        over_http(served, "modern") as other,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(wait, client)
        await call(
            other,
            "vcs",
            op="call",
            cmd="vcs.notes.commit",
            workspace="woken",
            args={"content": "x"},
        )
    assert answers[0]["result"]["reached"]


async def test_a_session_remembers_its_workspace_and_no_other_does(served: Served) -> None:
    async with over_http(served, "handshake") as one, over_http(served, "handshake") as two:
        await call(one, "workspace", op="use", args={"workspace": "mine"})
        mine, _ = await call(one, "status")
        other, _ = await call(two, "status")
    assert (mine["result"]["workspace"], other["result"]["workspace"]) == ("mine", "acme")


async def test_the_session_header_gives_a_modern_client_a_session(served: Served) -> None:
    bridge = {"Longhouse-Session": "bridge-1"}
    async with over_http(served, "modern", **bridge) as client:
        await call(client, "workspace", op="use", args={"workspace": "bridged"})
    async with over_http(served, "modern", **bridge) as client:
        again, _ = await call(client, "status")
    async with over_http(served, "modern") as client:
        other, _ = await call(client, "workspace", op="use", args={"workspace": "x"})
    assert again["result"]["workspace"] == "bridged"
    assert other["error"]["code"] == "CONFLICT"


async def test_a_session_belongs_to_the_token_that_opened_it(served: Served) -> None:
    token, _ = served.new_token("agent")
    opening = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accept = {"accept": "application/json, text/event-stream"}
    opened = served.http.post("/mcp", json=opening, headers=accept)
    session = {"mcp-session-id": opened.headers["mcp-session-id"], **accept}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    with served.client(token) as stranger:
        assert stranger.post("/mcp", json=ping, headers=session).status_code == 404
    assert served.http.post("/mcp", json=ping, headers=session).status_code == 200


async def test_roles_hold_over_mcp_too(served: Served) -> None:
    token, _ = served.new_token("viewer")
    async with over_http(served, "modern", token) as client:
        seen, failed = await call(client, "status")
        assert not failed
        refused, failed = await call(
            client, "vcs", op="call", cmd="vcs.notes.commit", args={"content": "x"}
        )
    assert (refused["error"]["code"], failed) == ("FORBIDDEN", True)
    assert seen["success"]


@pytest.mark.proves("DEL-005")
async def test_nothing_that_is_done_with_jobs_starts_a_program(
    connect: Connect, served: Served, tmp_path: Path
) -> None:
    async with connect() as client:

        def job(cmd: str, **args: Any) -> Any:
            return call(client, "jobs", op="call", cmd=cmd, workspace="spawn", args=args)

        made, _ = await job("jobs.create", title="rm -rf", prompt="`touch /tmp/x`; $(id)")
        name = made["result"]["job"]["id"]
        claimed, _ = await job("jobs.claim", job=name, runner_id="r1")
        fence = {
            "job": name,
            "runner_id": "r1",
            "claim_revision": claimed["result"]["job"]["revision"],
        }
        reported, _ = await job("jobs.report", **fence, message="half")
        done, _ = await job("jobs.complete", **fence, status="DONE", summary="CMD: touch /tmp/x")
        read, _ = await call(client, "open", id=name, workspace="spawn")
        assert all(e["success"] for e in (made, claimed, reported, done, read))
    for folder in (tmp_path, served.dir.parent):
        assert not (folder / "programs").exists()
