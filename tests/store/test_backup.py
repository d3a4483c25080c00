"""Backup of a running store and restore into an empty place."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from longhouse.house import House
from longhouse.kernel.errors import Conflict, InvalidInput, LonghouseError, StoreUnusable
from longhouse.store.artifacts import artifacts_of
from longhouse.store.queries import Query
from longhouse.store.upkeep import BackedUp, Restored, back_up, repair, restore, verify
from tests.kit import Lh
from tests.store.upkeep_kit import call_of, exported, fill, other_house

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


KEY = b"the machine's own"


def backed_up(house: House, to: Path, **more: Any) -> BackedUp:
    keeper, call = artifacts_of(house), call_of(house)
    return back_up(house.db, keeper, house.registry, to, call, key=KEY, **more)


def restored(house: House, source: Path, folder: Path, **more: Any) -> Restored:
    """Restore as the store was, unless the test says otherwise."""
    with other_house(folder.with_name(folder.name + "-facts")) as facts:
        return restore(
            source,
            folder / "longhouse.db",
            folder / "artifacts",
            house.registry,
            call_of(facts),
            **{"key": KEY, "run_queued": True, **more},
        )


def test_a_restored_backup_is_the_store_as_it_was(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    fill(lh, "other")
    made = backed_up(lh.house, tmp_path / "backup")
    before = [exported(lh.house, name) for name in ("acme", "other")]
    assert (made.workspaces, made.artifacts) == (2, 6)
    lh("vcs.notes.commit", content="after the backup")
    synced: list[Path] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("longhouse.store.upkeep.restoring.sync", synced.append)
        restored(lh.house, tmp_path / "backup", tmp_path / "new")
    assert synced[-1] == tmp_path / "new", "the name of the store survives a power cut, too"
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
    assert names == ["artifacts", "backup.json", "longhouse.db", "outputs.json"]
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


def blob_of(lh: Lh, content: str) -> Path:
    digest = lh("docs.artifact.add", name=content[:5], content=content)["artifact"]["digest"]
    path: Path = artifacts_of(lh.house).path / "blobs" / digest[:2] / digest
    return path


@pytest.mark.parametrize("harm", ["missing", "short", "flipped", "a row"])
def test_damage_in_the_store_does_not_end_backups(lh: Lh, tmp_path: Path, harm: str) -> None:
    fill(lh)
    blob, rest = blob_of(lh, "y" * 600), blob_of(lh, "z" * 600)
    if harm == "missing":
        blob.unlink()
    elif harm == "short":
        blob.write_bytes(b"y" * 599)
    elif harm == "flipped":
        blob.write_bytes(b"y" * 300 + b"x" + b"y" * 299)
    else:
        text = "UPDATE jobs SET revision = 77 WHERE ws = :ws AND n = 1"
        lh.house.db.write("acme", lambda tx: tx.run(Query("h", text, text)), call_of(lh.house))
    made = backed_up(lh.house, tmp_path / "backup")
    assert len(made.problems) == 1
    named = "JOB-001: revision" if harm == "a row" else f"artifact:{blob.name[:12]}"
    assert made.problems[0].message.startswith(named)
    again = restored(lh.house, tmp_path / "backup", tmp_path / "new")
    assert again.problems == made.problems
    with other_house(tmp_path / "new") as house:
        shown = house.call("docs.artifact.show", {"id": rest.name, "workspace": "acme"})
        assert shown.success


def test_a_backup_and_a_restore_count_all_that_is_damaged(lh: Lh, tmp_path: Path) -> None:
    """They list the first of each kind."""
    for n in range(25):
        blob_of(lh, f"{n:02}" * 300).unlink()
    made = backed_up(lh.house, tmp_path / "backup")
    assert (len(made.problems), made.total) == (21, 25)
    again = restored(lh.house, tmp_path / "backup", tmp_path / "new")
    assert (again.problems, again.total) == (made.problems, 25)


@pytest.mark.parametrize("harm", ["missing", "short", "flipped"])
def test_adding_the_right_bytes_again_heals_the_store(lh: Lh, harm: str) -> None:
    blob = blob_of(lh, "y" * 600)
    lh("docs.artifact.show", id=blob.name)  # someone has the file open
    if harm == "missing":
        blob.unlink()
    else:
        blob.write_bytes(b"y" * 300 + (b"x" + b"y" * 299 if harm == "flipped" else b""))
    blob_of(lh, "y" * 600)
    assert blob.read_bytes() == b"y" * 600
    house = lh.house
    assert verify(house.db, artifacts_of(house), house.registry, call_of(house), full=True).ok
    if harm != "missing":
        assert lh("docs.artifact.show", id=blob.name)["parts"][0]["text"].startswith("yyy")


def test_a_repair_takes_bytes_from_a_backup_and_says_what_it_cannot(lh: Lh, tmp_path: Path) -> None:
    blob = blob_of(lh, "y" * 600)
    backed_up(lh.house, tmp_path / "backup")
    late = blob_of(lh, "later than the backup")
    for path in (blob, late):
        path.write_bytes(b"?" * path.stat().st_size)
    house = lh.house
    keeper, call = artifacts_of(house), call_of(house)
    none = repair(house.db, keeper, house.registry, call, None)
    assert [one.done for one in none if "artifact:" in one.message] == [False, False]
    made = repair(house.db, keeper, house.registry, call, tmp_path / "backup")
    done = {one.message.split()[1]: one.done for one in made if "artifact:" in one.message}
    assert done == {f"artifact:{blob.name[:12]}:": True, f"artifact:{late.name[:12]}:": False}
    assert blob.read_bytes() == b"y" * 600


def test_what_was_restored_waits_unless_told_to_run(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    token = lh("system.token.create", name="t", role="agent") if _has_tokens(lh) else None
    lh("tool.policy_allow", tool="bash")
    backed_up(lh.house, tmp_path / "backup")
    own = restored(lh.house, tmp_path / "backup", tmp_path / "own", run_queued=False)
    assert (own.foreign, [one.id for one in own.held]) == (False, ["acme JOB-002"])
    other = restored(
        lh.house, tmp_path / "backup", tmp_path / "other", key=b"another", run_queued=False
    )
    assert other.foreign
    assert {"acme JOB-002", "acme RULE-001"} <= {one.id for one in other.held}
    assert (token is None) or any(one.what == "token" for one in other.held)
    with other_house(tmp_path / "own") as house:
        assert (
            house.call("tool.policy_show", {"workspace": "acme"}).envelope["result"]["count"] == 1
        )
    with other_house(tmp_path / "other") as house:
        assert (
            house.call("tool.policy_show", {"workspace": "acme"}).envelope["result"]["count"] == 0
        )


def _has_tokens(lh: Lh) -> bool:
    return "system.token.create" in lh.house.registry


def test_a_seal_covers_the_whole_manifest(lh: Lh, tmp_path: Path) -> None:
    fill(lh)
    backed_up(lh.house, tmp_path / "backup")
    path = tmp_path / "backup" / "backup.json"
    path.write_bytes(path.read_bytes().replace(b'"artifacts": 3', b'"artifacts": 4'))
    assert restored(lh.house, tmp_path / "backup", tmp_path / "new").foreign


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
