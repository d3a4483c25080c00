"""`GET /events?until=SEQ`: a bounded part of the log, without rows that a fold does not need."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, MutableMapping
from typing import Any

import anyio
import pytest
from starlette.requests import Request

from longhouse.dispatch import Caller
from longhouse.dispatch import events as pages
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.store.tx import Call, Tx
from longhouse.surfaces.http import events as events_module
from longhouse.surfaces.http import feed as feed_module
from longhouse.surfaces.http.metrics import Metrics
from tests.kit import CountedIds, ManualClock
from tests.surfaces.serving import Event, Served, parse

STREAMS, KINDS = ("jobs", "work", "processes"), ("created", "progress", "note")
SUBJECTS = [f"S-{number}" for number in range(7)]
Row = tuple[int, str, str, str]


class Reader:
    """One request to `/events` and everything that it is sent; it may leave after some chunks."""

    def __init__(self, house: House, query: str, leaves_after: int | None = None) -> None:
        self._house = house
        self._leaves_after = leaves_after
        self._gone = anyio.Event()
        self.bodies: list[bytes] = []
        self.feeds = feed_module.Feeds(house)
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "query_string": query.encode(),
            "headers": [],
            "longhouse.caller": Caller(Role.VIEWER),
        }

    async def read(self) -> list[Event]:
        events = events_module.Events(self._house.dispatcher, self.feeds, Metrics())
        response = await events.answer(Request(self.scope, self.receive))
        await response(self.scope, self.receive, self.send)
        self.feeds.close()
        return list(parse(iter(self.bodies)))

    async def receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] != "http.response.body":
            return
        self.bodies.append(message["body"])
        if len(self.bodies) == self._leaves_after:
            self._gone.set()
            await anyio.sleep_forever()


@pytest.fixture
def house(new_house: Callable[..., House]) -> House:
    return new_house()


def write(house: House, rows: list[tuple[str, str, str]], workspace: str = "acme") -> list[Row]:
    """Rows of stream, subject and kind, and the same with their seqs."""
    written: list[Row] = []

    def append(tx: Tx) -> None:
        for stream, subject, kind in rows:
            written.append((tx.append(stream, subject, kind, {}), stream, subject, kind))

    call = Call(now_ms=house.dispatcher.clock.now_ms(), ids=CountedIds())
    house.db.write(workspace, append, call)
    return written


def wanted(rows: list[Row], until: int, streams: set[str], newest: set[str]) -> list[Row]:
    """A simple reference implementation of the parameters."""
    last = {row[1:]: row[0] for row in rows if row[0] <= until}
    return [
        row
        for row in rows
        if row[0] <= until
        and (not streams or row[1] in streams)
        and (row[3] not in newest or last[row[1:]] == row[0])
    ]


def rows_in(events: list[Event]) -> list[Row]:
    told = [event.data for event in events if event.name not in ("hello", "end", "resume")]
    return [(row["seq"], row["stream"], row["subject"], row["kind"]) for row in told]


async def test_a_read_that_ends_leaves_out_what_later_rows_replace(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_ROWS", 4)
    monkeypatch.setattr(pages, "STRETCH_SEQS", 9)
    chance = random.Random(7)
    many = [
        (chance.choice(STREAMS), chance.choice(SUBJECTS), chance.choice(KINDS)) for _ in range(120)
    ]
    rows = write(house, many)
    write(house, [("jobs", SUBJECTS[n % 7], "progress") for n in range(120)], "other")
    for until in (0, 1, 35, 36, 90, 120):
        for streams, newest in (
            ({"jobs", "work"}, {"progress", "note"}),
            (set[str](), {"progress"}),
            ({"work"}, set[str]()),
        ):
            query = [f"until={until}", *(f"stream={one}" for one in streams)]
            query += [f"newest={one}" for one in newest]
            events = await Reader(house, "&".join(query)).read()
            assert rows_in(events) == wanted(rows, until, streams, newest)
            assert (events[0].name, events[-1].name, events[-1].id) == ("hello", "end", until)


async def test_a_read_goes_on_where_it_was_cut(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = write(house, [("jobs", SUBJECTS[n % 3], KINDS[n > 2]) for n in range(12)])
    monkeypatch.setattr(pages, "STRETCH_SEQS", 5)
    query = "until=11&newest=progress"
    whole = rows_in(await Reader(house, query).read())
    assert whole == wanted(rows, 11, set(), {"progress"})
    for at in (0, 3, 6, 8, 11):
        rest = rows_in(await Reader(house, f"{query}&after={at}").read())
        assert rest == [row for row in whole if row[0] > at]


async def test_a_row_of_another_stream_or_kind_about_the_same_replaces_nothing(
    house: House,
) -> None:
    rows = write(
        house,
        [
            ("jobs", "JOB-001", "progress"),
            ("jobs", "JOB-001", "progress"),
            ("crew", "JOB-001", "reserved"),
            ("processes", "JOB-001", "progress"),
        ],
    )
    assert rows_in(await Reader(house, "until=4&newest=progress").read()) == rows[1:]


async def test_a_row_is_known_before_those_who_follow_have_heard_of_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hears_nothing(_: feed_module.Feed) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(feed_module.Feed, "_run", hears_nothing)
    write(house, [("jobs", "S-1", "created")])
    reader = Reader(house, "until=2")
    follower = Reader(house, "after=2", leaves_after=1)
    for one in (reader, follower):
        async with one.feeds.follow("acme"):
            if one is reader:
                (written,) = write(house, [("jobs", "S-1", "progress")])
            told = await one.read()
            assert (told[0].name, told[0].data["head"]) == ("hello", 2)
    assert rows_in(list(parse(iter(reader.bodies))))[1:] == [written]


@pytest.mark.parametrize("name", ["stream", "newest", "subject"])
async def test_a_name_that_no_store_can_hold_is_refused(house: House, name: str) -> None:
    write(house, [("jobs", "S-1", "created")])
    reader = Reader(house, f"until=1&{name}=a%00b")
    await reader.read()
    (body,) = reader.bodies
    error = json.loads(body)["error"]
    assert error["message"].startswith(name)
    assert "expected text without NUL characters" in error["message"]


async def test_it_says_when_the_log_stood_there(house: House, clock: ManualClock) -> None:
    write(house, [("memory", "notes", "entry")])
    first = clock.now_ms()
    clock.advance(5_000)
    write(house, [("memory", "notes", "entry")])
    told = {
        until: (await Reader(house, f"until={until}&stream=jobs").read())[0].data["ts_ms"]
        for until in (0, 1, 2)
    }
    assert told == {0: 0, 1: first, 2: first + 5_000}


async def test_a_reader_that_leaves_ends_the_reading(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STRETCH_SEQS", 1)
    write(house, [("jobs", "S-1", "created")] * 50)
    reader = Reader(house, "until=50", leaves_after=3)
    await reader.read()
    assert len(reader.bodies) == 3
    assert reader.feeds.followers == 0


async def test_a_sign_of_life_leaves_after_each_look_and_a_server_that_stops_ends_the_reading(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STRETCH_SEQS", 2)
    write(house, [("jobs", SUBJECTS[n % 7], "progress") for n in range(40)])
    looks: list[int] = []
    reader = Reader(house, "until=40&newest=progress")

    def look(tx: Tx, after: int, until: int, wanted: pages.Filter) -> tuple[list[Any], int]:
        looks.append(len(reader.bodies))
        if len(looks) == 5:
            reader.feeds.closing = True
        return pages.log_stretch(tx, after, until, wanted)

    monkeypatch.setattr(feed_module, "log_stretch", look)
    told = await reader.read()
    assert looks == [1, 2, 3, 4, 5]
    assert reader.bodies[1] == b": still here\nid: 2\n\n"
    assert (told[-1].name, told[-1].id) == ("resume", 10)


async def test_the_followers_of_one_token_have_few_reads_in_flight(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STRETCH_SEQS", 1)
    write(house, [("jobs", "S-1", "created")] * 30)
    running: list[int] = []
    most = 0

    def look(tx: Tx, after: int, until: int, wanted: pages.Filter) -> tuple[list[Any], int]:
        nonlocal most
        running.append(after)
        most = max(most, len(running))
        try:
            return pages.log_stretch(tx, after, until, wanted)
        finally:
            running.remove(after)

    monkeypatch.setattr(feed_module, "log_stretch", look)
    first, *others = [Reader(house, "until=30") for _ in range(8)]
    async with first.feeds.follow("acme"), anyio.create_task_group() as tasks:
        for one in others:
            one.feeds = first.feeds
            tasks.start_soon(one.read)
    assert 1 <= most <= feed_module.TURNS
    assert all(len(rows_in(list(parse(iter(one.bodies))))) == 30 for one in others)


def test_one_subject_can_be_read_up_to_a_moment(served: Served) -> None:
    jobs = [
        served("jobs.create", workspace="one", title="T", prompt="P")["job"]["id"] for _ in "ab"
    ]
    served("jobs.claim", workspace="one", job=jobs[0], runner_id="r1")
    with served.events(f"workspace=one&until=3&subject={jobs[0]}") as events:
        told = list(events)
    assert [event.data.get("kind") for event in told[1:-1]][:1] == ["created"]
    assert {event.data["subject"] for event in told[1:-1]} == {jobs[0]}


@pytest.mark.parametrize(
    "query, says",
    [
        ("until=99", "until: 99 is past the end of this log, which is at 1; use until=1"),
        ("until=-1", "until: expected a seq, not '-1'; a seq is a whole number, such as 0"),
        ("until=soon", "until: expected a seq, not 'soon'; a seq is a whole number, such as 0"),
        (
            "newest=progress",
            "newest: can only be used together with until; add until=SEQ, or omit newest",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_way_out(
    served: Served, query: str, says: str
) -> None:
    if not served("status", workspace="refused")["seq"]:
        served("vcs.notes.commit", workspace="refused", content="x")
    answer = served.http.get(f"/events?workspace=refused&{query}")
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert f"{error['message']}; {error['recovery']}" == says


def test_secrets_are_hidden_in_a_read_that_ends(served: Served) -> None:
    secret = "ghp_" + "a" * 30
    made = served("jobs.create", workspace="hidden", title=f"key {secret}", prompt="P")
    with served.events("workspace=hidden&until=1&newest=created&stream=jobs") as events:
        told = list(events)
    assert told[1].data["subject"] == made["job"]["id"]
    assert secret not in str(told)
