"""The attacker holds a token that was revoked or has run out, and a stream or wait it opened."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Message

from longhouse.dispatch import Caller
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.kernel.tool_tasks import task_folder
from longhouse.surfaces.http import access
from longhouse.surfaces.http.access import AccessGate, Hosts, Tokens
from longhouse.surfaces.http.app import Web
from longhouse.surfaces.http.limits import RequestLimits
from longhouse.surfaces.http.metrics import Metrics
from tests.kit import Lh, ManualClock
from tests.processes.kit import allow, long_recording
from tests.processes.test_belonging import loop

HOUR_MS = 3_600_000


class Request:
    """One request to the application, in this process, answered while the test goes on."""

    def __init__(
        self, gate: AccessGate, path: str, token: str, *, method: str = "GET", **more: Any
    ):
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        self._scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "http_version": "1.1",
            "scheme": "http",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        self._body = more.get("body", b"")
        self._slow = more.get("slow", False)
        self.status = 0
        self.body = b""
        self.begun = asyncio.Event()
        self.task = asyncio.create_task(gate(self._scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.Event().wait()
        raise AssertionError

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message["body"]
            self.begun.set()
            if self._slow and message["body"]:
                await asyncio.Event().wait()

    async def end(self) -> None:
        await asyncio.wait_for(self.task, 10)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def _web(house: House, clock: ManualClock) -> tuple[Web, AccessGate]:
    house.dispatcher.clock = clock
    house.dispatcher.time_of_calls = clock.now_ms
    web = Web(
        house,
        tokens=Tokens(house, "the-persons-own-token"),
        hosts=Hosts("127.0.0.1", ()),
        metrics=Metrics(),
        limits=RequestLimits.of(house.settings),
        instance="one",
        key="",
    )
    return web, web.app


@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_streams_and_waits_end_when_the_token_does(
    new_house: Callable[..., House], clock: ManualClock, how: str
) -> None:
    house = new_house()
    web, gate = _web(house, clock)
    made = house.call("system.token.create", {"role": "agent", "expires_hours": 1}).envelope
    job = house.call("jobs.create", {"title": "Job", "prompt": "Do it"}).envelope["result"]["job"]
    token = made["result"]["token"]
    wait = b'{"job": "%s", "timeout_ms": 25000}' % job["id"].encode()
    theirs = Request(gate, "/events", token)
    waits = Request(gate, "/call/jobs.wait", token, method="POST", body=wait)
    ours = Request(gate, "/events", "the-persons-own-token")
    await asyncio.wait_for(theirs.begun.wait(), 10)
    await asyncio.wait_for(ours.begun.wait(), 10)
    while not house.dispatcher._waits:  # noqa: ASYNC110  (the call itself tells nobody)
        await asyncio.sleep(0)
    await gate.end_revoked()
    assert not theirs.task.done()
    assert not waits.task.done()
    if how == "revoked":
        house.call("system.token.revoke", {"id": made["result"]["id"]})
    else:
        clock.advance(HOUR_MS)
    await gate.end_revoked()
    await theirs.end()
    await waits.end()
    assert (waits.status, b"UNAUTHENTICATED" in waits.body) == (401, True)
    again = Request(gate, "/events", token)
    await again.end()
    assert again.status == 401
    assert not ours.task.done()
    web.end_streams()
    await ours.end()
    web._feeds.close()


@pytest.mark.parametrize("path", ["events", "wait", "output/raw", "recording"])
async def test_nobody_follows_a_background_process_under_a_revoked_token(
    new_house: Callable[..., House], clock: ManualClock, path: str
) -> None:
    house = new_house(policy="full-auto")
    web, gate = _web(house, clock)
    made = house.call("system.token.create", {"role": "agent"}).envelope["result"]
    caller = Caller(Role.AGENT, owner=made["id"])
    if path == "recording":
        coded = base64.b64encode(long_recording(600)).decode()
        house.call("tool.recording_import", {"content_b64": coded}, caller)
    else:
        house.call("tool.task_spawn", {"tool": "bash", "args": {"command": "make"}}, caller)
    folder = task_folder(house.settings.dir, house.settings.workspace, "PROC-001")
    folder.mkdir(mode=0o700, parents=True)
    (folder / "stdout.log").write_bytes(b"x" * 1_000_000)
    slow = path in ("output/raw", "recording")
    follows = Request(gate, f"/tasks/PROC-001/{path}", made["token"], slow=slow)
    if path == "wait":
        while not house.dispatcher._waits:  # noqa: ASYNC110  (the call itself tells nobody)
            await asyncio.sleep(0)
    else:
        await asyncio.wait_for(follows.begun.wait(), 10)
    await gate.end_revoked()
    assert not follows.task.done()
    house.call("system.token.revoke", {"id": made["id"]})
    seen = len(follows.body)
    follows._slow = False
    await gate.end_revoked()
    await follows.end()
    if path == "wait":
        assert follows.status == 401
    else:
        assert (follows.status, len(follows.body)) == (200, seen)
    web.end_streams()
    web._feeds.close()


def test_no_command_is_carried_out_for_a_token_that_was_revoked_before_its_turn(lh: Lh) -> None:
    """No server was there to carry it out, and the person revoked the token meanwhile."""
    allow(lh)
    made = lh("system.token.create", role="agent")
    for owner in (made["id"], f"{made['id']}/session", "operator"):
        asked = {"tool": "tasks.plan.create", "args": {"title": f"of {owner}"}}
        caller = Caller(Role.AGENT, owner=owner)
        assert lh.house.call("tool.task_spawn", asked, caller).success
    lh("system.token.revoke", id=made["id"])
    for _ in range(3):
        loop(lh, "carry_out")
    states = [lh("tool.task_status", task_id=f"PROC-00{n}")["task"] for n in (1, 2, 3)]
    assert [one["status"] for one in states] == ["failed", "failed", "exited"]
    assert [one["cause"] for one in states[:2]] == ["unauthenticated"] * 2
    assert "of operator" in str(lh("open", id="PLAN-001"))


async def test_the_watch_looks_more_than_twice_a_second(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    assert access.WATCH_S <= 0.5
    _, gate = _web(new_house(), clock)
    looked = asyncio.Event()

    async def look() -> None:
        looked.set()

    gate.end_revoked = look  # type: ignore[method-assign]
    watch = asyncio.create_task(gate.watch())
    await asyncio.wait_for(looked.wait(), 10)
    watch.cancel()
