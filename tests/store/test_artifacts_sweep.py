"""Garbage collection: expired artifacts go; what is referred to or newly stored stays."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from longhouse.config import load
from longhouse.house import House
from longhouse.store.artifacts import artifacts_of
from longhouse.store.artifacts.sweep import GRACE_MS, Swept, sweep
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds, Lh, ManualClock

HOUR = 3_600_000


def call(lh: Lh) -> Call:
    return Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)


def swept(lh: Lh, *holders: Callable[[Tx], Any]) -> Swept:
    return sweep(lh.house.db, artifacts_of(lh.house), holders, call(lh))


def test_an_expired_artifact_goes_and_its_bytes_follow_after_the_grace(lh: Lh) -> None:
    lh("docs.artifact.add", name="a", content="old", expires_in_s=60)
    lh("docs.artifact.add", name="b", content="kept")
    assert swept(lh) == Swept()
    lh.clock.advance(61_000)
    assert swept(lh) == Swept(rows=1)
    lh.clock.advance(GRACE_MS)
    assert swept(lh) == Swept(blobs=1, bytes=3)
    assert [a["name"] for a in lh("docs.artifact.list")["artifacts"]] == ["b"]
    assert lh("docs.artifact.list")["usage"]["used_bytes"] == 4


def test_what_a_room_refers_to_stays_by_digest_or_handle(lh: Lh) -> None:
    digest = lh("docs.artifact.add", name="a", content="x", expires_in_s=1)["artifact"]["digest"]
    lh("docs.artifact.add", name="b", content="y", expires_in_s=1)
    lh.clock.advance(3 * HOUR)

    def holds_the_first(tx: Tx) -> list[str]:
        return [f"artifact:{digest}"]

    def holds_the_second(tx: Tx) -> list[str]:
        return ["ART-002"]

    assert swept(lh, holds_the_first, holds_the_second) == Swept()
    assert swept(lh, holds_the_first) == Swept(rows=1)
    lh.clock.advance(GRACE_MS)
    assert swept(lh, holds_the_first) == Swept(blobs=1, bytes=1)


def test_the_bytes_of_an_expired_artifact_stay_for_an_hour_however_old_they_are(lh: Lh) -> None:
    lh("docs.artifact.add", name="a", content="old", expires_in_s=60)
    lh.clock.advance(30 * HOUR)
    assert swept(lh) == Swept(rows=1)
    lh.clock.advance(GRACE_MS - 1)
    assert swept(lh) == Swept()
    lh.clock.advance(1)
    assert swept(lh) == Swept(blobs=1, bytes=3)


def test_bytes_shared_with_another_workspace_stay(lh: Lh) -> None:
    lh("docs.artifact.add", name="a", content="same", expires_in_s=1)
    lh("docs.artifact.add", name="a", content="same", workspace="other")
    lh.clock.advance(3 * HOUR)
    assert swept(lh) == Swept(rows=1)
    lh("docs.artifact.show", id="ART-001", workspace="other")


def test_bytes_put_again_are_young_again(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    keeper.stage(b"garbage", now_ms=lh.clock.now_ms())
    lh.clock.advance(2 * HOUR)
    blob = keeper.stage(b"garbage", now_ms=lh.clock.now_ms())
    assert swept(lh) == Swept()
    lh.house.db.write("acme", lambda tx: keeper.record(tx, blob, name="x"), call(lh))
    lh.clock.advance(2 * HOUR)
    assert swept(lh) == Swept()


def test_a_put_between_judgement_and_removal_wins(lh: Lh) -> None:
    keeper = artifacts_of(lh.house)
    keeper.stage(b"garbage", now_ms=lh.clock.now_ms())
    lh.clock.advance(2 * HOUR)
    judged = lh.clock.now_ms() - GRACE_MS
    blob = keeper.stage(b"garbage", now_ms=lh.clock.now_ms())
    assert not keeper.blobs.delete(blob.digest, untouched_since_ms=judged)
    assert keeper.blobs.get(blob.digest, 0, 100) == b"garbage"


def test_a_sweep_that_died_half_way_loses_nothing(folder_lh: Lh) -> None:
    lh = folder_lh
    digest = lh("docs.artifact.add", name="a", content="x")["artifact"]["digest"]
    path = artifacts_of(lh.house).path / "blobs" / digest[:2] / digest
    path.rename(path.with_name(digest + ".going"))
    assert lh("docs.artifact.show", id="ART-001")["parts"][0]["text"] == "x"
    swept(lh)
    assert path.exists()


def test_sealed_logs_and_stale_staging_are_cleaned_and_growing_ones_left(folder_lh: Lh) -> None:
    lh = folder_lh
    keeper = artifacts_of(lh.house)

    def begin(tx: Tx) -> Any:
        return keeper.begin(tx, name="a", cap=1000), keeper.begin(tx, name="b"), tx.ws

    one, two, ws = lh.house.db.write("acme", begin, call(lh))
    log = keeper.log(one, ws, cap=1000)
    log.append(b"x" * 200_000)
    keeper.log(two, ws, cap=None).append(b"still growing")
    done = keeper.finish(log, now_ms=lh.clock.now_ms())
    lh.house.db.write("acme", lambda tx: keeper.seal(tx, one.handle, *done), call(lh))
    (keeper.path / "staging" / "999-1").write_bytes(b"half")
    for path in (*keeper.path.glob("growing/*"), *keeper.path.glob("staging/*")):
        os.utime(path, ns=(lh.clock.now_ms() * 1_000_000,) * 2)
    assert swept(lh).logs == 0
    lh.clock.advance(2 * HOUR)
    assert swept(lh).logs == 1
    assert sorted(p.name for p in (keeper.path / "growing").iterdir()) == [f"{ws}.ART-002.log"]
    assert list((keeper.path / "staging").iterdir()) == []


class Garbage(RuleBasedStateMachine):
    """Puts, incomplete puts, sweeps and time in any order: a row always has its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.clock = ManualClock()
        settings = load(
            {"dir": self.folder, "workspace": "acme"}, environ={}, cwd=Path(self.folder)
        )
        self.lh = Lh(House(settings, clock=self.clock, ids=CountedIds()), self.clock)
        self.staged: list[tuple[int, Any]] = []

    @rule(n=st.integers(0, 3), ttl=st.sampled_from([None, 1, 7200]))
    def put(self, n: int, ttl: int | None) -> None:
        more = {} if ttl is None else {"expires_in_s": ttl}
        self.lh("docs.artifact.add", name="n", content=f"content {n}", **more)

    @rule(n=st.integers(0, 3))
    def stage(self, n: int) -> None:
        now = self.clock.now_ms()
        blob = artifacts_of(self.lh.house).stage(f"content {n}".encode(), now_ms=now)
        self.staged.append((now, blob))

    @rule()
    def record(self) -> None:
        """A writer that writes the row within the grace period after the bytes always succeeds."""
        while self.staged:
            since, blob = self.staged.pop()
            if self.clock.now_ms() - since < GRACE_MS:
                keeper = artifacts_of(self.lh.house)
                write = self.lh.house.db.write
                write("acme", lambda tx: keeper.record(tx, blob, name="r"), call(self.lh))  # noqa: B023

    @rule(hours=st.sampled_from([0.3, 0.9, 2]))
    def wait(self, hours: float) -> None:
        self.clock.advance(int(hours * HOUR))

    @rule()
    def collect(self) -> None:
        swept(self.lh)

    @invariant()
    def every_row_has_its_bytes(self) -> None:
        keeper = artifacts_of(self.lh.house)
        for row in self.lh("docs.artifact.list")["artifacts"]:
            assert keeper.blobs.size(row["digest"]) == row["size"]

    def teardown(self) -> None:
        self.lh.house.close()
        shutil.rmtree(self.folder)


TestGarbage = Garbage.TestCase
TestGarbage.settings = hypothesis_settings(max_examples=15, stateful_step_count=20, deadline=None)
