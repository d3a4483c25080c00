"""Stores and exports of every earlier schema version open with today's code.

Every version since the first kept store has one: this finds a migration without.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from longhouse.kernel.errors import StoreUnusable
from longhouse.store import migrate
from longhouse.store.artifacts import artifacts_of
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.upkeep import restore, verify
from tests.kit import Lh, ManualClock
from tests.store.upkeep_kit import call_of, exported, fill, imported, other_house
from tools import keep_store

VERSIONS = sorted(migrate._sources())
KEPT = {int(path.name[1:5]): path for path in keep_store.FOLDER.glob("v*.tar.xz")}
ROOT = Path(__file__).parents[2]
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


def opened(data: bytes, folder: Path) -> None:
    """Check that a kept store opens, verifies, has its rows, and accepts new ones."""
    unpack(data, folder)
    counts = json.loads((folder / "rows.json").read_text())
    with other_house(folder) as house:
        assert house.db.engine.schema_version() == migrate.newest()
        assert verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True).ok
        now = house.db.read("acme", keep_store.count_rows, call_of(house))
        assert {name: now[name] for name in counts if name in now} == {
            name: count for name, count in counts.items() if name in now
        }
        lh = Lh(house, ManualClock())
        ref = lh("vcs.notes.commit", content="after the upgrade")["ref"]
        assert lh("open", id=ref)["entry"]["content"] == "after the upgrade"


def test_from_the_first_kept_store_on_every_version_has_one() -> None:
    needed = [version for version in VERSIONS if KEPT and version >= min(KEPT)]
    missing = [version for version in needed if version not in KEPT]
    assert not missing, f"no kept store of schema {missing}: run python -m tools.keep_store"


def test_a_release_keeps_its_store() -> None:
    released = re.findall(r"^## \[\d[^\]]*\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert KEPT or not released, "the first release needs one: run python -m tools.keep_store"


def test_every_kept_store_opens_with_todays_code(tmp_path: Path) -> None:
    for version, path in sorted(KEPT.items()):
        opened(lzma.decompress(path.read_bytes()), tmp_path / str(version))


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
        return sorted(map(str, db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()))
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
    before = next(tmp_path.iterdir()).read_bytes()
    assert keep_store.main(tmp_path) == 1
    assert next(tmp_path.iterdir()).read_bytes() == before
    assert len(before) < 100_000
    capsys.readouterr()
