"""PostgreSQL as a remote server: whose schema it is, what can break, and the errors for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from longhouse.kernel.errors import StoreBusy, StoreError, StoreUnusable
from longhouse.store import migrate, postgres
from longhouse.store.database import Database
from longhouse.store.postgres import PostgresEngine
from longhouse.store.postgres_connection import PostgresConnection
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds
from tests.store.kit import CALL, KEYS, WS, child, keys, log, put


def backend(tx: Tx) -> int:
    connection = tx._connection
    assert isinstance(connection, PostgresConnection)
    return connection.db.info.backend_pid


def cut(admin: psycopg.Connection[Any], *, during: Callable[[Tx], Any], times: int = 1) -> Any:
    """A write whose connection the server cuts the first `times` it runs."""
    runs: list[int] = []

    def work(tx: Tx) -> Any:
        runs.append(backend(tx))
        if len(runs) <= times:
            admin.execute("SELECT pg_terminate_backend(%s, 5000)", (runs[-1],))
        return during(tx)

    work.runs = runs  # type: ignore[attr-defined]
    return work


def test_a_write_whose_connection_is_cut_is_done_again_on_a_fresh_one(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    store.write(WS, put("a"), CALL)
    work = cut(admin, during=put("b", then=keys_in))
    assert store.write(WS, work, CALL) == ["a", "b"]
    assert len(set(work.runs)) == 2
    assert log(store) == [(1, "a"), (2, "b")]


def keys_in(tx: Tx) -> list[str]:
    return [row["key"] for row in tx.all(KEYS)]


def test_a_read_whose_connection_is_cut_is_done_again_on_a_fresh_one(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    store.write(WS, put("a"), CALL)
    look = cut(admin, during=keys_in)
    assert store.read(WS, look, CALL) == ["a"]
    assert len(look.runs) == 2


def test_a_connection_that_is_cut_again_and_again_is_a_retryable_error(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    store.write(WS, put("a"), CALL)
    with pytest.raises(StoreBusy, match="nothing was written") as caught:
        store.write(WS, cut(admin, during=keys_in, times=9), CALL)
    assert caught.value.retryable
    assert store.write(WS, put("b"), CALL) == 2


def test_a_connection_that_is_cut_before_the_commit_reaches_the_server_costs_nobody_a_call(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    """The connection breaks in the round trip that carries COMMIT, so the server is asked."""
    store.write(WS, put("a"), CALL)
    work = cut(admin, during=put("b"))
    assert store.write(WS, work, CALL) == 2
    assert len(work.runs) == 2
    assert store.write(WS, put("c"), CALL) == len(keys(store)) == 3


def test_idle_connections_that_were_cut_cost_nobody_a_call(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    gate = threading.Barrier(5)

    def hold(tx: Tx) -> int:
        gate.wait(60)
        return backend(tx)

    threads = [
        threading.Thread(target=store.read, args=(WS, hold, CALL), daemon=True) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    gate.wait(60)
    for thread in threads:
        thread.join()
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE application_name = 'longhouse' AND datname = current_database()"
    )
    assert [store.write(WS, put(str(n)), CALL) for n in range(6)] == [1, 2, 3, 4, 5, 6]


def test_writers_of_one_workspace_wait_and_those_of_another_do_not(
    store: Database, postgres_url: str
) -> None:
    store.write("one", put("a"), CALL)
    other = Database(PostgresEngine(postgres_url))
    held, go = threading.Event(), threading.Event()

    def hold(tx: Tx) -> int:
        held.set()
        assert go.wait(60)
        return tx.append("keys", "held", "put")

    first = threading.Thread(target=other.write, args=("one", hold, CALL))
    first.start()
    assert held.wait(60)
    assert store.write("two", put("b"), CALL) == 1
    second = threading.Thread(target=store.write, args=("one", put("c"), CALL))
    second.start()
    assert [subject for _, subject in log(store, "one")] == ["a"]
    go.set()
    first.join()
    second.join()
    assert log(store, "one") == [(1, "a"), (2, "held"), (3, "c")]
    other.close()


def test_a_pool_without_a_free_connection_is_busy_not_broken(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LANES", 1)
    monkeypatch.setattr(postgres, "READERS", 0)
    monkeypatch.setattr(postgres, "PATIENCE_S", 0.2)
    db = Database(PostgresEngine(postgres_url))
    held, go = threading.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        held.set()
        assert go.wait(60)

    holder = threading.Thread(target=db.read, args=(WS, hold, CALL))
    holder.start()
    assert held.wait(60)
    with pytest.raises(StoreBusy) as caught:
        db.write(WS, put("a"), CALL)
    assert caught.value.retryable
    go.set()
    holder.join()
    assert db.write(WS, put("b"), CALL) == 1
    db.close()


def test_a_workspace_held_for_too_long_is_busy(
    store: Database, admin: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(WS, put("a"), CALL)
    monkeypatch.setattr(postgres, "_SETTINGS", postgres._SETTINGS.replace("'8s'", "'50ms'"))
    impatient = Database(PostgresEngine(admin_url(admin)))
    with admin.transaction():
        admin.execute("SELECT 1 FROM longhouse.workspaces FOR UPDATE")
        with pytest.raises(StoreBusy, match="too long"):
            impatient.write(WS, put("b"), CALL)
    assert impatient.write(WS, put("c"), CALL) == 2
    impatient.close()


def admin_url(admin: psycopg.Connection[Any]) -> str:
    return f"postgresql://postgres@/{admin.info.dbname}?host={admin.info.host}"


def test_a_server_that_does_not_answer_is_named_with_the_way_out() -> None:
    db = Database(PostgresEngine("postgresql://postgres@/x?host=/nonexistent"))
    with pytest.raises(StoreBusy, match="cannot be reached") as caught:
        keys(db)
    assert "/nonexistent" in caught.value.message
    assert "LONGHOUSE_DB" in str(caught.value.recovery)
    db.close()


def test_a_url_that_is_none_is_refused_with_the_way_out() -> None:
    with pytest.raises(StoreUnusable, match="LONGHOUSE_DB") as caught:
        PostgresEngine("postgresql://host:notaport/x")
    assert "postgresql://" in str(caught.value.recovery)


def test_a_schema_of_that_name_that_is_not_ours_is_refused(fresh_postgres_url: str) -> None:
    with psycopg.connect(fresh_postgres_url, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA longhouse")
        admin.execute("CREATE TABLE longhouse.theirs (x int)")
    with pytest.raises(StoreUnusable, match="not a Longhouse store"):
        PostgresEngine(fresh_postgres_url)


def test_a_newer_schema_is_refused(fresh_postgres_url: str) -> None:
    PostgresEngine(fresh_postgres_url).close()
    with psycopg.connect(fresh_postgres_url, autocommit=True) as admin:
        admin.execute("UPDATE longhouse.schema_version SET version = 9999")
    with pytest.raises(StoreUnusable, match="schema 9999") as caught:
        PostgresEngine(fresh_postgres_url)
    assert "newer Longhouse" in str(caught.value.recovery)


def test_a_user_who_may_not_make_the_schema_is_told_what_to_grant(
    fresh_postgres_url: str,
) -> None:
    with psycopg.connect(fresh_postgres_url, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS guest")
        admin.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(StoreUnusable, match="permission denied") as caught:
        PostgresEngine(fresh_postgres_url.replace("postgres@", "guest@"))
    assert "GRANT CREATE" in str(caught.value.recovery)


def test_an_upgrade_is_all_or_nothing(
    fresh_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresEngine(fresh_postgres_url).close()
    before = migrate.newest()
    broken = [(before + 1, "CREATE TABLE half (x int); CREATE TABLE half (y int)")]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "newest", lambda: before + 1)
        patch.setattr(migrate, "scripts", lambda *_args, **_options: broken)
        with pytest.raises(StoreError):
            PostgresEngine(fresh_postgres_url)
    engine = PostgresEngine(fresh_postgres_url)
    assert engine.schema_version() == before
    engine.close()


def test_many_processes_may_open_a_new_store_at_once(fresh_postgres_url: str) -> None:
    writers = [child(fresh_postgres_url, WS, f"p{n}", "3") for n in range(3)]
    for writer in writers:
        writer.communicate("go\n", timeout=60)
        assert writer.returncode == 0
    db = Database(PostgresEngine(fresh_postgres_url))
    assert len(keys(db)) == 9
    db.close()


def test_one_of_many_servers_leads_and_another_follows_when_it_is_gone(
    store: Database, postgres_url: str, admin: psycopg.Connection[Any]
) -> None:
    other = PostgresEngine(postgres_url)
    with other.leader() as they_lead:
        with store.engine.leader() as we_lead:
            assert (we_lead(), they_lead(), we_lead()) == (True, False, True)
        assert they_lead()
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        assert not they_lead()
        assert they_lead()
    other.close()


def test_a_full_disk_refuses_the_write_and_the_next_one_goes_on(
    store: Database, admin: psycopg.Connection[Any]
) -> None:
    store.write(WS, put("before"), CALL)
    admin.execute(
        "CREATE FUNCTION longhouse.no_room() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$"
    )
    admin.execute(
        "CREATE TRIGGER no_room BEFORE INSERT ON longhouse.log "
        "FOR EACH ROW EXECUTE FUNCTION longhouse.no_room()"
    )
    with pytest.raises(StoreError, match="disk") as refused:
        store.write(WS, put("lost"), CALL)
    assert refused.value.retryable
    admin.execute("DROP TRIGGER no_room ON longhouse.log")
    store.write(WS, put("after"), CALL)
    assert log(store) == [(1, "before"), (2, "after")]


def test_a_clock_that_goes_backwards_changes_no_order(store: Database) -> None:
    for now_ms in (2000, 1000, 1500):
        store.write(WS, put(str(now_ms)), Call(now_ms=now_ms, ids=CountedIds()))
    assert log(store) == [(1, "2000"), (2, "1000"), (3, "1500")]
