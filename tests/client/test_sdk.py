"""The SDK: the same calls through a server and without one, blocking and awaited."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

import pytest

import longhouse
from longhouse.client.aio import AsyncClient
from longhouse.client.sync import Client
from longhouse.config import Settings
from longhouse.desk.types.status import GetStatus
from longhouse.desk.types.system import Open
from longhouse.jobs.types.jobs import ClaimJob, CreateJob, JobCreated, JobOpened
from longhouse.kernel.errors import Conflict, InvalidInput, UnknownId, Unreachable
from longhouse.kernel.values import Request
from longhouse.memory.types.documents import CommitNote, ShowDocument
from tests.client.conftest import down, up


@pytest.fixture(params=["embedded", "remote"])
def lh(request: pytest.FixtureRequest, store: Settings) -> Iterator[Client]:
    if request.param == "remote":
        served: Settings = request.getfixturevalue("served")
        client = longhouse.connect(dir=served.dir, workspace=request.node.name[:40].split("[")[0])
    else:
        client = longhouse.connect(dir=store.dir, workspace="acme", embedded=True)
    with client:
        yield client


def test_a_request_gives_its_typed_result(lh: Client) -> None:
    made = assert_type(lh(CreateJob(title="Look", prompt="Look at it.")), JobCreated)
    assert isinstance(made, JobCreated)
    assert (made.job.title, made.job.status) == ("Look", "QUEUED")


def test_open_gives_the_type_of_what_was_opened(lh: Client) -> None:
    job = lh(CreateJob(title="Look", prompt="Look at it.")).job
    assert isinstance(lh(Open(id=job.id)), JobOpened)


def test_a_refusal_is_raised_as_its_own_error_with_what_to_do_next(lh: Client) -> None:
    with pytest.raises(UnknownId) as caught:
        lh(ClaimJob(job="JOB-999", runner_id="r"))
    assert caught.value.recovery
    with pytest.raises(InvalidInput) as wrong:
        lh(ShowDocument(limit=0))
    assert wrong.value.actions


def test_the_same_key_has_one_effect(lh: Client) -> None:
    note = CommitNote(content="once")
    assert lh(note, idempotency_key="k").ref == lh(note, idempotency_key="k").ref
    with pytest.raises(Conflict):
        lh(CommitNote(content="other"), idempotency_key="k")


def test_a_workspace_can_be_chosen_for_one_call(lh: Client) -> None:
    lh(CommitNote(content="there"), workspace="there")
    assert lh(ShowDocument(doc_kind="notes")).entries == []
    assert len(lh(ShowDocument(doc_kind="notes"), workspace="there").entries) == 1


def test_a_budget_cuts_the_answer_and_keeps_its_type(lh: Client) -> None:
    for n in range(5):
        lh(CommitNote(content=f"{n} " + "x" * 400))
    page = lh(ShowDocument(doc_kind="notes"), max_chars=900)
    assert 0 < len(page.entries) < 5
    assert page.pagination.has_more


def test_the_raw_call_gives_envelopes_and_lines_and_raises_nothing(lh: Client) -> None:
    refused = lh.call("no.such.command")
    assert isinstance(refused, dict)
    assert refused["error"]["code"] == "UNKNOWN_CMD"
    assert isinstance(lh.call("status", {"fmt": "lines"}), str)
    text = lh.call("docs.show", {"fmt": "lines", "limit": 0})
    assert isinstance(text, str)
    assert text.startswith("ERROR: ")


def test_the_log_is_read_in_order_and_by_stream(lh: Client) -> None:
    lh(CommitNote(content="a"))
    lh(CreateJob(title="Look", prompt="Look at it."))
    lh(CommitNote(content="b"))
    assert [row.seq for row in lh.events()] == [1, 2, 3]
    assert [row.ref for row in lh.events(after=1)] == ["JOB-001@2", "notes@3"]
    assert [row.stream for row in lh.events(streams=["jobs"])] == ["jobs"]
    assert list(lh.events(after=3)) == []


def test_a_follower_hears_of_what_is_written_later(lh: Client) -> None:
    lh(CommitNote(content="before"))
    rows = lh.events(after=0, follow=True)
    assert next(rows).seq == 1
    writer = threading.Thread(target=lambda: lh(CommitNote(content="after")))
    writer.start()
    assert next(rows).seq == 2
    writer.join()


def test_a_stranger_is_not_a_request(lh: Client) -> None:
    class Stranger(Request, frozen=True, kw_only=True):
        pass

    with pytest.raises(InvalidInput, match="Stranger"):
        lh(Stranger())


def test_threads_share_one_client(lh: Client) -> None:
    threads = [
        threading.Thread(target=lambda n=n: lh(CommitNote(content=str(n)))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    notes = lh(ShowDocument(doc_kind="notes")).entries
    assert sorted(entry.content for entry in notes) == [str(n) for n in range(8)]


@pytest.fixture(params=["embedded", "remote"])
async def alh(request: pytest.FixtureRequest, store: Settings) -> AsyncIterator[AsyncClient]:
    if request.param == "remote":
        served: Settings = request.getfixturevalue("served")
        client = longhouse.connect_async(
            dir=served.dir, workspace=request.node.name[:40].split("[")[0]
        )
    else:
        client = longhouse.connect_async(dir=store.dir, workspace="acme", embedded=True)
    async with client:
        yield client


async def test_awaited_calls_run_side_by_side(alh: AsyncClient) -> None:
    import asyncio

    await asyncio.gather(*(alh(CommitNote(content=str(n))) for n in range(8)))
    assert (await alh(GetStatus())).seq == 8
    assert [row.seq async for row in alh.events(after=4)] == [5, 6, 7, 8]


async def test_awaited_refusals_are_raised_and_raw_ones_returned(alh: AsyncClient) -> None:
    with pytest.raises(UnknownId):
        await alh(ClaimJob(job="JOB-999", runner_id="r"))
    envelope = await alh.call("no.such.command")
    assert isinstance(envelope, dict)
    assert not envelope["success"]
    assert isinstance(await alh.call("status", {"fmt": "lines"}), str)


async def test_an_awaited_follower_hears_of_what_is_written_later(alh: AsyncClient) -> None:
    import asyncio

    await alh(CommitNote(content="before"))
    rows = alh.events(after=0, follow=True, streams=["memory"])
    assert (await anext(rows)).seq == 1
    writing = asyncio.create_task(alh(CommitNote(content="after")))
    assert (await anext(rows)).seq == 2
    await writing
    await rows.aclose()


def test_a_client_finds_the_server_again_after_a_restart_on_another_port(store: Settings) -> None:
    first = up(store)
    try:
        with longhouse.connect(dir=store.dir, workspace="acme", patience_s=20) as lh:
            lh(CommitNote(content="before"))
            down(store, force=True)
            second = up(store)
            assert second.fresh
            assert first.running.pid != second.running.pid
            assert lh(GetStatus()).seq == 1
            lh(CommitNote(content="after"), idempotency_key="k")
            assert lh(GetStatus()).seq == 2
    finally:
        down(store)


async def test_an_awaiting_client_finds_it_again_too(store: Settings) -> None:
    up(store)
    try:
        async with longhouse.connect_async(dir=store.dir, workspace="acme", patience_s=20) as lh:
            await lh(CommitNote(content="before"))
            down(store, force=True)
            up(store)
            assert (await lh(GetStatus())).seq == 1
    finally:
        down(store)


def test_insisting_on_a_server_without_one_says_how_to_start_it(store: Settings) -> None:
    with pytest.raises(InvalidInput) as caught:
        longhouse.connect(dir=store.dir, embedded=False)
    assert "longhouse up" in str(caught.value.recovery)


def test_a_server_elsewhere_that_is_away_is_said_to_be_away() -> None:
    with (
        longhouse.connect("http://127.0.0.1:1", token="t", patience_s=0) as lh,
        pytest.raises(Unreachable),
    ):
        lh(GetStatus())
