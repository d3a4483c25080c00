"""Hosts that share only a PostgreSQL database, and artifacts that were in a folder before."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import Settings, load
from longhouse.house import House
from longhouse.kernel.errors import InvalidInput
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.database.blobs import DatabaseBlobs
from longhouse.store.artifacts.database.chunks import CHUNK
from longhouse.store.artifacts.moving import MovedIn, move_in
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds, Lh, ManualClock
from tests.processes.kit import Runner
from tests.processes.test_keeping import sent, text

BIG = "".join(f"{n:07d} a line of a report\n" for n in range(30_000))


@pytest.fixture
def host(tmp_path: Path, postgres_url: str, clock: ManualClock) -> Iterator[Callable[..., Lh]]:
    """Makes hosts with folders of their own."""
    houses: list[House] = []

    def make(name: str, **changes: Any) -> Lh:
        (tmp_path / name).mkdir(exist_ok=True)
        settings = load(
            {"dir": str(tmp_path / name / ".longhouse"), "workspace": "acme", "db": postgres_url},
            environ={"HOME": str(tmp_path / name)},
            cwd=tmp_path / name,
        )
        houses.append(House(settings._replace(**changes), clock=clock, ids=CountedIds()))
        lh = Lh(houses[-1], clock)
        lh("workspace.bind", workspace="acme")
        return lh

    yield make
    for house in houses:
        house.close()


def folder_of(lh: Lh) -> Path:
    return lh.house.settings.dir / "artifacts"


def call_of(lh: Lh) -> Call:
    return Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)


def moved(lh: Lh, folder: Path, **more: Any) -> MovedIn:
    return move_in(lh.house.db, folder, call_of(lh), **more)


def read(lh: Lh, ref: str) -> str:
    """The whole artifact, as `longhouse artifact get` reads it; a page of it as a caller does."""
    keeper = artifacts_of(lh.house)
    found = lh.house.db.read("acme", lambda tx: keeper.find(tx, ref), call_of(lh))
    data = keeper.read(found, 0, 0, found.size).decode()
    shown = lh("docs.artifact.show", id=ref, bytes=4096)
    assert data.startswith("".join(part["text"] for part in shown["parts"]))
    return data


def test_an_artifact_of_one_host_is_read_on_another(host: Callable[..., Lh]) -> None:
    one, two = host("one"), host("two")
    ref = one("docs.artifact.add", name="report", content=BIG)["ref"]
    assert read(two, ref) == BIG
    assert not folder_of(one).exists()
    assert not folder_of(two).exists()
    parts = [two("docs.artifact.add", name="p", content=c)["ref"] for c in ("first ", "second")]
    digest = hashlib.sha256(b"first second").hexdigest()
    about = {"name": "whole", "media_type": "text/plain"}
    one("docs.artifact.join", parts=parts, digest=digest, **about)
    assert artifacts_of(two.house).blobs.get(digest, 0, 100) == b"first second"


def test_output_of_one_host_is_read_on_another_while_it_grows_and_after(
    host: Callable[..., Lh],
) -> None:
    one, two = host("one"), host("two")
    runner = Runner(one)
    task_id = runner.start()
    assert sent(runner, task_id, 0)["next_offset"] == 0
    sent(runner, task_id, 0, b"one\n")
    assert text(two, task_id) == "one\n"
    runner.lh = two  # its server went away, and it found another
    sent(runner, task_id, 4, b"two\n")
    assert text(one, task_id) == "one\ntwo\n"
    sealed = sent(runner, task_id, 8, b"three\n", eof=True)
    assert sealed["artifact"] == hashlib.sha256(b"one\ntwo\nthree\n").hexdigest()
    assert text(one, task_id) == text(two, task_id) == "one\ntwo\nthree\n"


def test_a_folder_from_before_is_read_and_not_added_to(host: Callable[..., Lh]) -> None:
    before = host("one", artifacts=host("one").house.settings.dir / "artifacts")
    ref = before("docs.artifact.add", name="old", content=BIG)["ref"]
    files = sorted(folder_of(before).rglob("*"))
    after = host("one")
    assert read(after, ref) == BIG
    after("docs.artifact.add", name="new", content="new")
    assert sorted(folder_of(before).rglob("*")) == files


def test_a_folder_is_moved_in_and_read_everywhere(host: Callable[..., Lh]) -> None:
    before = host("one", artifacts=host("one").house.settings.dir / "artifacts")
    refs = {before("docs.artifact.add", name=c[:3], content=c)["ref"]: c for c in (BIG, "b", "c")}
    artifacts_of(before.house).stage(b"of no artifact", now_ms=0)
    two = host("two")
    done = moved(two, folder_of(before))
    assert (done.moved, done.bytes, done.already, done.unused) == (3, len(BIG) + 2, 0, 1)
    again = moved(two, folder_of(before), remove=True)
    assert (again.moved, again.already, again.removed) == (0, 3, 3)
    assert {ref: read(two, ref) for ref in refs} == refs
    assert moved(two, folder_of(before)) == MovedIn(
        moved=0, bytes=0, already=0, unused=1, logs=0, removed=0, damaged=[]
    )


def test_a_move_that_was_killed_goes_on_and_loses_nothing(
    host: Callable[..., Lh], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = host("one", artifacts=host("one").house.settings.dir / "artifacts")
    contents = [f"{n}" * 20_000 for n in range(5)]
    refs = [before("docs.artifact.add", name="n", content=c)["ref"] for c in contents]
    two = host("two")
    stage, count = DatabaseBlobs.stage, iter(range(10))

    class Killed(BaseException):
        pass

    def killed(self: DatabaseBlobs, *args: Any, **more: Any) -> Any:
        made = stage(self, *args, **more)
        if next(count) == 2:
            raise Killed
        return made

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseBlobs, "stage", killed)
        with pytest.raises(Killed):
            moved(two, folder_of(before), remove=True)
    done = moved(two, folder_of(before), remove=True)
    assert (done.moved, done.already, done.removed) == (2, 1, 3)
    assert [read(two, ref) for ref in refs] == contents


def test_a_damaged_file_is_named_and_stays_where_it_is(host: Callable[..., Lh]) -> None:
    before = host("one", artifacts=host("one").house.settings.dir / "artifacts")
    digest = before("docs.artifact.add", name="a", content="right")["artifact"]["digest"]
    path = folder_of(before) / "blobs" / digest[:2] / digest
    path.write_bytes(b"wrong")
    two = host("two")
    done = moved(two, folder_of(before), remove=True)
    assert (done.moved, done.damaged, path.exists()) == (0, [digest], True)
    error = two.refused("docs.artifact.show", id=digest)
    assert (error["code"], error["retryable"]) == ("BYTES_LOST", False)


@pytest.mark.parametrize("cap", [None, 30_000])
def test_a_log_that_grows_in_the_folder_goes_on_in_the_database(
    host: Callable[..., Lh], cap: int | None
) -> None:
    before = host("one", artifacts=host("one").house.settings.dir / "artifacts")
    old = artifacts_of(before.house)
    begin = lambda tx: (old.begin(tx, name="stdout", cap=cap), tx.ws)  # noqa: E731
    begun, ws = before.house.db.write("acme", begin, call_of(before))
    stream = os.urandom(3 * CHUNK) * 8
    log = old.log(begun, ws, cap=cap)
    for at in range(0, len(stream), 5000):
        log.append(stream[at : at + 5000])
    two = host("two")
    assert moved(two, folder_of(before)).logs == 1
    assert moved(two, folder_of(before)).logs == 0
    keeper = artifacts_of(two.house)
    more = keeper.log(begun, ws, cap=cap)
    assert more.extend(len(stream), b"the end") == len(stream) + 7
    done = keeper.finish(more, now_ms=0)

    def seal(tx: Tx) -> Any:
        return keeper.seal(tx, begun.handle, *done)

    whole = stream + b"the end"
    kept = whole if cap is None else whole[: cap // 2] + whole[-(cap - cap // 2) :]
    assert two.house.db.write("acme", seal, call_of(two)).digest == hashlib.sha256(kept).hexdigest()


def test_only_a_folder_of_artifacts_is_moved_into_a_database_that_can_hold_it(
    host: Callable[..., Lh], tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="not a folder of artifacts"):
        moved(host("one"), tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    settings = load({"dir": str(tmp_path / "lite")}, environ={}, cwd=tmp_path)
    with (
        House(settings, clock=ManualClock(), ids=CountedIds()) as house,
        pytest.raises(InvalidInput, match="SQLite"),
    ):
        moved(Lh(house, ManualClock()), tmp_path)


def test_artifacts_are_in_the_database_unless_a_folder_is_set(tmp_path: Path) -> None:
    def resolved(**environ: str) -> Settings:
        return load({"dir": str(tmp_path / "d")}, environ=environ, cwd=tmp_path)

    url = "postgresql://db.example/longhouse"
    assert resolved().artifacts == tmp_path / "d" / "artifacts"
    assert resolved(LONGHOUSE_DB=url).artifacts is None
    shared = resolved(LONGHOUSE_DB=url, LONGHOUSE_ARTIFACTS="/mnt/shared")
    assert shared.artifacts == Path("/mnt/shared")
    with pytest.raises(InvalidInput, match="s3:// is not supported"):
        resolved(LONGHOUSE_DB=url, LONGHOUSE_ARTIFACTS="s3://bucket")
