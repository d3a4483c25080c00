"""The crew under load: reserving among many, a page of sessions, delivery to a subscriber, and MCP
calls by one and by eight clients compared with an echo tool on the bare SDK."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio.from_thread
import httpx2
import psycopg
from mcp import Client

from bench._harness import Figures, interleave, report
from bench._servers import Up, bare, longhouse, serving
from bench.mcp import ECHO, connected
from longhouse.config import load
from longhouse.crew.identity import register
from longhouse.crew.reservations import reserve
from longhouse.crew.room import sql
from longhouse.crew.types.identity import Register
from longhouse.crew.types.reservations import Reserve
from longhouse.house import House
from longhouse.store.tx import Call, Refused, Tx
from longhouse.store.tx import sql as log_sql
from longhouse.work.plans import make_plan, make_task
from tools.postgres import Postgres

MANY, FEW = 10_000, 10
NEWS_MS = 50
OPS = ("register", "send", "inbox", "ack", "reserve")
COUNTS, CALLS, ROUNDS = (1, 8), 48, 5
MIXED, PAIRS = 80, 21
"""Short alternating turns, so that other load on the machine affects both contestants alike."""
BATCH = 2_000
LOGGED = {"stream": "crew", "kind": "message", "data": "{}", "span": 1}


class Crew:
    """A store with agents, created in a few large transactions."""

    def __init__(self, base: Path, agents: int, db: str | None = None) -> None:
        given = {"dir": str(base / ".longhouse"), "workspace": "bench", "db": db}
        settings = load(given, environ={}, cwd=base)
        self.house = House(settings)
        self.tokens: dict[str, str] = {}

        def join(tx: Tx) -> None:
            for number in range(agents):
                made = register(tx, Register(name=f"agent-{number}"))
                self.tokens[made.agent.agent_id] = made.agent_token

        self.write(join)
        self.names = list(self.tokens)

    def write(self, work: Callable[[Tx], None]) -> None:
        dispatcher = self.house.dispatcher
        call = Call(now_ms=dispatcher.clock.now_ms(), ids=dispatcher.ids, facts=self.house.facts)
        self.house.db.write("bench", work, call)

    def me(self, number: int) -> dict[str, Any]:
        name = self.names[number % len(self.names)]
        return {"agent": name, "agent_token": self.tokens[name]}

    def reserve(self, count: int) -> None:
        def fill(tx: Tx) -> None:
            for number in range(count):
                scope = f"src/{number % 100}/part-{number}/*"
                made = reserve(tx, Reserve(**self.me(number), scope=scope, bead_id="bd-1"))
                assert not isinstance(made, Refused)

        self.write(fill)

    def work(self, count: int) -> None:
        """Add tasks, each with an owner; every other one is active."""
        for start in range(0, count, BATCH):

            def fill(tx: Tx, start: int = start) -> None:
                plan: dict[str, Any] = {}
                for number in range(start, min(start + BATCH, count)):
                    if number % 20 == 0:
                        plan, _ = make_plan(tx, f"Plan {number // 20}")
                    owner = self.names[number % len(self.names)]
                    make_task(tx, plan["plan_id"], f"Item {number}", assignee=owner)

            self.write(fill)

    def talk(self, count: int, items: int) -> None:
        """Add messages about the items, as rows."""
        for start in range(0, count, BATCH):

            def fill(tx: Tx, start: int = start) -> None:
                numbers = range(start, min(start + BATCH, count))
                first = tx.seqs(len(numbers))
                rows = [self._message(tx, n, first + n - start, items) for n in numbers]
                tx.many(log_sql.log_append, [{**row, **LOGGED} for row in rows])
                tx.many(sql.message_add, rows)
                tx.many(sql.talk_add, rows)

            self.write(fill)

    def _message(self, tx: Tx, number: int, seq: int, items: int) -> dict[str, Any]:
        sender, to = (self.names[(number + more) % len(self.names)] for more in (0, 1))
        bead = f"TASK-{number % items + 1:03d}"
        return {
            "seq": seq,
            "thread_id": f"bead:{bead}",
            "bead_id": bead,
            "subject": bead,
            "from_agent": sender,
            "to_agent": to,
            "actor": sender,
            "category": "INFO",
            "body": "It is done. " * 10,
            "requires_ack": 0,
            "now": tx.now_ms,
            "ts_ms": tx.now_ms,
            "unread": 1,
            "due": 0,
        }


def reserving() -> None:
    """Adding a reservation to ten existing ones, and to ten thousand."""
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        numbers = itertools.count()

        def contestant(base: str, held: int) -> Callable[[], float]:
            crew = Crew(Path(base), 10)
            crew.reserve(held)

            def run() -> float:
                taken = []
                for _ in range(40):
                    args = {**crew.me(3), "scope": f"src/7/new/{next(numbers)}", "bead_id": "bd-1"}
                    started = time.perf_counter()
                    assert crew.house.call("agents.reserve", args).success
                    taken.append(time.perf_counter() - started)
                return median(taken)

            return run

        figures = interleave({"many": contestant(many, MANY), "few": contestant(few, FEW)})
    report("crew-reserve-10000", figures.ratio("many", "few"), "<=2.0", figures)


@contextmanager
def world(agents: int, items: int, events: int, db: str | None = None) -> Iterator[Up]:
    """A server on a store of this size: twenty tasks per plan, each with an owner and messages."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        crew = Crew(base, agents, db)
        crew.work(items)
        crew.talk(events, items)
        crew.house.close()
        with serving(base, db) as up:
            yield up


def sessions() -> None:
    """A page of sessions in a small and in a large store, on each database."""
    large, small = (1_000, 10_000, 100_000), (10, 100, 1_000)
    with ExitStack() as stack:
        enter = stack.enter_context
        server = Postgres()
        stack.callback(server.stop)
        with psycopg.connect(server.url(), autocommit=True) as db:
            db.execute("CREATE DATABASE small")
        ups = {
            "large": enter(world(*large)),
            "small": enter(world(*small)),
            "large-postgres": enter(world(*large, server.url())),
            "small-postgres": enter(world(*small, server.url("small"))),
        }
        figures = interleave({name: page_of(up) for name, up in ups.items()})
    for engine in ("", "-postgres"):
        names = f"large{engine}", f"small{engine}"
        shown = Figures({name: figures.raw[name] for name in names})
        report(f"crew-sessions-page{engine}", figures.ratio(*names), "<=2.0", shown)


def page_of(up: Up) -> Callable[[], float]:
    """The median time of a page of fifty sessions, from the start and from the middle."""
    http = httpx2.Client(base_url=up.url, headers=up.headers, timeout=60)

    def run() -> float:
        taken = []
        for number in range(30):
            cursor = "&cursor=TASK-025" if number % 2 else ""
            started = time.perf_counter()
            answer = http.get(f"/api/sessions?limit=50{cursor}")
            taken.append(time.perf_counter() - started)
            assert answer.json()["result"]["count"] == 50
        return median(taken)

    return run


def news() -> None:
    """From a call that changes something until a subscriber receives the event."""
    with longhouse() as up:
        taken = asyncio.run(_news(up))
    shown = Figures({"seconds": tuple(taken)})
    report("crew-news", median(taken) * 1000 / NEWS_MS, "<=1.0", shown)


async def _news(up: Up) -> list[float]:
    taken = []
    async with httpx2.AsyncClient(base_url=up.url, headers=up.headers, timeout=30) as http:
        me = await _join(http, "amber-otter")
        async with http.stream("GET", "/events?stream=crew&after=1") as stream:
            lines = stream.aiter_lines()
            for number in range(60):
                args = {**me, "scope": f"src/{number}", "bead_id": "bd-1"}
                started = time.perf_counter()
                call = asyncio.create_task(http.post("/call/agents.reserve", json=args))
                async for line in lines:
                    if line.startswith("data: ") and f'"src/{number}"' in line:
                        break
                taken.append(time.perf_counter() - started)
                (await call).raise_for_status()
    return taken[10:]


async def _join(http: httpx2.AsyncClient, name: str, **more: Any) -> dict[str, str]:
    answer = await http.post("/call/agents.register", json={"name": name, **more})
    return {"agent": name, "agent_token": answer.json()["result"]["agent_token"]}


class Clients:
    """A number of MCP clients, each its own agent, that call concurrently."""

    def __init__(
        self, clients: list[Client], agents: list[dict[str, str]], acks: list[Iterator[str]]
    ) -> None:
        self._clients = clients
        self._agents = agents
        self._acks = acks
        self._numbers = itertools.count()

    def args(self, op: str, who: int) -> dict[str, Any]:
        number = next(self._numbers)
        me, other = self._agents[who], self._agents[who - 1]["agent"]
        by_op: dict[str, dict[str, Any]] = {
            "register": {"name": f"new-{id(self)}-{number}"},
            "send": {**me, "to": other, "bead_id": "bd-1", "subject": "News", "body": "x " * 60},
            "inbox": {"agent": me["agent"], "state": ["unread"], "limit": 10},
            "reserve": {**me, "scope": f"new/{id(self)}/{number}", "bead_id": "bd-1"},
        }
        if op == "ack":
            return {**me, "message": next(self._acks[who])}
        return by_op[op]

    async def run(self, op: str | None) -> float:
        """The median time of one kind of call, spread over the clients; None is the echo."""
        return median(await self._all([op], CALLS))

    async def mixed(self) -> float:
        """Calls per second of all clients together, cycling through all kinds."""
        started = time.perf_counter()
        return len(await self._all(OPS, MIXED)) / (time.perf_counter() - started)

    async def _all(self, ops: Sequence[str | None], calls: int) -> list[float]:
        taken: list[float] = []
        each = calls // len(self._clients)

        async def work(who: int, client: Client) -> None:
            for op in itertools.islice(itertools.cycle(ops), each):
                name, args = "echo", {}
                if op:
                    name = "workspace"
                    args = {"op": "call", "cmd": f"agents.{op}", "args": self.args(op, who)}
                started = time.perf_counter()
                result = await client.call_tool(name, args)
                taken.append(time.perf_counter() - started)
                assert not result.is_error, result.content

        async with asyncio.TaskGroup() as group:
            for who, client in enumerate(self._clients):
                group.create_task(work(who, client))
        return taken


def over_mcp() -> None:
    """Each operation over MCP compared with an echo, with 2,000 messages and 500 reservations."""
    with (
        longhouse() as ours,
        bare(ECHO) as echo,
        anyio.from_thread.start_blocking_portal() as portal,
        ExitStack() as stack,
    ):
        portal.call(_prepare, ours)
        groups = {}
        contestants = {}
        for count in COUNTS:
            sides = [
                [
                    stack.enter_context(portal.wrap_async_context_manager(connected(up)))
                    for _ in range(count)
                ]
                for up in (ours, echo)
            ]
            team, acks = portal.call(_team, ours, count)
            groups[count] = Clients(sides[0], team, acks)
            floor = Clients(sides[1], [], [])
            for op in OPS:
                contestants[f"{op}-{count}"] = partial(portal.call, groups[count].run, op)
            contestants[f"echo-{count}"] = partial(portal.call, floor.run, None)
        figures = interleave(contestants, rounds=ROUNDS)
        rates = interleave(
            {f"clients-{n}": partial(portal.call, group.mixed) for n, group in groups.items()},
            rounds=PAIRS,
        )
    for count in COUNTS:
        for op in OPS:
            names = f"{op}-{count}", f"echo-{count}"
            shown = Figures({name: figures.raw[name] for name in names})
            report(f"crew-mcp-{op}-{count}", figures.ratio(*names), "<=3.0", shown)
    pairs = zip(rates.raw["clients-8"], rates.raw["clients-1"], strict=True)
    report("crew-mcp-eight-over-one", median(a / b for a, b in pairs), ">=1.0", rates)


async def _prepare(up: Up) -> None:
    async with httpx2.AsyncClient(base_url=up.url, headers=up.headers, timeout=30) as http:
        team = [await _join(http, f"team-{number}") for number in range(8)]

        async def call(cmd: str, args: dict[str, Any]) -> None:
            answer = await http.post(f"/call/{cmd}", json=args)
            assert answer.json()["success"], answer.text

        work: list[Awaitable[None]] = []
        for number in range(2000):
            to = team[(number + 1) % 8]["agent"]
            note = {"to": to, "bead_id": "bd-1", "subject": f"News {number}", "body": "Done. " * 20}
            work.append(call("agents.send", {**team[number % 8], **note}))
        for number in range(500):
            held = {"scope": f"src/{number % 20}/{number}/*", "bead_id": "bd-1"}
            work.append(call("agents.reserve", {**team[number % 8], **held}))
        for start in range(0, len(work), 50):
            await asyncio.gather(*work[start : start + 50])


async def _team(up: Up, count: int) -> tuple[list[dict[str, str]], list[Iterator[str]]]:
    """A number of agents, each with messages to accept."""
    async with httpx2.AsyncClient(base_url=up.url, headers=up.headers, timeout=30) as http:
        agents = [await _join(http, f"client-{count}-{number}") for number in range(count)]
        acks = []
        for number, me in enumerate(agents):
            ids = []
            for _ in range(((ROUNDS + 1) * CALLS + (PAIRS + 1) * MIXED // 2) // count):
                args = {
                    **agents[number - 1],
                    "to": me["agent"],
                    "bead_id": "bd-1",
                    "subject": "s",
                    "body": "b",
                }
                sent = (await http.post("/call/agents.send", json=args)).json()["result"]
                ids.append(sent["messages"][0]["message_id"])
            acks.append(iter(ids))
    return agents, acks


def main() -> None:
    reserving()
    sessions()
    news()
    over_mcp()


if __name__ == "__main__":
    main()
