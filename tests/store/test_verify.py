"""`verify` reports every problem separately, and nothing for a sound store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longhouse.config import load
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Registry
from longhouse.kernel.rooms import Room
from longhouse.store.artifacts import artifacts_of
from longhouse.store.queries import Query
from longhouse.store.tx import Tx
from longhouse.store.upkeep import Verified, verify
from longhouse.store.upkeep.repair import repair
from tests.kit import Lh
from tests.store.upkeep_kit import call_of, fill, other_house


def verified(lh: Lh, *rooms: Room, full: bool = False) -> Verified:
    registry = Registry([*lh.house.registry.rooms, *rooms])
    return verify(lh.house.db, artifacts_of(lh.house), registry, call_of(lh.house), full=full)


def harm(lh: Lh, text: str) -> None:
    """Write something that no command would."""
    query = Query("harm", text, text)
    lh.house.db.write("acme", lambda tx: tx.run(query), call_of(lh.house))


def test_a_sound_store_has_no_problems(lh: Lh) -> None:
    fill(lh)
    fill(lh, "other")
    found = verified(lh, full=True)
    assert (found.ok, found.workspaces, found.problems) == (True, ["acme", "other"], [])
    assert found.artifacts == found.hashed == 6


@pytest.mark.parametrize(
    "statement, part",
    [
        ("DELETE FROM log WHERE ws = :ws AND seq = 3", "the log has no row for seq 3"),
        ("UPDATE workspaces SET seq = seq + 1 WHERE ws = :ws", "the sequence is at"),
        ("UPDATE jobs SET last_seq = 999999 WHERE ws = :ws", "jobs.last_seq: 2 rows"),
        ("UPDATE artifact_usage SET bytes = 1 WHERE ws = :ws", "1 bytes are counted"),
    ],
)
def test_a_broken_invariant_is_named(lh: Lh, statement: str, part: str) -> None:
    fill(lh)
    harm(lh, statement)
    found = verified(lh)
    assert not found.ok
    assert part in " | ".join(p.message for p in found.problems)


def test_lost_short_and_changed_bytes_are_told_apart(folder_lh: Lh) -> None:
    lh = folder_lh
    texts = ["lost", "short", "changed"]
    paths = []
    for text in texts:
        digest = lh("docs.artifact.add", name=text, content=text)["artifact"]["digest"]
        paths.append(artifacts_of(lh.house).path / "blobs" / digest[:2] / digest)
    paths[0].unlink()
    paths[1].write_bytes(b"sh")
    paths[2].write_bytes(b"CHANGED")
    messages = sorted(p.message.split(" ", 1)[1] for p in verified(lh, full=True).problems)
    assert messages == [
        "has 2 bytes instead of 5",
        "has no bytes",
        "has the wrong bytes for its digest",
    ]


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_each_artifact_with_a_missing_chunk_is_listed(
    lh: Lh, admin: psycopg.Connection[Any]
) -> None:
    """As after a dump without the bytes."""
    digests = [
        lh("docs.artifact.add", name=f"a{n}", content=f"{n}" * 20_000)["artifact"]["digest"]
        for n in range(3)
    ]
    admin.execute("DELETE FROM longhouse.artifact_chunks WHERE n = 1")
    found = verified(lh, full=True)
    assert {p.message for p in found.problems} == {
        f"artifact:{digest[:12]} lacks some of its bytes, or all" for digest in digests
    }
    assert (found.artifacts, found.hashed) == (3, 3)


def test_a_room_registers_its_own_check_and_a_failing_one_hides_nothing(lh: Lh) -> None:
    fill(lh)
    room = Room("later")

    @room.check("its fold")
    def fold(tx: Tx) -> Iterator[str]:
        yield f"{tx.workspace} folds to something else"

    @room.check("its shape")
    def shape(tx: Tx) -> Iterator[str]:
        raise ValueError("cannot")

    found = verified(lh, room)
    assert [(p.where, p.message) for p in found.problems] == [
        ("acme: later: its fold", "acme folds to something else"),
        ("acme: later: its shape", "could not be checked: ValueError: cannot"),
    ]


def test_a_row_of_no_workspace_is_found(lh: Lh) -> None:
    fill(lh)
    harm(lh, "INSERT INTO counters (ws, name, value) VALUES (77, 'x', 1)")
    assert [p.message for p in verified(lh).problems] == [
        "1 rows of counters refer to missing rows of workspaces"
    ]


def test_a_dangling_row_is_found(lh: Lh, engine: str) -> None:
    if engine != "sqlite":
        return
    import apsw

    fill(lh)
    db = apsw.Connection(str(lh.house.settings.db))
    db.execute("INSERT INTO graph_tags (ws, doc_id, seq, tag, live) VALUES (1, 77, 1, 'x', 0)")
    db.close()
    assert "1 rows of graph_tags refer to missing rows of documents" in [
        p.message for p in verified(lh).problems
    ]


def test_a_repair_from_what_is_no_backup_is_refused_and_makes_none(lh: Lh, tmp_path: Path) -> None:
    house, mistyped = lh.house, tmp_path / "mistyped"
    with pytest.raises(InvalidInput, match="is not a backup"):
        repair(house.db, artifacts_of(house), house.registry, call_of(house), mistyped)
    assert not mistyped.exists()


def test_a_repair_builds_the_index_again_whatever_is_in_it(lh: Lh) -> None:
    for name in ("acme", "other"):
        fill(lh, name)
        lh("vcs.notes.commit", content="a zebra among the notes", workspace=name)
    before = [lh("docs.search", text="zebra", workspace=name) for name in ("acme", "other")]
    for _ in range(2):
        repair(lh.house.db, artifacts_of(lh.house), lh.house.registry, call_of(lh.house), None)
    after = [lh("docs.search", text="zebra", workspace=name) for name in ("acme", "other")]
    assert before == after
    assert [len(found["hits"]) for found in after] == [1, 1]
    assert verified(lh, full=True).ok


def test_ten_thousand_complaints_are_a_summary(lh: Lh) -> None:
    fill(lh)
    room = Room("later")

    @room.check("its rows")
    def rows(tx: Tx) -> Iterator[str]:
        yield from (f"row {n} is wrong" for n in range(10_019))

    found = verified(lh, room)
    assert (len(found.problems), found.total) == (21, 10_019)
    assert found.problems[-1].message == "and 9999 more like these"


def test_another_projects_store_is_verified_like_ones_own(tmp_path: Path) -> None:
    from longhouse.surfaces.cli.commands.verify import command
    from longhouse.surfaces.cli.upkeep import opened

    with other_house(tmp_path / "s", project_guard="repo:one") as house:
        house.call("vcs.notes.commit", {"content": "x"})
    settings = load(
        {"dir": str(tmp_path / "s"), "workspace": "acme", "project_guard": "repo:two"},
        environ={},
        cwd=tmp_path,
    )

    class Cli:
        def need_a_store(self) -> None: ...

    cli: Any = Cli()
    cli.settings = settings
    assert command.run is not None
    with opened(cli, any_project=True) as house:
        call = call_of(house)
        found = verify(house.db, artifacts_of(house), house.registry, call)
        assert (found.problems, found.workspaces) == ([], ["acme"])


def test_maintenance_says_once_that_a_workspace_is_another_projects(tmp_path: Path) -> None:
    with other_house(tmp_path / "s", project_guard="repo:one") as house:
        house.call("vcs.notes.commit", {"content": "x"})
    told: list[str] = []
    with other_house(tmp_path / "s", project_guard="repo:two") as house:
        loops = house.maintenance(lambda name, _error: told.append(name))
        for now_s in range(0, 10_000, 700):
            loops.step(float(now_s))
    assert len(told) == 1
