"""Statements on the wire: the state of a PostgreSQL connection after anything that can go wrong."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from longhouse.kernel.errors import InternalError, InvalidInput, LonghouseError, StoreError
from longhouse.store.database import Database
from longhouse.store.postgres_connection import MAX_TOGETHER, PostgresConnection
from longhouse.store.queries import Query
from longhouse.store.tx import Asking, Tx, sql
from tests.store.kit import CALL, WS, fail, keys, log, put, together
from tests.store.test_asking import batch

ECHO = Query("echo", "", "SELECT CAST(:text AS TEXT) AS text")
ALL = Query("all", "", "SELECT * FROM idempotency WHERE ws = :ws ORDER BY key")


def owes_nul(tx: Tx) -> None:
    """Queues a statement without waiting for it."""
    put("nul\0")(tx)


def asks_nul(tx: Tx) -> None:
    put("behind")(tx)
    tx.all(ECHO, text="nul\0")


def counts(tx: Tx) -> int:
    return tx.append("keys", f"counted {tx.count('thing')}", "put")


def types(found: list[Any]) -> list[type]:
    return [type(one) for one in found]


async def test_text_that_the_server_cannot_hold_fails_in_the_write_that_has_it(
    store: Database,
) -> None:
    found = await together(store, put("a"), owes_nul, counts, put("c"))
    assert types(found) == [int, InvalidInput, int, int]
    assert log(store) == [(1, "a"), (2, "counted 1"), (3, "c")]
    assert keys(store) == ["a", "c"]


async def test_such_text_in_a_question_takes_nothing_along_that_was_owed_before_it(
    store: Database,
) -> None:
    regret = put("b", then=fail(InvalidInput("no")))
    found = await together(store, regret, put("a"), asks_nul, put("c"))
    assert types(found) == [InvalidInput, int, InvalidInput, int]
    assert log(store) == [(1, "a"), (2, "c")]
    assert keys(store) == ["a", "c"]


def test_a_transaction_that_cannot_be_committed_is_not_acknowledged(store: Database) -> None:
    store.write(WS, put("a"), CALL)

    def go_on_regardless(tx: Tx) -> None:
        with suppress(LonghouseError):
            tx.run(sql.idempotency_put, key="a", cmd="c", digest="d", ts_ms=1, answer="{}")
            tx.all(ECHO, text="paid")

    with pytest.raises(LonghouseError):
        store.write(WS, go_on_regardless, CALL)
    assert store.write(WS, put("b"), CALL) == 2


class InterruptedPoll:
    def register(self, *_: object) -> None: ...

    def poll(self, _ms: float) -> None:
        raise KeyboardInterrupt


def interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C while the next answer is awaited, not while the pool connects."""
    real = select.poll

    def poll() -> Any:
        if threading.current_thread().name.startswith("pool-"):
            return real()
        monkeypatch.setattr(select, "poll", real)
        return InterruptedPoll()

    monkeypatch.setattr(select, "poll", poll)


def test_an_interruption_is_heard_as_one_and_its_connection_is_not_used_again(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(WS, put("a"), CALL)
    interrupt(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        store.write(WS, put("b"), CALL)
    assert [store.write(WS, put(key), CALL) for key in "cd"] == [2, 3]
    assert keys(store) == ["a", "c", "d"]


def test_an_interruption_of_a_read_harms_no_later_one(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(WS, put("a"), CALL)
    interrupt(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        keys(store)
    assert [keys(store) for _ in range(3)] == [["a"]] * 3


def test_a_statement_that_the_server_stops_leaves_the_connection_whole(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    nap = Query("nap", "", "SELECT CAST(pg_sleep(5) AS TEXT) AS nap")

    def slow(tx: Tx) -> None:
        tx._connection.script("SET LOCAL statement_timeout TO '20ms'")  # type: ignore[attr-defined]
        put("b")(tx)
        tx.all(nap)

    with pytest.raises(StoreError, match="nothing was written"):
        store.write(WS, slow, CALL)
    assert store.write(WS, put("c"), CALL) == 1


def test_a_column_that_another_process_adds_costs_nobody_a_call(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    def look(tx: Tx) -> list[str]:
        return [row["key"] for row in tx.all(ALL)]

    def look_on(connections: int) -> Callable[[Tx], list[str]]:
        """Look on that many connections, each while the one before is held."""

        def work(tx: Tx) -> list[str]:
            found = look(tx)
            return store.read(WS, look_on(connections - 1), CALL) if connections > 1 else found

        return work

    store.write(WS, put("a"), CALL)
    assert store.read(WS, look_on(4), CALL) == ["a"]
    admin.execute("ALTER TABLE longhouse.idempotency ADD COLUMN extra TEXT")
    try:
        for _ in range(6):
            assert store.read(WS, look, CALL) == ["a"]
        assert store.write(WS, put("b", then=look), CALL) == ["a", "b"]
    finally:
        admin.execute("ALTER TABLE longhouse.idempotency DROP COLUMN extra")


async def test_a_flight_may_be_large_both_ways(store: Database) -> None:
    text = "x" * 100_000

    def asks(tx: Tx) -> Asking[bool]:
        rows = yield tx.ask(ECHO, text=text)
        return rows == [{"text": text}]

    asks.__qualname__ = "claim.large"
    assert await batch(store, *[asks] * 100) == [True] * 100


def test_a_statement_that_cannot_be_prepared_is_a_defect_of_its_write_alone(
    store: Database,
) -> None:
    wrong = Query("wrong", "", "SELECT nothing FROM nowhere")
    for _ in range(2):
        with pytest.raises(InternalError):
            store.write(WS, put("a", then=lambda tx: tx.all(wrong)), CALL)
    assert store.write(WS, put("b"), CALL) == 1


ADD = Query(
    "add",
    "",
    """
    INSERT INTO idempotency (ws, key, cmd, digest, ts_ms, answer)
    VALUES (:ws, :key, :key, 'd', CAST(:at AS INTEGER), :key)
""".strip(),
)
PUT = Query("put", "", ADD.postgres.text.decode() + " ON CONFLICT (ws, key) DO NOTHING")


def add(count: int, query: Query = ADD) -> Callable[[Tx], Any]:
    rows = [{"key": f"k{n:03d}", "at": n} for n in range(count)]
    return lambda tx: tx.many(query, rows)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 16, 63, 64, 65, 200])
def test_many_rows_are_written_by_few_statements(
    store: Database, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    send = PostgresConnection._send

    def counted(connection: PostgresConnection, statements: list[Any]) -> Any:
        sent.append(len(statements))
        return send(connection, statements)

    monkeypatch.setattr(PostgresConnection, "_send", counted)
    store.write(WS, add(count, SEVERAL), CALL)
    rows = store.read(WS, lambda tx: tx.all(ALL), CALL)
    assert [(row["key"], row["cmd"], row["ts_ms"]) for row in rows] == [
        (f"k{n:03d}", f"k{n:03d}", n) for n in range(count)
    ]
    entering = 3
    assert max(sent) <= max(entering, 2 + count // MAX_TOGETHER + count.bit_length())


SEVERAL = Query(
    "several",
    "",
    """
    INSERT INTO idempotency (ws, key, cmd, digest, ts_ms, answer)
    VALUES (:ws, :key, :key, :key, :at, :key)
""".strip(),
)


def test_only_a_plain_insert_is_made_one_of_many() -> None:
    twice = SEVERAL.times(2)
    assert twice is not None
    assert b"($1, $2, $2, $2, $3, $2), ($4, $5, $5, $5, $6, $5)" in twice.postgres.text
    assert SEVERAL.times(2) is twice
    assert ADD.times(2) is None
    assert PUT.times(2) is None
    assert ALL.times(2) is None


async def test_a_row_of_many_that_fails_takes_only_its_own_write_along(store: Database) -> None:
    found = await together(store, put("a"), add(5), put("k003"), put("c"))
    assert types(found) == [int, type(None), InternalError, int]
    assert keys(store) == ["a", "c", *(f"k{n:03d}" for n in range(5))]
