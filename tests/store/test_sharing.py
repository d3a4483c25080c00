"""What the writes of one transaction share: collected log rows, and what one of them has read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict, LonghouseError
from longhouse.store.database import Database
from longhouse.store.queries import Query
from longhouse.store.tx import Asking, Call, Tx
from tests.kit import CountedIds
from tests.store.kit import CALL, KEYS, WS, fail, keys, lane_held, log, put, together

NOW = 1_800_000_000_000

COUNT = Query(
    "count",
    "SELECT COUNT(*) AS rows FROM log WHERE ws = :ws",
    "SELECT COUNT(*) AS rows FROM log WHERE ws = :ws",
)


def logged(tx: Tx) -> Any:
    return tx.value(COUNT)


async def test_whoever_reads_the_log_reads_all_that_was_logged_before(db: Database) -> None:
    assert await together(db, put("a", then=logged), put("b"), logged, put("c", then=logged)) == [
        1,
        2,
        2,
        3,
    ]
    assert log(db) == [(1, "a"), (2, "b"), (3, "c")]


async def test_one_that_fails_after_it_read_the_log_takes_no_other_row_along(db: Database) -> None:
    def regret(tx: Tx) -> None:
        assert logged(tx) == 2
        raise Conflict("no")

    found = await together(db, put("a"), put("b", then=regret), put("c", then=logged))
    assert (found[0], type(found[1]), found[2]) == (1, Conflict, 2)
    assert log(db) == [(1, "a"), (2, "c")]


async def test_one_that_fails_having_only_read_the_log_harms_nobody(db: Database) -> None:
    def look(tx: Tx) -> None:
        assert logged(tx) == 1
        raise Conflict("no")

    found = await together(db, put("a"), look, put("b", then=logged))
    assert (found[0], type(found[1]), found[2]) == (1, Conflict, 2)
    assert log(db) == [(1, "a"), (2, "b")]


async def test_a_question_about_the_log_is_about_all_of_it(db: Database) -> None:
    def ask(tx: Tx) -> Asking[int]:
        put("b")(tx)
        rows = yield tx.ask(COUNT)
        count: int = rows[0]["rows"]
        return count

    work: Callable[[Tx], Any] = ask
    assert (await together(db, put("a"), work, asking=[work]))[1] == 2


@pytest.mark.parametrize("subject", ["nul\0", "half \ud800", "twice"])
async def test_a_row_that_cannot_be_written_is_the_fault_of_its_own_write(
    db: Database, subject: str
) -> None:
    def bad(tx: Tx) -> None:
        tx.append("keys", subject, "put", seq=1 if subject == "twice" else None)

    found = await together(db, put("a"), bad, put("b"))
    if db.engine.local and subject == "nul\0":  # which SQLite keeps
        assert found == [1, None, 3]
        return
    assert (found[0], isinstance(found[1], LonghouseError), found[2]) == (1, True, 2)
    assert log(db) == [(1, "a"), (2, "b")]


class Learnt:
    """What is expensive to read."""

    def __init__(self, tx: Tx) -> None:
        self.keys = [row["key"] for row in tx.all(KEYS)]


def look(tx: Tx) -> Asking[list[str]]:
    """The keys, read only if no earlier call in the same run has read them."""
    before: Learnt | None = tx.shared.get(Learnt)
    learnt = tx.shared[Learnt] = before or Learnt(tx)
    yield tx.ask(KEYS)
    return learnt.keys if before else ["read", *learnt.keys]


async def test_what_one_learnt_serves_those_right_behind_it_that_ask_the_same(
    db: Database,
) -> None:
    work: Callable[[Tx], Any] = look
    works = [put("a"), work, work, put("c"), work, work]
    found = await together(db, *works, asking=[work])
    assert found == [1, ["read", "a"], ["a"], 2, ["read", "a", "c"], ["a", "c"]]
    assert db.write(WS, work, CALL) == ["read", "a", "c"]
    assert db.read(WS, work, CALL) == ["read", "a", "c"]


async def test_what_one_learnt_is_forgotten_when_the_batch_is_run_again(db: Database) -> None:
    work: Callable[[Tx], Any] = look
    spoils = put("b", then=fail(Conflict("no")))
    found = await together(db, work, work, spoils, work, asking=[work])
    assert found[:2] == [["read"], ["read"]]
    assert (type(found[2]), found[3]) == (Conflict, ["read"])


async def keyed(db: Database, *keyed_by: tuple[str, Callable[[Tx], Any]]) -> list[Any]:
    """Run calls with keys in one batch; each answers "again" if its key was used before."""

    def work(key: str, then: Callable[[Tx], Any]) -> Callable[[Tx], Any]:
        def run(tx: Tx) -> Any:
            if found := tx.remembered(key):
                return ("again", found["answer"])
            tx.remember(key, "put", "d", f"done by {tx.append('keys', key, 'put')}")
            return then(tx)

        return run

    async with lane_held(db):
        tasks = [
            asyncio.create_task(
                db.write_async(WS, work(key, then), Call(now_ms=NOW, ids=CountedIds(), key=key))
            )
            for key, then in keyed_by
        ]
    return await asyncio.gather(*tasks, return_exceptions=True)


def nothing(_tx: Tx) -> str:
    return "done"


async def test_calls_of_a_batch_with_the_same_key_have_one_effect(db: Database) -> None:
    found = await keyed(db, ("a", nothing), ("a", nothing), ("b", nothing))
    assert found == ["done", ("again", "done by 1"), "done"]
    assert await keyed(db, ("b", nothing), ("a", nothing)) == [
        ("again", "done by 2"),
        ("again", "done by 1"),
    ]
    assert keys(db) == ["a", "b"]


async def test_the_key_of_a_call_that_fails_stays_free(db: Database) -> None:
    no = fail(Conflict("no"))
    found = await keyed(db, ("a", no), ("b", put("x", then=no)), ("a", nothing), ("b", nothing))
    assert [str(one) for one in found] == ["no", "no", "done", "done"]
    assert keys(db) == ["a", "b"]


async def test_keys_are_looked_up_in_the_round_trip_that_locks_the_workspace(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keyed(db, ("a", nothing))
    trips: list[int] = []
    if not db.engine.local:
        from longhouse.store.postgres_connection import PostgresConnection

        send = PostgresConnection._send

        def counted(connection: Any, statements: list[Any]) -> Any:
            trips.append(len(statements))
            return send(connection, statements)

        monkeypatch.setattr(PostgresConnection, "_send", counted)
    await keyed(db, *[(f"k{n}", nothing) for n in range(8)])
    assert db.engine.local or len(trips) == 3  # of the one that held the lane, then two
