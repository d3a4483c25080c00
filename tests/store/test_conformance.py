"""The behavior that all engines share; this whole file runs on each of them."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.kernel.errors import (
    Conflict,
    InternalError,
    InvalidInput,
    ProjectGuardMismatch,
    StoreError,
)
from longhouse.store.database import Database
from longhouse.store.queries import Query
from longhouse.store.tx import LogEvent, Refused, Tx, sql
from tests.store.kit import CALL, WS, fail, keys, lane_held, log, put, together


def both(name: str, text: str) -> Query:
    return Query(name, text, text)


def test_a_write_is_read_back_with_the_seq_it_was_given(db: Database) -> None:
    assert db.write(WS, put("a"), CALL) == 1
    assert db.write(WS, put("b"), CALL) == 2
    assert log(db) == [(1, "a"), (2, "b")]
    assert db.read(WS, lambda tx: tx.last_seq(), CALL) == 2


def test_a_workspace_that_does_not_exist_reads_as_empty_and_is_made_by_a_write(
    db: Database,
) -> None:
    assert log(db, "new") == []
    assert db.read("new", lambda tx: tx.last_seq(), CALL) == 0
    db.write("new", put("a"), CALL)
    assert log(db, "new") == [(1, "a")]


def test_each_workspace_counts_for_itself(db: Database) -> None:
    seqs = [db.write(ws, put("a"), CALL) for ws in ("one", "two")]
    assert seqs == [1, 1]


def test_a_failed_write_leaves_nothing_not_even_its_workspace(db: Database) -> None:
    with pytest.raises(Conflict, match="no"):
        db.write(WS, put("a", then=fail(Conflict("no"))), CALL)
    assert not db.read(WS, lambda tx: tx.all(sql.workspace_names, limit=9), CALL)
    assert db.write(WS, put("b"), CALL) == 1
    assert keys(db) == ["b"]


async def test_a_failed_write_harms_no_other_of_its_batch(db: Database) -> None:
    results = await together(
        db,
        put("a"),
        put("b", then=fail(ValueError("defect"))),
        put("c"),
        fail(Conflict("no")),
        put("d"),
    )
    assert results[::2] == [1, 2, 3]
    assert isinstance(results[1], InternalError)
    assert isinstance(results[1].__cause__, ValueError)
    assert isinstance(results[3], Conflict)
    assert (keys(db), log(db)) == (["a", "c", "d"], [(1, "a"), (2, "c"), (3, "d")])


async def test_failed_writes_of_one_batch_leave_no_workspace_either(db: Database) -> None:
    loop, held, go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        loop.call_soon_threadsafe(held.set)
        assert go.wait(60)
        raise Conflict("first")

    writes = [asyncio.create_task(db.write_async(WS, hold, CALL))]
    await held.wait()
    writes += [
        asyncio.create_task(db.write_async(WS, fail(Conflict(what)), CALL))
        for what in ("second", "third")
    ]
    await asyncio.sleep(0)
    go.set()
    found = await asyncio.gather(*writes, return_exceptions=True)
    assert [str(one) for one in found] == ["first", "second", "third"]
    assert db.workspaces() == []


async def test_a_statement_that_breaks_a_constraint_is_a_defect_of_its_write_alone(
    db: Database,
) -> None:
    results = await together(db, put("a"), put("a"), put("b"))
    assert [results[0], results[2]] == [1, 2]
    assert isinstance(results[1], InternalError)
    with pytest.raises(InternalError):
        db.write(WS, put("b"), CALL)
    assert log(db) == [(1, "a"), (2, "b")]


async def test_a_write_that_only_counts_does_not_pay_for_the_statement_of_another(
    db: Database,
) -> None:
    def count(tx: Tx) -> tuple[int, int]:
        return tx.count("thing"), tx.append("keys", "counted", "put")

    found = await together(db, put("a"), put("a"), count, put("b"))
    assert isinstance(found[1], InternalError)
    assert [found[0], *found[2:]] == [1, (1, 2), 3]
    assert log(db) == [(1, "a"), (2, "counted"), (3, "b")]


def refuse(key: str) -> Callable[[Tx], Refused]:
    def work(tx: Tx) -> Refused:
        put(key)(tx)
        return Refused(Conflict("no"), [LogEvent(stream="keys", subject=key, kind="refused")])

    return work


async def test_a_refusal_keeps_its_events_and_nothing_else(db: Database) -> None:
    assert isinstance(db.write(WS, refuse("a"), CALL), Refused)
    results = await together(db, put("b"), refuse("c"), put("d"))
    assert results[0] == 2
    assert isinstance(results[1], Refused)
    assert results[2] == 4
    assert keys(db) == ["b", "d"]
    assert log(db) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


async def test_a_refusal_whose_record_is_faulty_is_a_defect_of_its_write_alone(
    db: Database,
) -> None:
    event = LogEvent(stream="keys", subject="x", kind="refused", data={"odd": object()})
    results = await together(db, put("a"), lambda _: Refused(Conflict("no"), [event]), put("b"))
    assert isinstance(results[1], InternalError)
    assert log(db) == [(1, "a"), (2, "b")]


async def test_writes_of_one_batch_see_each_other_and_the_seq_they_have(db: Database) -> None:
    results = await together(
        db, put("a"), lambda tx: (tx.last_seq(), tx.one(sql.log_one, seq=1)), workspace="w"
    )
    assert results[1][0] == 1
    assert results[1][1]["subject"] == "a"


def test_a_read_sees_one_snapshot_whatever_is_written_meanwhile(db: Database) -> None:
    db.write(WS, put("a"), CALL)

    def look(tx: Tx) -> tuple[int, int, int]:
        before = tx.last_seq()
        writer = threading.Thread(target=db.write, args=(WS, put("b"), CALL))
        writer.start()
        writer.join()
        return before, tx.last_seq(), len(tx.all(sql.log_after, after=0, limit=9))

    assert db.read(WS, look, CALL) == (1, 1, 1)
    assert len(log(db)) == 2


def test_a_read_cannot_write(db: Database) -> None:
    db.write(WS, put("a"), CALL)
    with pytest.raises(InternalError):
        db.read(WS, put("b"), CALL)
    assert log(db) == [(1, "a")]


def test_a_workspace_of_another_project_is_refused_to_readers_and_writers(
    new_db: Callable[..., Database],
) -> None:
    new_db("repo:one").write(WS, put("a"), CALL)
    other = new_db("repo:two")
    with pytest.raises(ProjectGuardMismatch, match="repo:one"):
        other.write(WS, put("b"), CALL)
    with pytest.raises(ProjectGuardMismatch, match="repo:one"):
        other.read(WS, lambda tx: tx.last_seq(), CALL)


def test_a_workspace_needs_a_proper_name(db: Database) -> None:
    with pytest.raises(InvalidInput):
        db.write("no good", put("a"), CALL)


def test_values_are_the_same_on_every_engine(db: Database) -> None:
    columns = (
        "CAST(:big AS INTEGER) AS big, CAST(:text AS TEXT) AS text, CAST(:none AS TEXT) AS none, "
        "CAST(:yes AS INTEGER) AS yes, 1 < 2 AS less, CAST(:none AS TEXT) IS NULL AS absent"
    )
    given = {"big": 2**62, "text": "Zoë's 100% — ✓ \\ \"", "none": None, "yes": True}
    row = db.read(WS, lambda tx: tx.one(both("values", f"SELECT {columns}"), **given), CALL)
    assert row == {**given, "less": 1, "absent": 1}
    assert all(type(row[name]) is int for name in ("big", "yes", "less", "absent"))


def test_sums_are_whole_numbers_and_text_sorts_by_code_point(db: Database) -> None:
    for key in ("b", "B", "a", "_", "é"):
        db.write(WS, put(key), CALL)
    assert keys(db) == ["B", "_", "a", "b", "é"]
    total = db.read(
        WS, lambda tx: tx.value(both("sum", "SELECT SUM(seq) AS n FROM log WHERE ws = :ws")), CALL
    )
    assert (type(total), total) == (int, 15)


def test_many_rows_are_written_by_one_statement(db: Database) -> None:
    def work(tx: Tx) -> None:
        rows = [
            {"key": f"k{n}", "cmd": "c", "digest": "d", "ts_ms": n, "answer": "{}"}
            for n in range(50)
        ]
        tx.many(sql.idempotency_put, rows)

    db.write(WS, work, CALL)
    assert len(keys(db)) == 50


def test_a_counter_counts_in_order(db: Database) -> None:
    assert [db.write(WS, lambda tx: tx.count("job"), CALL) for _ in range(3)] == [1, 2, 3]


def test_seqs_taken_together_are_consecutive_and_unused_when_the_write_fails(
    db: Database,
) -> None:
    with pytest.raises(Conflict):
        db.write(WS, lambda tx: tx.seqs(5) and fail(Conflict("no"))(tx), CALL)
    assert db.write(WS, lambda tx: tx.seqs(3), CALL) == 1
    assert db.write(WS, lambda tx: tx.seqs(1), CALL) == 4


def test_a_closed_store_refuses_politely(db: Database) -> None:
    db.write(WS, put("a"), CALL)
    db.close()
    db.close()
    for workspace in (WS, "another"):
        with pytest.raises(StoreError, match="closed"):
            db.write(workspace, put("b"), CALL)
        with pytest.raises(StoreError, match="closed"):
            db.read(workspace, lambda tx: tx.last_seq(), CALL)


async def test_closing_lets_waiting_writes_finish(new_db: Callable[..., Database]) -> None:
    db = new_db()
    async with lane_held(db):
        waiting = [asyncio.create_task(db.write_async(WS, put(str(n)), CALL)) for n in range(5)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(db.close))
    await closing
    assert await asyncio.gather(*waiting) == [1, 2, 3, 4, 5]
    assert len(keys(new_db())) == 5


async def test_a_write_that_was_cancelled_before_its_turn_is_not_done(db: Database) -> None:
    loop, held, go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        loop.call_soon_threadsafe(held.set)
        assert go.wait(60)

    first = asyncio.create_task(db.write_async(WS, hold, CALL))
    await held.wait()
    gone = asyncio.create_task(db.write_async(WS, put("gone"), CALL))
    kept = asyncio.create_task(db.write_async(WS, put("kept"), CALL))
    await asyncio.sleep(0)
    gone.cancel()
    go.set()
    await first
    await kept
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert log(db) == [(1, "kept")]


def test_a_store_opened_twice_in_one_process_is_one_store(
    new_db: Callable[..., Database],
) -> None:
    one, two = new_db(), new_db()
    assert [one.write(WS, put("a"), CALL), two.write(WS, put("b"), CALL)] == [1, 2]
    assert keys(one) == keys(two) == ["a", "b"]
    assert one.engine.schema_version() == two.engine.schema_version() > 0
    assert one.engine.size_bytes() > 0


def test_a_percent_sign_in_a_query_is_kept(db: Database) -> None:
    query = Query("like", "SELECT 'a%' AS a", "SELECT 'a%' AS a")
    assert db.read(WS, lambda tx: tx.value(query), CALL) == "a%"


def test_a_store_that_was_used_and_closed_leaves_nothing_open(
    new_db: Callable[..., Database],
) -> None:
    new_db().close()
    before = _open_files()
    db = new_db()
    db.write(WS, put("a"), CALL)
    assert db.wakeups.wait(WS, 0, 0)
    assert len(_open_files()) > len(before)
    db.close()
    assert _open_files() == before


def _open_files() -> list[str]:
    """What this process has open, without what the libraries open for themselves."""
    folder = Path("/proc/self/fd")
    found = (one.readlink() if one.is_symlink() else one for one in folder.iterdir())
    return sorted(re.sub(r"\[[0-9]+\]", "", str(one)) for one in found if "/proc/" not in str(one))
