"""Named SQL: found, translated, and accepted by both databases before anything runs it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import longhouse
from longhouse.store.database import Database
from longhouse.store.postgres import PostgresEngine
from longhouse.store.queries import Queries, Query, numbered_binds
from longhouse.store.sqlite import SqliteEngine

BIND = re.compile(r"(?<![:\w]):([a-z_]\w*)")


def every_query() -> list[Query]:
    """All queries of all rooms: one `Queries` per package that has a `queries.sql`."""
    found: dict[str, Query] = {}
    for module in pkgutil.walk_packages(longhouse.__path__, "longhouse."):
        if module.ispkg:
            folder = Path(importlib.import_module(module.name).__path__[0])
            if any(folder.glob("queries*.sql")):
                found |= {query.name: query for query in Queries(module.name)}
    return [found[name] for name in sorted(found)]


def test_every_query_is_understood_by_the_database(db: Database, engine: str) -> None:
    queries = every_query()
    assert {"longhouse.store.log_append", "longhouse.jobs.job_claim"} <= {q.name for q in queries}
    wrong = list((sqlite_errors if engine == "sqlite" else postgres_errors)(db, queries))
    assert not wrong, "\n".join(wrong)


def test_every_query_is_asked_by_someone() -> None:
    sources = Path(longhouse.__path__[0]).rglob("*.py")
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    names = {query.name.rpartition(".")[2] for query in every_query()}
    unasked = {name for name in names if not re.search(rf"(sql\.|\"){name}\b", code)}
    assert unasked == set()


def sqlite_errors(db: Database, queries: list[Query]) -> Iterator[str]:
    assert isinstance(db.engine, SqliteEngine)
    with db.engine.reader() as connection:
        for query in queries:
            binds = dict.fromkeys(BIND.findall(query.sqlite))
            try:
                connection.db.execute(f"EXPLAIN {query.sqlite}", binds).fetchall()
            except Exception as error:
                yield f"{query.name}: {error}"


def postgres_errors(db: Database, queries: list[Query]) -> Iterator[str]:
    from psycopg.pq import ExecStatus

    assert isinstance(db.engine, PostgresEngine)
    with db.engine.reader() as connection:
        for query in queries:
            prepared = connection.db.pgconn.prepare(b"", query.postgres.text)
            if prepared.status != ExecStatus.COMMAND_OK:
                yield f"{query.name}: {prepared.get_error_message()}"


def test_binds_are_translated_and_text_in_quotes_is_not() -> None:
    assert numbered_binds("SELECT ':x', :x, a::b, 5 % :y, :x") == (
        b"SELECT ':x', $1, a::b, 5 % $2, $1",
        ("x", "y"),
    )
    assert numbered_binds("CAST(:n AS INTEGER)").text == b"CAST($1 AS BIGINT)"


def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> str:
    folder = tmp_path / "room_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, text in files.items():
        (folder / (name.replace("_", ".") + ".sql")).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "room_of_a_test", raising=False)
    importlib.import_module("room_of_a_test")
    return "room_of_a_test"


def test_a_comment_is_neither_a_bind_nor_a_quotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "-- name: one\n-- What isn't :bound here.\nSELECT :a\n"
    queries = Queries(package(tmp_path, monkeypatch, queries=text))
    assert (queries.one.sqlite, queries.one.postgres) == ("SELECT :a", (b"SELECT $1", ("a",)))


def test_queries_of_a_file_share_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "-- part: columns\n-- What is :told.\na,\nb\n\n"
        "-- name: one\n-- One of them.\nSELECT {columns} FROM t WHERE c = :c\n"
    )
    queries = Queries(package(tmp_path, monkeypatch, queries=text))
    assert queries.one.sqlite == "SELECT a,\nb FROM t WHERE c = :c"
    assert [query.name for query in queries] == ["room_of_a_test.one"]


def test_an_override_must_say_why_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common, override = "-- name: one\nSELECT 1\n", "-- name: one\nSELECT 2\n"
    name = package(tmp_path, monkeypatch, queries=common, queries_postgres=override)
    with pytest.raises(ValueError, match="must say why"):
        Queries(name)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("-- name: one\nSELECT 1\n-- name: one\nSELECT 2\n", "two queries are named one"),
        ("-- name: one\nSELECT {columns}\n", "one uses {columns}, but no part above has that name"),
    ],
)
def test_a_name_is_used_once_and_known_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Queries(package(tmp_path, monkeypatch, queries=text))


def test_a_query_of_one_engine_alone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "-- name: one\n-- differs because only here.\nSELECT 1\n"
    name = package(tmp_path, monkeypatch, queries_sqlite=text)
    with pytest.raises(ValueError, match="missing on one engine"):
        Queries(name)
