"""The attacker sends many cheap requests at once, and wants every other caller to wait for them.

What counts is how many turns of others come before a turn, never how long anything takes.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Any

import pytest
from starlette.requests import Request as HttpRequest

from longhouse.desk.tokens import digest_of
from longhouse.dispatch import Caller
from longhouse.dispatch import turns as turning
from longhouse.dispatch.turns import ALONE, Turns
from longhouse.dispatch.waits import Waits
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.surfaces.http.access import ANYONE, NOBODY, AccessGate
from longhouse.surfaces.mcp.http import McpEndpoint
from longhouse.surfaces.mcp.opened import OpenedSessions
from longhouse.surfaces.sessions import OpenSessions
from tests.kit import Lh, ManualClock
from tests.security.test_listening_after_revocation import Request, _web

FLOOD = 60
STATUS = "/call/status"
NOTE = "/call/vcs.notes.commit"


class NotedTurns(Turns):
    """Turns that note who asks, is served and is charged; nobody rests, as no time passes."""

    def __init__(self) -> None:
        super().__init__(guests=(ANYONE, NOBODY), clock=lambda: 1_000.0)
        self.noted: list[tuple[str, str]] = []

    def line_up(self, name: str, turn: asyncio.Future[None], *, begun: bool = False) -> None:
        self.noted.append(("asks", name))
        super().line_up(name, turn, begun=begun)

    def charge(self, name: str, used_s: float) -> None:
        self.noted.append(("charged", name))

    def owe(self, name: str, used_s: float) -> None:
        assert used_s >= 0
        self.noted.append(("owes", name))

    def _serve(self, owner: Any, now: float) -> None:
        self.noted.append(("served", owner.name))
        super()._serve(owner, now)

    def most_before(self, name: str) -> int:
        """How many turns of others came at most between an owner's request and its turn."""
        most, others, asked = 0, 0, False
        for what, who in self.noted:
            if what == "asks":
                asked, others = (True, 0) if who == name and not asked else (asked, others)
            elif what in ("charged", "owes"):
                continue
            elif who == name:
                most, asked = max(most, others if asked else 0), False
            else:
                others += 1
        assert ("served", name) in self.noted
        assert not asked
        return most


class Town:
    """A server, and requests of several tokens; `order` has who was answered, first to last."""

    def __init__(self, house: House, gate: AccessGate) -> None:
        self.house = house
        self.gate = gate
        self.turns = gate._turns = NotedTurns()
        self.ids: dict[str, str] = {}
        self.order: list[str] = []
        self.sent: list[Request] = []
        self.tokens = {name: self._token(name) for name in ("busy", "busier", "calm")}

    def _token(self, name: str) -> str:
        made = self.house.call("system.token.create", {"role": "agent"}).envelope["result"]
        self.ids[name] = made["id"]
        return str(made["token"])

    def ask(self, who: str, path: str, body: bytes = b"{}", token: str | None = None) -> Request:
        token = self.tokens[who] if token is None else token
        sent = Request(self.gate, path, token, method="POST", body=body)
        sent.task.add_done_callback(lambda _task: self.order.append(who))
        self.sent.append(sent)
        return sent

    async def answered(self) -> list[str]:
        await asyncio.gather(*(one.end() for one in self.sent))
        self.sent.clear()
        return self.order

    def check_calm(self, others: int = 1) -> None:
        """Each turn of the calm token came after at most one of each other, and one under way."""
        assert self.turns.most_before(self.ids["calm"]) <= others + 1

    async def greet(self) -> None:
        """Let every token be used once, so that the server knows it."""
        for who in self.tokens:
            assert (await self._first(who)).status == 200
        self.order.clear()
        self.turns.noted.clear()

    async def _first(self, who: str) -> Request:
        sent = self.ask(who, STATUS)
        await self.answered()
        return sent


@pytest.fixture
async def town(new_house: Callable[..., House]) -> AsyncIterator[Town]:
    house = new_house()
    web, gate = _web(house, ManualClock())
    town = Town(house, gate)
    await town.greet()
    yield town
    web._feeds.close()


@pytest.mark.parametrize("path, body", [(STATUS, b"{}"), (NOTE, b'{"content": "x"}')])
async def test_a_call_does_not_wait_for_another_tokens_flood(
    town: Town, path: str, body: bytes
) -> None:
    for _ in range(FLOOD):
        town.ask("busy", path, body)
    town.ask("calm", path, body)
    order = await town.answered()
    town.check_calm()
    assert order.count("busy") == FLOOD
    assert town.house.db.settle(20)  # a thread tells what it did after its answer
    local, owed = town.house.db.engine.local, town.turns.noted.count(("owes", town.ids["busy"]))
    if local and path == STATUS:
        assert owed == 0
    elif path == NOTE:  # each batch once and, where a thread looks for the token, each request
        assert owed >= 1 + FLOOD * (not local)
    else:  # a read and the look for the token
        assert owed == 2 * FLOOD
    if town.house.db.engine.local and path == STATUS:  # no thread decides who is answered first
        assert order.index("calm") <= ALONE + 2


async def test_nor_for_the_floods_of_two(town: Town) -> None:
    for _ in range(FLOOD):
        town.ask("busy", STATUS)
        town.ask("busier", STATUS)
    town.ask("calm", STATUS)
    await town.answered()
    town.check_calm(others=2)
    first = [who for what, who in town.turns.noted if what == "served"][:FLOOD]
    counts = [first.count(town.ids[who]) for who in ("busy", "busier")]
    if town.house.db.engine.local:  # otherwise threads decide whose requests are ready first
        assert abs(counts[0] - counts[1]) <= 2


async def test_nor_for_one_that_writes_in_many_workspaces(town: Town) -> None:
    for number in range(FLOOD):
        body = b'{"content": "x", "workspace": "w%d"}' % (number % 20)
        town.ask("busy", NOTE, body)
    town.ask("calm", NOTE, b'{"content": "x"}')
    await town.answered()
    town.check_calm()


async def test_nor_for_one_without_a_token_or_with_tokens_that_nobody_made(town: Town) -> None:
    """Invented tokens share one turn: each has not a turn of its own."""
    for number in range(FLOOD):
        invented = f"lh_{secrets.token_hex(24)}" if number % 2 else ""
        town.ask("nobody", STATUS, token=invented)
    town.ask("calm", STATUS)
    sent = list(town.sent)
    await town.answered()
    town.check_calm()
    assert [one.status for one in sent] == [401] * FLOOD + [200]
    assert {who for _, who in town.turns.noted} == {NOBODY, town.ids["calm"]}


async def test_whoever_keeps_opening_connections_without_a_token_is_charged_for_them(
    town: Town,
) -> None:
    for _ in range(3):
        town.ask("nobody", STATUS, token="")
    town.ask("calm", STATUS)
    await town.answered()
    assert town.turns.noted.count(("charged", NOBODY)) == 3
    assert ("charged", town.ids["calm"]) not in town.turns.noted


async def test_what_is_under_way_is_counted_until_it_is_answered_but_not_while_it_waits(
    town: Town,
) -> None:
    """A token that has several calls under way rests beside others; waiting costs nobody."""
    town.house.call("jobs.create", {"title": "Job", "prompt": "Do it"})
    seen: list[int] = []
    away = turning._Turns.away

    def noted(self: Any) -> Any:
        seen.append(town.turns._under_way[town.ids["busy"]])
        return away(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turning._Turns, "away", noted)
        for _ in range(3):
            town.ask("busy", "/call/jobs.wait", b'{"job": "JOB-001", "timeout_ms": 20000}')
        while len(seen) < 3:  # noqa: ASYNC110  (the calls themselves tell nobody)
            await asyncio.sleep(0)
        assert not town.turns._under_way
        assert max(seen) >= 1
        town.house.dispatcher.end_waits()
        await town.answered()
    assert not town.turns._under_way


@pytest.mark.parametrize("runner", [False, True])
async def test_agents_that_a_token_invents_share_its_turns_and_limits(
    town: Town, runner: bool
) -> None:
    """It claims jobs and names an agent for each: those of the person's runners are their own."""
    made = town.house.call("system.token.create", {"role": "agent", "runner": runner})
    holder = made.envelope["result"]["id"]
    claimer = Caller(Role.AGENT, owner=f"{holder}/one", runner=runner)
    for number in range(3):
        town.house.call("jobs.create", {"title": f"Job {number}", "prompt": "Do it"})
        token = f"lh_{secrets.token_hex(32)}"
        args = {"runner_id": f"r{number}", "agent_digest": digest_of(token)}
        assert town.house.dispatcher.call("jobs.claim", args, claimer).success
        town.tokens[f"agent {number}"] = token
        assert (await town._first(f"agent {number}")).status == 200
    known = {town.gate._tokens.last_owner(f"Bearer {town.tokens[f'agent {n}']}") for n in range(3)}
    assert len(known) == (3 if runner else 1)
    assert (known == {holder}) is not runner
    caller = (await town.gate._tokens.identify(f"Bearer {token}")).caller({})
    assert (caller.owner, caller.pays == holder) == (digest_of(token), not runner)
    for number in range(3):
        for _ in range(FLOOD // 3):
            town.ask(f"agent {number}", STATUS)
    town.ask("calm", STATUS)
    town.turns.noted.clear()
    await town.answered()
    town.check_calm(others=len(known))


async def test_a_token_that_was_revoked_is_refused_at_once_and_takes_turns_as_nobody(
    town: Town,
) -> None:
    made = town.house.call("system.token.create", {"role": "agent"}).envelope["result"]
    token = str(made["token"])
    town.tokens["gone"] = token
    tokens, authorization = town.gate._tokens, f"Bearer {token}"
    assert tokens.last_owner(authorization) == NOBODY
    assert (await town._first("gone")).status == 200
    assert tokens.last_owner(authorization) == made["id"]
    town.house.call("system.token.revoke", {"id": made["id"]})
    assert (await town._first("gone")).status == 401
    assert tokens.last_owner(authorization) == NOBODY


async def test_a_commit_wakes_the_loop_once_however_many_calls_wait(
    new_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each of them goes on in its owner's turn: not all at once."""
    house = new_house()
    house.call("jobs.create", {"title": "Job", "prompt": "Do it"})
    stirred: list[str] = []
    stir = Waits._stir

    def noted(self: Waits, workspace: str, seq: int, rows: Any) -> None:
        stirred.append(workspace)
        stir(self, workspace, seq, rows)

    monkeypatch.setattr(Waits, "_stir", noted)
    turns = NotedTurns()

    async def wait(owner: str) -> Any:
        caller = Caller(Role.AGENT, owner=owner, turns=turns.of(owner))
        ask = {"job": "JOB-001", "until": "end", "timeout_ms": 25_000}
        return await house.dispatcher.call_async("jobs.wait", ask, caller)

    def all_wait() -> bool:
        return sum(map(len, house.dispatcher._waits.values())) == len(waiting)

    waiting = [asyncio.create_task(wait(who)) for who in ["busy"] * 20 + ["calm"]]
    while not all_wait():  # noqa: ASYNC110  (the calls tell nobody)
        await asyncio.sleep(0)
    house.call("jobs.message", {"job": "JOB-001", "message": "not its end"})
    while not stirred or turns._waiting or not all_wait():  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert stirred == ["acme"]
    assert turns.noted.count(("served", "busy")) == len(waiting) - 1
    assert turns.most_before("calm") <= 2
    house.call("jobs.cancel", {"job": "JOB-001"})
    answers = await asyncio.wait_for(asyncio.gather(*waiting), 20)
    assert all(answer.success for answer in answers)
    assert not house.dispatcher._waits


class Sdk:
    """Requests that the SDK handles: each is inside until it is let go."""

    def __init__(self, house: House) -> None:
        self.endpoint = McpEndpoint(house.dispatcher, OpenSessions())
        self.inside: list[str] = []
        self._go: dict[str, asyncio.Event] = {}
        self._calls: set[str] = set()
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def ask(self, who: str, name: str, *, calls: bool = False) -> None:
        self._go[name] = asyncio.Event()
        if calls:
            self._calls.add(name)
        scope: Any = {"type": "http", "headers": [], "query_string": b"", "name": name}
        scope |= {"longhouse.caller": Caller(Role.AGENT, owner=who), "longhouse.owner": who}
        scope |= {"longhouse.waits": nullcontext(), "method": "POST"}
        work = self.endpoint._in_turn(self._handle, scope, self._nothing, self._nothing)
        self.tasks[name] = asyncio.create_task(work)

    async def let_go(self, name: str) -> None:
        self._go[name].set()
        await self.tasks[name]

    async def rounds(self) -> list[str]:
        for _ in range(10):
            await asyncio.sleep(0)
        return self.inside

    async def _handle(self, scope: Any, _receive: Any, send: Any) -> None:
        self.inside.append(scope["name"])
        if scope["name"] in self._calls:
            self.endpoint._caller(HttpRequest(scope))
        await self._go[scope["name"]].wait()
        await send({"type": "http.response.start", "status": 200})

    async def _nothing(self, *_: Any) -> Any:
        return {}


async def test_the_sdk_has_one_request_of_a_token_at_a_time(lh: Lh) -> None:
    """What it computes takes no turns, so a flood of such requests would be in every round."""
    sdk = Sdk(lh.house)
    for number in range(3):
        sdk.ask("busy", f"busy {number}")
    sdk.ask("calm", "calm")
    assert await sdk.rounds() == ["busy 0", "calm"]
    sdk.tasks["busy 1"].cancel()  # its client has left
    await sdk.let_go("busy 0")
    assert await sdk.rounds() == ["busy 0", "calm", "busy 2"]
    await sdk.let_go("busy 2")
    await sdk.let_go("calm")
    assert not any(place.locked() for place in sdk.endpoint._places.values())


async def test_but_a_call_that_waits_there_holds_up_no_other(lh: Lh) -> None:
    sdk = Sdk(lh.house)
    sdk.ask("busy", "waits", calls=True)
    sdk.ask("busy", "lists")
    assert await sdk.rounds() == ["waits", "lists"]
    await sdk.let_go("lists")
    await sdk.let_go("waits")


async def test_followers_take_turns_however_many_a_commit_concerns(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        town.house.call("vcs.notes.commit", {"content": f"{number}"})
    followers = [Request(town.gate, "/events", town.tokens["busy"]) for _ in range(20)]
    await asyncio.gather(*(asyncio.wait_for(one.begun.wait(), 20) for one in followers))
    taken: list[str] = []
    take = Turns.take

    async def noted(self: Turns, name: str, *, begun: bool = False) -> None:
        taken.append(name)
        await take(self, name, begun=begun)

    monkeypatch.setattr(Turns, "take", noted)
    before = [one.body for one in followers]
    town.house.call("vcs.notes.commit", {"content": "for all of them"})
    async with asyncio.timeout(20):
        while any(one.body == b for one, b in zip(followers, before, strict=True)):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert taken.count(town.ids["busy"]) == len(followers)
    for one in followers:
        one.task.cancel()
    await asyncio.gather(*(one.task for one in followers), return_exceptions=True)


def test_another_tokens_sessions_push_out_nobodys() -> None:
    """A session holds the workspace that its client chose: without it, calls would go elsewhere."""
    sessions = OpenSessions(kept=3)
    ours = sessions.find("TOK-1/a", "ours")
    assert ours is not None
    ours.workspace = "beta"
    for number in range(50):
        sessions.find(f"TOK-2/{number % 7}", f"theirs {number}")
    assert sessions.find("TOK-1/a", "ours") is ours
    for number in range(3):
        sessions.find("TOK-1/a", f"{number}")
    assert sessions.find("TOK-1/a", "ours") is not ours


async def test_a_token_that_opens_ever_more_sessions_of_the_sdk_loses_its_oldest() -> None:
    opened = OpenedSessions(most=2)
    ended: list[tuple[str, bytes]] = []

    async def handle(scope: Any, _receive: Any, _send: Any) -> None:
        assert scope["method"] == "DELETE"
        ended.append((scope["longhouse.owner"], dict(scope["headers"])[b"mcp-session-id"]))

    def scope_of(*session: bytes, method: str = "POST") -> dict[str, Any]:
        headers = [(b"mcp-session-id", one) for one in session]
        return {"method": method, "headers": headers, "longhouse.owner": "busy/1"}

    async def open_one(payer: str, name: bytes) -> None:
        answer = {"status": 200, "headers": [(b"Mcp-Session-Id", name)]}
        opened.note(payer, scope_of(), answer)
        await opened.end_oldest(payer, scope_of(), handle)

    await open_one("calm", b"c")
    await open_one("busy", b"1")
    await open_one("busy", b"2")
    opened.note("busy", scope_of(b"1"), {"status": 200})  # used again
    await open_one("busy", b"3")
    assert ended == [("busy/1", b"2")]
    opened.note("busy", scope_of(b"1", method="DELETE"), {"status": 200})
    opened.note("busy", scope_of(b"nobodys"), {"status": 404})
    await open_one("busy", b"4")
    assert ended == [("busy/1", b"2")]
    await open_one("busy", b"5")
    assert ended == [("busy/1", b"2"), ("busy/1", b"3")]
    assert list(opened._of) == ["calm", "busy"]
