"""What the writes of one transaction share: log rows that wait, and what one of them has learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.kernel.errors import Conflict, LonghouseError
from longhouse.store.database import Database
from longhouse.store.queries import Query
from longhouse.store.tx import Asking, Tx, sql
from tests.store.kit import CALL, KEYS, WS, keys, log, put, together

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
    """What it costs a read to know."""

    def __init__(self, tx: Tx) -> None:
        self.keys = [row["key"] for row in tx.all(KEYS)]


def look(tx: Tx) -> list[str]:
    """The keys, read only if nobody who came before has done so."""
    learnt = tx.recall(Learnt)
    if learnt is None:
        learnt = Learnt(tx)
        tx.keep(learnt, despite={sql.counter_store})
        return ["read", *learnt.keys]
    return learnt.keys


async def test_what_one_learnt_serves_the_next_until_it_is_outdated(db: Database) -> None:
    def only_logs(tx: Tx) -> int:
        tx.run(sql.counter_store, name="thing", value=1)
        return tx.append("keys", "b", "put")

    found = await together(db, put("a"), look, look, only_logs, look, put("c"), look, look)
    assert found == [1, ["read", "a"], ["a"], 2, ["a"], 3, ["read", "a", "c"], ["a", "c"]]
    assert db.write(WS, look, CALL) == ["read", "a", "c"]
    assert db.read(WS, look, CALL) == ["read", "a", "c"]


async def test_what_one_that_fails_has_learnt_goes_with_it(db: Database) -> None:
    def regret(tx: Tx) -> None:
        put("b")(tx)
        assert look(tx) == ["read", "b"]
        raise Conflict("no")

    found = await together(db, regret, look)
    assert (type(found[0]), found[1]) == (Conflict, ["read"])
    assert keys(db) == []


async def test_one_knows_how_many_share_its_transaction(db: Database) -> None:
    def company(tx: Tx) -> int:
        return tx.company

    assert await together(db, company, company, company) == [3, 3, 3]
    assert (db.write(WS, company, CALL), db.read(WS, company, CALL)) == (1, 1)
