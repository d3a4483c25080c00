"""Writes that yield their statement: sent together in a batch, with the same results as apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.store.database import Database
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Asking, LogEvent, Refused, Tx, sql
from tests.store.kit import CALL, WS, keys, log, put, together

TEXT = """
    INSERT INTO idempotency (ws, key, cmd, digest, ts_ms, answer)
    SELECT :ws, :key, CAST(:count AS TEXT), 'd', 1, '{}'
    WHERE NOT EXISTS (SELECT 1 FROM idempotency WHERE ws = :ws AND key = :key)
    RETURNING key
"""
POSTGRES = TEXT.replace("SELECT :ws, :key", "SELECT CAST(:ws AS BIGINT), CAST(:key AS TEXT)")
CLAIM = Query("claim", TEXT, POSTGRES)


def claim(key: str, *, then: Callable[[Tx, Row], Any] | None = None) -> Callable[[Tx], Asking[Any]]:
    """Claim a free key with one conditional statement."""

    def work(tx: Tx) -> Asking[Any]:
        seq = tx.seqs(1)
        rows = yield tx.ask(CLAIM, key=key, count=seq)
        if not rows:
            raise Conflict(f"{key} is taken")
        tx.append("keys", key, "claimed", {"key": key}, seq=seq)
        return then(tx, rows[0]) if then else seq

    return work


class Spy:
    """Counts the round trips that answered several statements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from longhouse.store import batch

        self.crowds: list[int] = []
        ask_together = batch._ask_together

        def counted(sequences: Any, run: list[Any]) -> None:
            self.crowds.append(len(run))
            ask_together(sequences, run)

        monkeypatch.setattr(batch, "_ask_together", counted)


async def batch(db: Database, *works: Callable[[Tx], Any]) -> list[Any]:
    """Run the writes in one batch; those named for it yield a statement."""
    asking = [work for work in works if work.__qualname__.startswith("claim.")]
    return await together(db, *works, asking=asking)


async def test_questions_of_a_batch_are_answered_in_its_order(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Spy(monkeypatch)
    names = [f"k{n}" for n in range(6)]
    assert await batch(db, *(claim(name) for name in names)) == [1, 2, 3, 4, 5, 6]
    assert log(db) == [(n + 1, name) for n, name in enumerate(names)]
    assert spy.crowds == [6]


async def test_one_that_asks_something_else_sees_all_that_came_of_those_before_it(
    db: Database,
) -> None:
    def look(tx: Tx) -> Asking[list[str]]:
        before = [row["subject"] for row in tx.all(sql.log_after, after=0, limit=10)]
        yield tx.ask(CLAIM, key="z", count=1)
        return before

    claims = [claim("a"), claim("b"), claim("c")]
    kinds = {**dict.fromkeys(claims, "claim"), look: "look"}
    found = await together(db, *claims[:2], look, claims[2], asking=kinds)
    assert found == [1, 2, ["a", "b"], 3]


async def test_a_write_that_does_not_ask_sees_all_that_asked_before_it(db: Database) -> None:
    def look(tx: Tx) -> list[str]:
        put("b")(tx)
        return [row["key"] for row in tx.all(KEYS_NOW)]

    _, seen, _ = await batch(db, claim("a"), look, claim("c"))
    assert seen == ["a", "b"]
    assert log(db) == [(1, "a"), (2, "b"), (3, "c")]


KEYS_NOW = Query(
    "keys_now",
    "SELECT key FROM idempotency WHERE ws = :ws ORDER BY key",
    "SELECT key FROM idempotency WHERE ws = :ws ORDER BY key",
)


async def test_one_that_reads_before_it_asks_reads_what_others_asked_for(db: Database) -> None:
    def reader(tx: Tx) -> Asking[Any]:
        before = [row["key"] for row in tx.all(KEYS_NOW)]
        yield tx.ask(CLAIM, key="b", count=1)
        tx.append("keys", "b", "claimed")
        return before

    reader.__qualname__ = "claim.reader"
    assert (await batch(db, claim("a"), reader))[1] == ["a"]


async def test_one_that_fails_leaves_nothing_and_harms_no_other(db: Database) -> None:
    found = await batch(db, claim("a"), claim("a"), claim("b"), claim("b"), claim("c"))
    assert [str(one) if isinstance(one, Exception) else one for one in found] == [
        1,
        "a is taken",
        2,
        "b is taken",
        3,
    ]
    assert log(db) == [(1, "a"), (2, "b"), (3, "c")]


async def test_one_that_fails_after_its_answer_is_undone_alone(db: Database) -> None:
    def regret(_tx: Tx, _row: Row) -> None:
        raise InvalidInput("no")

    found = await batch(db, claim("a"), claim("b", then=regret), claim("c"))
    assert [type(one) for one in found] == [int, InvalidInput, int]
    assert keys(db) == ["a", "c"]
    assert log(db) == [(1, "a"), (2, "c")]


async def test_a_refusal_of_one_that_asks_leaves_its_record(db: Database) -> None:
    def refuse(_tx: Tx, _row: Row) -> Refused:
        event = LogEvent(stream="keys", subject="b", kind="refused")
        return Refused(Conflict("not now"), [event])

    found = await batch(db, claim("a"), claim("b", then=refuse), claim("c"))
    assert isinstance(found[1], Refused)
    assert keys(db) == ["a", "c"]
    assert log(db) == [(1, "a"), (2, "b"), (3, "c")]


async def test_one_may_ask_again_or_nothing_at_all(db: Database) -> None:
    def twice(tx: Tx) -> Asking[int]:
        yield tx.ask(CLAIM, key="a", count=1)
        rows = yield tx.ask(CLAIM, key="b", count=1)
        tx.append("keys", "ab", "claimed")
        return len(rows)

    def never(tx: Tx) -> Asking[str]:
        tx.append("keys", "none", "claimed")
        return "done"
        yield  # type: ignore[unreachable]

    twice.__qualname__ = never.__qualname__ = "claim.other"
    found = await batch(db, twice, never, claim("c"))
    assert found[:2] == [1, "done"]
    assert keys(db) == ["a", "b", "c"]
    assert {subject for _, subject in log(db)} == {"ab", "none", "c"}


def test_a_lone_write_and_a_read_may_ask(db: Database) -> None:
    assert db.write(WS, claim("a"), CALL, asks="the same") == 1
    assert db.write(WS, claim("b"), CALL) == 2

    def look(tx: Tx) -> Asking[list[Row]]:
        return (yield tx.ask(KEYS_NOW))

    work: Callable[[Tx], Any] = look
    assert db.read(WS, work, CALL) == [{"key": "a"}, {"key": "b"}]


def test_several_questions_are_answered_in_one_round_trip(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    flights: list[int] = []
    if not db.engine.local:
        from longhouse.store.postgres_connection import PostgresConnection

        send = PostgresConnection._send

        def counted(connection: Any, statements: list[Any]) -> Any:
            flights.append(len(statements))
            return send(connection, statements)

        monkeypatch.setattr(PostgresConnection, "_send", counted)

    def ask(tx: Tx) -> list[list[str]]:
        questions = [tx.ask(KEY_NOW, key=key) for key in ("a", "nobody", "b", "a")]
        return [[row["key"] for row in rows] for rows in tx.answers(questions)]

    def claims(tx: Tx) -> list[bool]:
        questions = [tx.ask(CLAIM, key=key, count=1) for key in ("a", "b", "a")]
        found = [bool(rows) for rows in tx.answers(questions)]
        assert tx.dirty
        return found

    assert db.write(WS, claims, CALL) == [True, True, False]
    for _ in range(2):
        flights.clear()
        assert db.read(WS, ask, CALL) == [["a"], [], ["b"], ["a"]]
    assert db.engine.local or flights == [5]
    assert db.read(WS, lambda tx: tx.answers([]), CALL) == []


KEY_NOW = Query(
    "key_now",
    "SELECT key FROM idempotency WHERE ws = :ws AND key = :key",
    "SELECT key FROM idempotency WHERE ws = :ws AND key = :key",
)
