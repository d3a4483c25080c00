"""The log as server-sent events: every event once and in order."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, MutableMapping
from itertools import islice
from typing import Any

import anyio
import pytest
from starlette.requests import Request

from longhouse.dispatch import Caller
from longhouse.dispatch.events import Filter
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.surfaces.http import events as events_module
from longhouse.surfaces.http import feed as feed_module
from longhouse.surfaces.http.metrics import Metrics
from tests.surfaces.serving import Served, parse


def write(served: Served, workspace: str, count: int) -> None:
    for number in range(count):
        served("vcs.notes.commit", workspace=workspace, content=f"n{number}")


def test_a_follower_gets_what_was_and_what_comes_in_order(served: Served) -> None:
    write(served, "order", 3)
    with served.events("workspace=order&after=0") as events:
        hello = next(events)
        assert (hello.name, hello.data["head"]) == ("hello", 3)
        assert [event.id for event in islice(events, 3)] == [1, 2, 3]
        write(served, "order", 2)
        later = list(islice(events, 2))
    assert [event.id for event in later] == [4, 5]
    assert later[0].name == "memory"
    assert later[0].data["ref"] == "notes@4"


def test_without_a_place_to_start_a_follower_starts_at_the_end(served: Served) -> None:
    write(served, "tail", 2)
    with served.events("workspace=tail") as events:
        assert next(events).id == 2
        write(served, "tail", 1)
        assert next(events).id == 3


def test_a_follower_resumes_after_the_last_id_without_loss_or_repeat(served: Served) -> None:
    write(served, "resume", 4)
    seen = []
    with served.events("workspace=resume&after=0") as events:
        seen += [event.id for event in islice(events, 3)][1:]
    write(served, "resume", 4)
    last = {"Last-Event-ID": str(seen[-1])}
    with served.events("workspace=resume&after=0", **last) as events:
        next(events)
        seen += [event.id for event in islice(events, 6)]
    assert seen == list(range(1, 9))


def test_streams_and_subjects_filter_what_is_sent(served: Served) -> None:
    write(served, "filter", 1)
    job = served("jobs.create", workspace="filter", title="T", prompt="P")["job"]["id"]
    served("jobs.create", workspace="filter", title="U", prompt="P")
    with served.events("workspace=filter&after=0&stream=jobs") as events:
        next(events)
        assert [event.name for event in islice(events, 2)] == ["jobs", "jobs"]
    with served.events(f"workspace=filter&after=0&subject={job}") as events:
        next(events)
        assert next(events).data["subject"] == job
        write(served, "filter", 1)
        served("jobs.claim", workspace="filter", job=job, runner_id="r1")
        assert next(events).data["kind"] == "claimed"
    with served.events("workspace=filter&after=0&stream=jobs&stream=memory") as events:
        next(events)
        assert len({event.name for event in islice(events, 3)}) == 2


def test_a_far_behind_follower_reads_on_from_the_store(served: Served) -> None:
    write(served, "behind", 5)
    with (
        served.events("workspace=behind") as newest,
        served.events("workspace=behind&after=1") as behind,
    ):
        next(newest)
        next(behind)
        assert [event.id for event in islice(behind, 4)] == [2, 3, 4, 5]
        write(served, "behind", 1)
        assert next(behind).id == next(newest).id == 6


def test_secrets_are_hidden_in_events_too(served: Served) -> None:
    secret = "ghp_" + "a" * 30
    with served.events("workspace=hidden&after=0") as events:
        next(events)
        served("vcs.notes.commit", workspace="hidden", content="x", title=f"key {secret}")
        event = next(events)
    assert event.data["data"]["title"] == "key <redacted>"


def test_a_text_that_an_agent_chose_cannot_forge_an_event(served: Served) -> None:
    job = served("jobs.create", workspace="forge", title="T", prompt="P")["job"]["id"]
    claim = served("jobs.claim", workspace="forge", job=job, runner_id="r1")["job"]
    served(
        "jobs.report",
        workspace="forge",
        job=job,
        runner_id="r1",
        claim_revision=claim["revision"],
        message="m\n\nid: 99\ndata: x",
    )
    with served.events("workspace=forge&after=0") as events:
        next(events)
        reported = list(islice(events, 3))[2]
    assert (reported.id, reported.data["data"]["message"]) == (3, "m\n\nid: 99\ndata: x")


def test_streams_are_counted_while_they_are_open(served: Served) -> None:
    with served.events("workspace=counted") as events:
        next(events)
        assert served.metric("longhouse_sse_subscribers") == 1


async def test_a_reader_that_takes_nothing_is_told_where_to_resume(
    new_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "STALL_S", 0.02)
    house = new_house()
    for number in range(6):
        house.call("vcs.notes.commit", {"content": "c", "title": f"{number}" * 190})
    monkeypatch.setattr(feed_module, "BATCH_BYTES", 100)
    reader = StuckReader(takes=4)
    feeds, metrics = feed_module.Feeds(house), Metrics()
    events = events_module.Events(house.dispatcher, feeds, metrics)
    response = await events.answer(reader.request())
    await response(reader.scope, reader.receive, reader.send)
    feeds.close()
    told = list(parse(iter(reader.bodies)))
    assert [(event.name, event.id) for event in told] == [
        ("hello", 0),
        ("memory", 1),
        ("memory", 2),
        ("memory", 3),
        ("resume", 3),
    ]
    assert reader.ended
    assert metrics.resumes == 1


def test_a_reader_that_wakes_up_late_hears_where_to_go_on(serve: Callable[..., Served]) -> None:
    served = serve(stall_s=0.3)
    fence = claimed_job(served)
    host, port = served.url.removeprefix("http://").split(":")
    with socket.socket() as slow, served.client(served.token) as http:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.settimeout(10)
        slow.connect((host, int(port)))
        slow.sendall(
            f"GET /events?after=0 HTTP/1.0\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {served.token}\r\n\r\n".encode()
        )
        while not served.metric("longhouse_sse_resumes_total"):
            for _ in range(20):
                http.post("/call/jobs.report", json=fence).raise_for_status()
        written = served("status")["seq"]
        got = b"".join(iter(lambda: slow.recv(65_536), b""))
    told = list(parse(chunks(got.partition(b"\r\n\r\n")[2])))
    assert told[-1].name == "resume"
    last = told[-1].data["after"]
    assert [event.id for event in told[1:-1]] == list(range(1, last + 1))
    assert last < written


def claimed_job(served: Served) -> dict[str, Any]:
    """The arguments of a report that makes a large event."""
    job = served("jobs.create", title="T", prompt="P")["job"]["id"]
    claim = served("jobs.claim", job=job, runner_id="r1")["job"]
    return {
        "job": job,
        "runner_id": "r1",
        "claim_revision": claim["revision"],
        "message": "m",
        "meta": {"large": "x" * 15_000},
    }


def chunks(body: bytes) -> Iterator[bytes]:
    """The content of a chunked body."""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        yield rest[:length]
        body = rest[length + 2 :]


def test_a_head_request_does_not_follow(served: Served) -> None:
    assert served.http.head("/events").status_code == 405


class StuckReader:
    """A client whose buffer is full after some chunks, as the web server sees it: `send` waits.

    It takes bytes again once it has been given up, like a client that wakes up late.
    """

    def __init__(self, takes: int) -> None:
        self._takes = takes
        self.bodies: list[bytes] = []
        self.ended = False
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "query_string": b"after=0",
            "headers": [],
            "longhouse.caller": Caller(Role.VIEWER),
        }

    def request(self) -> Request:
        return Request(self.scope, self.receive)

    async def receive(self) -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            return
        if len(self.bodies) == self._takes and message["more_body"]:
            await anyio.sleep_forever()
        self.bodies.append(message["body"])
        self.ended = not message["more_body"]


async def test_the_ring_forgets_its_oldest_rows_and_the_store_still_has_them(
    new_house: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "RING_FRAMES", 8)
    monkeypatch.setattr(feed_module, "PAGE_ROWS", 5)
    house = new_house()
    feeds = feed_module.Feeds(house)
    async with feeds.follow("acme") as feed:
        for _ in range(40):
            house.call("vcs.notes.commit", {"content": "c"})
        at, seen = 0, []
        while at < 40:
            assert await feed.moved(at, 5)
            page = await feed.page(at, Filter())
            seen += [event.id for event in parse(iter([page.wire]))]
            at = page.upto
            assert len(feed._frames) <= 8
    feeds.close()
    assert seen == list(range(1, 41))
