"""Backup of a running store and restore into an empty place."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from longhouse.house import House
from longhouse.kernel.errors import Conflict, InvalidInput, LonghouseError, StoreUnusable
from longhouse.store.artifacts import artifacts_of
from longhouse.store.upkeep import BackedUp, back_up, restore, verify
from tests.kit import Lh
from tests.store.upkeep_kit import call_of, exported, fill, other_house

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def backed_up(house: House, to: Path) -> BackedUp:
    return back_up(house.db, artifacts_of(house), house.registry, to, call_of(house))


def restored(house: House, source: Path, folder: Path) -> BackedUp:
    return restore(
        source, folder / "longhouse.db", folder / "artifacts", house.registry, call_of(house)
    )


def test_a_restored_backup_is_the_store_as_it_was(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    fill(lh, "other")
    made = backed_up(lh.house, tmp_path / "backup")
    before = [exported(lh.house, name) for name in ("acme", "other")]
    assert (made.workspaces, made.artifacts) == (2, 6)
    lh("vcs.notes.commit", content="after the backup")
    restored(lh.house, tmp_path / "backup", tmp_path / "new")
    with other_house(tmp_path / "new") as house:
        assert [exported(house, name) for name in ("acme", "other")] == before
        assert verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True).ok


def test_a_backup_under_writers_is_one_moment(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            lh("vcs.notes.commit", content="busy")
            lh("docs.artifact.add", name="busy", content=f"{lh.house.db.engine.size_bytes()}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for n in range(3):
            backed_up(lh.house, tmp_path / f"backup{n}")
    finally:
        done.set()
        writer.join()
    restored(lh.house, tmp_path / "backup2", tmp_path / "new")
    with other_house(tmp_path / "new") as house:
        assert verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True).ok


def test_a_backup_folder_is_private_and_leaves_no_locks(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    backed_up(lh.house, tmp_path / "backup")
    names = sorted(p.name for p in (tmp_path / "backup").iterdir())
    assert names == ["artifacts", "backup.json", "longhouse.db"]
    for path in [tmp_path / "backup", *(tmp_path / "backup").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_nothing_is_overwritten(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    backed_up(lh.house, tmp_path / "backup")
    with pytest.raises(Conflict, match="not empty"):
        backed_up(lh.house, tmp_path / "backup")
    with pytest.raises(Conflict, match="nothing was restored"):
        restored(lh.house, tmp_path / "backup", lh.house.settings.dir)
    assert lh("docs.artifact.show", id="ART-001")["count"]


def test_a_damaged_store_gives_no_backup(lh: Lh, tmp_path: Path) -> None:
    digest = lh("docs.artifact.add", name="a", content="y" * 600)["artifact"]["digest"]
    (artifacts_of(lh.house).path / "blobs" / digest[:2] / digest).unlink()
    with pytest.raises(LonghouseError, match="missing"):
        backed_up(lh.house, tmp_path / "backup")
    assert [p.name for p in tmp_path.iterdir()] == [".longhouse"]


@pytest.mark.parametrize(
    "harm", ["no manifest", "torn database", "missing artifact", "changed artifact"]
)
def test_a_harmed_backup_restores_nothing(lh: Lh, tmp_path: Path, harm: str) -> None:
    digest = lh("docs.artifact.add", name="a", content="y" * 600)["artifact"]["digest"]
    backup = tmp_path / "backup"
    backed_up(lh.house, backup)
    blob = backup / "artifacts" / "blobs" / digest[:2] / digest
    if harm == "no manifest":
        (backup / "backup.json").unlink()
    elif harm == "torn database":
        data = (backup / "longhouse.db").read_bytes()
        (backup / "longhouse.db").write_bytes(data[: len(data) // 2])
    elif harm == "missing artifact":
        blob.unlink()
    else:
        blob.write_bytes(b"z" * 600)
    with pytest.raises((InvalidInput, StoreUnusable, LonghouseError)):
        restored(lh.house, backup, tmp_path / "new")
    assert not (tmp_path / "new").exists() or list((tmp_path / "new").iterdir()) == []
