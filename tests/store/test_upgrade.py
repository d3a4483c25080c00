"""Stores and exports of earlier schema versions open with today's code, on both databases."""

from __future__ import annotations

import io
import json
import lzma
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import psycopg
import pytest

from longhouse.kernel.errors import StoreUnusable
from longhouse.kernel.tool_tasks import task_folder
from longhouse.store import migrate
from longhouse.store.artifacts import artifacts_of
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.upkeep import restore, verify
from longhouse.store.upkeep.foreign import refuse_altered
from tests.kit import WAITING, Lh, ManualClock
from tests.plugins.postgres import Databases
from tests.processes.kit import Runner, ended, out, running, spawned
from tests.store.upkeep_kit import call_of, exported, fill, imported, other_house
from tools import keep_store

VERSIONS = sorted(migrate._sources())
KEPT = {
    kind: {int(path.name[1:5]): path for path in keep_store.FOLDER.glob(f"{kind}*.tar.xz")}
    for kind in "vp"
}
"""The kept stores by database and schema: `v` is SQLite, `p` is PostgreSQL."""
CATALOGUE = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name "
    "FROM information_schema.columns WHERE table_schema = 'longhouse' ORDER BY 1, 2",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'longhouse' ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = to_regnamespace('longhouse') ORDER BY 1, 2",
)
TO_WORKSPACES = re.compile(r" REFERENCES (?:longhouse\.)?workspaces ?\(ws\)")
"""Tables of schema 6 name their workspace as a foreign key, which the scripts dropped before they
were frozen: it costs PostgreSQL a look-up a row, and nothing else tells those stores apart."""
NEXT = "ALTER TABLE jobs ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';"


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Simulates a later Longhouse with one more migration."""

    def begin() -> int:
        number = migrate.newest() + 1
        script = tmp_path / f"{number:04d}_tomorrow.sql"
        script.write_text(NEXT)
        sources = {**migrate._sources(), number: script}
        monkeypatch.setattr(migrate, "_sources", lambda: sources)
        return number

    return begin


def unpack(data: bytes, folder: Path) -> None:
    """File by file: the first releases of Python 3.11 cannot extract with a filter."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            if file := tar.extractfile(member):
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())


def opened(data: bytes, folder: Path, postgres_url: str | None = None) -> None:
    """Check that a kept store opens, reads, verifies, has its rows, and accepts new ones."""
    unpack(data, folder)
    counts = json.loads((folder / "rows.json").read_text())
    if postgres_url:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute((folder / "store.sql").read_bytes())
    with other_house(folder, db=postgres_url) as house:
        assert house.db.engine.schema_version() == migrate.newest()
        assert verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True).ok
        now = house.db.read("acme", keep_store.count_rows, call_of(house))
        assert {name: now[name] for name in counts if name in now} == {
            name: count for name, count in counts.items() if name in now
        }
        lh = Lh(house, ManualClock())
        lh("workspace.bind", workspace="acme")  # it was kept in another folder
        for command in house.registry:
            if not command.writes and command.cmd not in WAITING:
                got = lh.envelope(command.cmd, **msgspec.to_builtins(command.example))
                code = (got["error"] or {}).get("code")
                assert code not in ("INTERNAL_ERROR", "STORE_ERROR"), (command.cmd, got["error"])
        ref = lh("vcs.notes.commit", content="after the upgrade")["ref"]
        assert lh("open", id=ref)["entry"]["content"] == "after the upgrade"


def test_the_newest_schema_has_a_kept_store_of_both_databases() -> None:
    missing = [
        f"{kind}{migrate.newest():04d}" for kind in "vp" if migrate.newest() not in KEPT[kind]
    ]
    assert not missing, f"there is no {missing}: run python -m tools.keep_store, and commit it"


def test_a_migration_that_made_a_kept_store_never_changes() -> None:
    changed = keep_store.thawed()
    assert not changed, f"{changed} made stores that people have: restore it, add the next number"


def test_a_changed_migration_is_noticed_and_no_store_is_kept_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {**keep_store.digests(), "0001_frame.sql": "another"}
    (tmp_path / "migrations.json").write_text(json.dumps(made))
    assert keep_store.thawed(tmp_path) == ["0001_frame.sql"]
    assert keep_store.main(tmp_path) == 1
    assert "add the next number" in capsys.readouterr().out


@pytest.mark.parametrize("version", sorted(KEPT["v"]))
def test_every_kept_store_opens_with_todays_code(version: int, tmp_path: Path) -> None:
    opened(lzma.decompress(KEPT["v"][version].read_bytes()), tmp_path / "kept")
    SqliteEngine(tmp_path / "fresh.db").close()
    assert schema_of(tmp_path / "kept" / "longhouse.db") == schema_of(tmp_path / "fresh.db")


@pytest.mark.parametrize("version", sorted(KEPT["v"]))
def test_every_kept_store_is_one_that_a_longhouse_wrote(version: int, tmp_path: Path) -> None:
    unpack(lzma.decompress(KEPT["v"][version].read_bytes()), tmp_path)
    refuse_altered(tmp_path / "longhouse.db")


@pytest.mark.parametrize("version", sorted(KEPT["p"]))
def test_every_kept_store_of_postgresql_opens_with_todays_code(
    version: int,
    tmp_path: Path,
    fresh_postgres_url: str,
    databases: Databases,
    worker_id: str,
) -> None:
    opened(lzma.decompress(KEPT["p"][version].read_bytes()), tmp_path / "kept", fresh_postgres_url)
    name = f"fresh_schema_{worker_id}"
    fresh = databases.create(name)
    try:
        with other_house(tmp_path / "fresh", db=fresh):
            assert catalogue(fresh_postgres_url) == catalogue(fresh)
    finally:
        databases.drop(name)


def catalogue(url: str) -> list[Any]:
    """Every column, index and constraint of the schema."""
    with psycopg.connect(url) as admin:
        found = [admin.execute(text).fetchall() for text in CATALOGUE]
    return [[row for row in rows if not TO_WORKSPACES.search(str(row[-1]))] for rows in found]


@pytest.mark.parametrize("path", sorted(keep_store.FOLDER.glob("*.tar.xz")), ids=lambda p: p.name)
def test_every_kept_store_has_rows_in_every_table_of_its_time(path: Path, tmp_path: Path) -> None:
    unpack(lzma.decompress(path.read_bytes()), tmp_path)
    counts = json.loads((tmp_path / "rows.json").read_text())
    assert [name for name, rows in counts.items() if not rows] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_migration_is_a_step_of_its_own(version: int, tmp_path: Path) -> None:
    path = tmp_path / "longhouse.db"
    engine = SqliteEngine(path, schema=version)
    assert engine.schema_version() == version
    engine.close()
    engine = SqliteEngine(path)
    assert engine.schema_version() == migrate.newest()
    engine.close()
    fresh = SqliteEngine(tmp_path / "fresh.db")
    fresh.close()
    assert schema_of(path) == schema_of(tmp_path / "fresh.db")


def schema_of(path: Path) -> list[str]:
    db = apsw.Connection(str(path))
    try:
        rows = map(str, db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall())
        return sorted(TO_WORKSPACES.sub("", row) for row in rows)
    finally:
        db.close()


def test_a_store_kept_today_opens_tomorrow(tmp_path: Path, next_version: Callable[[], int]) -> None:
    data = keep_store.kept_store()
    next_version()
    opened(data, tmp_path / "kept")


def test_an_export_of_today_is_imported_tomorrow(
    tmp_path: Path, next_version: Callable[[], int]
) -> None:
    with other_house(tmp_path / "today") as house:
        fill(Lh(house, ManualClock()))
        data = exported(house)
    number = next_version()
    with other_house(tmp_path / "tomorrow") as house:
        made = imported(house, data, name="copy")
        assert (made.workspace, made.exported_as) == ("copy", "acme")
        again = exported(house, "copy")
        assert f'"schema":{number}'.encode() in again
        assert b'"calm"' in again
        assert verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True).ok


def test_an_import_tomorrow_says_what_the_export_of_today_lacks(
    tmp_path: Path, next_version: Callable[[], int]
) -> None:
    with other_house(tmp_path / "today") as house:
        lh = Lh(house, ManualClock())
        added = lh("docs.artifact.add", name="flipped", content="y" * 600)["artifact"]
        path = artifacts_of(house).path / "blobs" / added["digest"][:2] / added["digest"]
        path.write_bytes(b"x" * 600)
        runner = Runner(lh)
        for text in ("kept", "lost"):
            task = spawned(lh)
            runner.claim()
            runner.append(task, running(), out(0, text), ended())
        folder = task_folder(tmp_path / "today", "acme", "PROC-001")
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_text("kept")
        data = exported(house, without_damaged=True)
    next_version()
    with other_house(tmp_path / "tomorrow") as house:
        made = imported(house, data)
        assert (made.outputs, made.without_output) == (1, ["PROC-002"])
        assert made.damaged == [f"{added['handle']} flipped"]


def test_a_backup_of_today_is_restored_tomorrow(
    tmp_path: Path, next_version: Callable[[], int]
) -> None:
    unpack(keep_store.kept_store(), tmp_path / "backup")
    number = next_version()
    new = tmp_path / "new"
    with other_house(tmp_path / "any") as house:
        registry, call = house.registry, call_of(house)
        restore(tmp_path / "backup", new / "longhouse.db", new / "artifacts", registry, call)
    with other_house(new) as house:
        assert house.db.engine.schema_version() == number


def test_yesterdays_longhouse_refuses_the_store_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_house(tmp_path / "store").close()
    sources = {n: path for n, path in migrate._sources().items() if n < migrate.newest()}
    monkeypatch.setattr(migrate, "_sources", lambda: sources)
    with pytest.raises(StoreUnusable, match="this Longhouse knows up to"):
        SqliteEngine(tmp_path / "store" / "longhouse.db")


def test_a_kept_store_is_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keep_store.main(tmp_path) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name[0] for name in before} == {"v", "p", "m"}
    assert keep_store.main(tmp_path) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert all(len(data) < 100_000 for data in before.values())
    capsys.readouterr()
