"""One conformance suite for every place that can hold artifacts: a folder, and the database."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longhouse.kernel.errors import BytesLost, Conflict, StoreBusy
from longhouse.store import postgres
from longhouse.store.artifacts.blobs import BytesPlace, LogBytes, LogWriter, QuotaExceeded
from longhouse.store.artifacts.database import DatabasePlace
from longhouse.store.artifacts.database.chunks import CHUNK
from longhouse.store.artifacts.disk import Dir
from longhouse.store.artifacts.folder import FolderPlace
from longhouse.store.artifacts.growing import GrowingLog
from longhouse.store.artifacts.view import ArtifactView
from longhouse.store.postgres import PostgresEngine

NOW = 1_800_000_000_000
LATER = 2**52
"""After every clock, the host's included."""
BIG = bytes(range(256)) * 40_000
"""More than two batches of the database."""


class Held:
    """A place to test, and how to open it again and to damage it."""

    def __init__(
        self, place: BytesPlace, again: Callable[[], BytesPlace], flip: Callable[[str], None]
    ):
        self.place, self.again, self.flip = place, again, flip


@pytest.fixture(params=["folder", "database"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Held]:
    if request.param == "folder":
        root = tmp_path / "artifacts"

        def flip_file(digest: str) -> None:
            path = root / "blobs" / digest[:2] / digest
            path.write_bytes(b"?" + path.read_bytes()[1:])

        yield Held(FolderPlace(root), lambda: FolderPlace(root), flip_file)
        return
    url = request.getfixturevalue("postgres_url")
    engines = [PostgresEngine(url), PostgresEngine(url)]

    def flip_chunk(digest: str) -> None:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(
                "UPDATE longhouse.artifact_chunks SET data = set_byte(data, 0, 63) "
                "WHERE n = 0 AND body = "
                "(SELECT body FROM longhouse.artifact_blobs WHERE digest = %s)",
                [digest],
            )

    yield Held(DatabasePlace(engines[0]), lambda: DatabasePlace(engines[1]), flip_chunk)
    for engine in engines:
        engine.close()


@pytest.fixture
def place(held: Held) -> BytesPlace:
    return held.place


def put(place: BytesPlace, data: bytes, *, now: int = NOW, **more: Any) -> str:
    given = {"digest": None, "most": None, **more}
    step = 1 << 20
    chunks = (data[at : at + step] for at in range(0, len(data), step))
    return place.blobs.stage(chunks, now_ms=now, **given).digest


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def whole(place: BytesPlace, digest: str) -> bytes:
    return place.blobs.get(digest, 0, place.blobs.size(digest) or 0)


def read_log(place: BytesPlace, name: str) -> bytes:
    found = place.logs.look(name)
    assert found is not None
    view = ArtifactView(found.pread, found.size, found.gap, compact=False)
    data, at = b"", 0
    while (piece := view.read(at, 1000)).data:
        data, at = data + piece.data, piece.next_offset
    return data


@pytest.mark.parametrize("data", [b"", b"x", b"y" * CHUNK, b"z" * (CHUNK + 1), BIG])
def test_what_is_put_is_read_under_its_digest_by_everyone(held: Held, data: bytes) -> None:
    digest = put(held.place, data)
    assert digest == digest_of(data)
    other = held.again()
    assert other.blobs.size(digest) == len(data)
    assert whole(other, digest) == data
    assert [(b.digest, b.size) for b in other.blobs.list()] == [(digest, len(data))]


def test_a_range_is_read_at_every_edge(place: BytesPlace) -> None:
    digest = put(place, BIG)
    for offset in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, len(BIG) - 10, len(BIG) - 1):
        for length in (1, 2, CHUNK, CHUNK + 1, 70_000):
            assert place.blobs.get(digest, offset, length) == BIG[offset : offset + length]
    assert place.blobs.get(digest, len(BIG), 10) == b""
    assert place.blobs.get(digest, len(BIG) + CHUNK, 10) == b""
    assert place.blobs.get(digest, 0, 0) == b""


def test_putting_the_same_again_leaves_one_blob_and_makes_it_new(place: BytesPlace) -> None:
    for now in (NOW, NOW + 5):
        put(place, b"same", now=now)
        put(place, BIG, now=now)
    assert {(b.size, b.touched_ms) for b in place.blobs.list()} == {
        (4, NOW + 5),
        (len(BIG), NOW + 5),
    }


@pytest.mark.parametrize("data", [b"right bytes", BIG])
def test_putting_the_right_bytes_heals_wrong_ones_for_every_reader(held: Held, data: bytes) -> None:
    digest = put(held.place, data)
    other = held.again()
    assert whole(other, digest) == data
    held.flip(digest)
    assert whole(other, digest) != data
    assert put(held.place, data) == digest
    assert whole(held.place, digest) == whole(other, digest) == data


def test_bytes_of_another_digest_or_beyond_the_quota_leave_nothing(place: BytesPlace) -> None:
    with pytest.raises(Conflict, match="have digest"):
        put(place, BIG, digest="0" * 64)
    with pytest.raises(QuotaExceeded):
        put(place, BIG, most=len(BIG) - 1)
    assert list(place.blobs.list()) == []
    assert put(place, BIG, digest=digest_of(BIG), most=len(BIG)) == digest_of(BIG)


def test_the_quota_stops_a_source_before_it_is_read_to_its_end(place: BytesPlace) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * 1000
        raise AssertionError("read too much")

    with pytest.raises(QuotaExceeded):
        place.blobs.stage(endless(), now_ms=NOW, digest=None, most=2500)


def test_a_writer_that_dies_in_between_leaves_only_garbage_that_is_swept(held: Held) -> None:
    class Killed(BaseException):
        pass

    def dies() -> Iterator[bytes]:
        yield BIG
        raise Killed

    kept = put(held.place, b"kept")
    with pytest.raises(Killed):
        held.place.blobs.stage(dies(), now_ms=NOW, digest=None, most=None)
    other = held.again()
    assert other.blobs.size(digest_of(BIG)) is None
    other.sweep(LATER)
    assert [b.digest for b in other.blobs.list()] == [kept]
    assert whole(other, kept) == b"kept"


def test_many_puts_of_one_digest_at_once_are_all_right(held: Held) -> None:
    places, found, started = [held.place, held.again()], [], threading.Barrier(4)

    def run(place: BytesPlace) -> None:
        started.wait(30)
        found.append(put(place, BIG))

    threads = [threading.Thread(target=run, args=(places[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [digest_of(BIG)] * 4
    held.place.sweep(LATER)
    assert whole(held.place, digest_of(BIG)) == BIG
    assert len(list(held.place.blobs.list())) == 1


def test_missing_bytes_are_said_and_not_worth_a_retry(place: BytesPlace) -> None:
    missing = digest_of(b"never put")
    assert place.blobs.size(missing) is None
    with pytest.raises(BytesLost, match=missing[:12]) as refused:
        place.blobs.get(missing, 0, 10)
    assert refused.value.retryable is False
    place.blobs.touch(missing, NOW)
    assert not place.blobs.delete(missing, untouched_since_ms=LATER)


def test_only_a_blob_that_stayed_old_is_deleted(place: BytesPlace) -> None:
    digest = put(place, BIG)
    place.blobs.touch(digest, NOW + 10)
    assert not place.blobs.delete(digest, untouched_since_ms=NOW)
    assert whole(place, digest) == BIG
    put(place, BIG, now=NOW + 20)
    assert not place.blobs.delete(digest, untouched_since_ms=NOW + 10)
    assert place.blobs.delete(digest, untouched_since_ms=NOW + 20)
    assert place.blobs.size(digest) is None
    place.sweep(LATER)
    assert put(place, BIG) == digest
    assert whole(place, digest) == BIG


def test_a_log_is_read_while_it_grows_by_everyone(held: Held) -> None:
    assert held.place.logs.look("1.ART-001.log") is None
    log = held.place.logs.open("1.ART-001.log", cap=None)
    assert log.size() == 0
    stream = b""
    other = held.again()
    for part in (b"one", b"", b"two" * 5000, b"x", BIG[:100_000]):
        assert log.append(part) == len(stream)
        stream += part
        assert read_log(other, log.name) == stream
    assert other.logs.held([log.name, "none"]) == {log.name: len(stream), "none": 0}


def test_of_two_writers_at_one_offset_one_appends(held: Held) -> None:
    logs = [p.logs.open("1.ART-001.log", cap=None) for p in (held.place, held.again())]
    assert logs[0].extend(0, b"first ") == 6
    assert logs[1].extend(0, b"again ") == 6
    assert logs[1].extend(6, b"second") == 12
    assert logs[0].extend(99, b"beyond") == 12
    assert read_log(held.place, "1.ART-001.log") == b"first second"


def test_who_extends_a_log_in_the_folder_locks_others_out_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FolderPlace(tmp_path / "artifacts").logs.open("1.ART-001.log", cap=None)
    (file,) = tmp_path.rglob("1.ART-001.log")
    append, locked = GrowingLog.append, []

    def lock() -> bool:
        with file.open("rb") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def spied(self: GrowingLog, data: bytes | memoryview) -> int:
        locked.append(not lock())
        return append(self, data)

    monkeypatch.setattr(GrowingLog, "append", spied)
    assert log.extend(0, b"one") == 3
    assert locked == [True]
    assert lock()


@pytest.mark.parametrize("step", [777, CHUNK, 100_000])
def test_a_sealed_log_has_the_digest_of_its_bytes_however_they_came(held: Held, step: int) -> None:
    stream = BIG[:300_007]
    log = grown(held.place, stream, step)
    other = held.again()
    last = other.logs.open(log.name, cap=None)
    blob, size, gap = other.logs.finish(last, now_ms=NOW, shared=False)
    assert (blob.digest, blob.size, size, gap) == (
        digest_of(stream),
        len(stream),
        len(stream),
        None,
    )
    assert whole(held.again(), blob.digest) == stream


@pytest.mark.parametrize("cap", [1000, 70_001])
@pytest.mark.parametrize("step", [777, 100_000])
def test_a_cap_keeps_head_and_tail_the_same_way_everywhere(held: Held, cap: int, step: int) -> None:
    stream = b"".join(b"%07d\n" % n for n in range(60_000))
    log = grown(held.place, stream, step, cap=cap)
    assert held.place.logs.held([log.name])[log.name] < cap + max(cap // 2, 1 << 16) + step
    blob, size, gap = held.place.logs.finish(log, now_ms=NOW, shared=False)
    half = cap // 2
    kept = stream[:half] + stream[-(cap - half) :]
    assert (blob.digest, blob.size, size) == (digest_of(kept), cap, len(stream))
    assert gap == (half, len(stream) - cap, stream[half : len(stream) - cap + half].count(b"\n"))
    assert whole(held.again(), blob.digest) == kept


@pytest.mark.parametrize("to", [150, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_bytes_lost_on_the_way_are_skipped(held: Held, to: int) -> None:
    log = held.place.logs.open("1.ART-001.log", cap=100_000)
    log.append(b"a" * 100)
    assert log.extend(100, b"", skip_to=to) == to
    assert log.extend(to, b"b" * 20_000) == to + 20_000
    assert read_log(held.again(), log.name) == b"a" * 100 + b"b" * 20_000
    blob, size, gap = held.place.logs.finish(log, now_ms=NOW, shared=False)
    assert (size, gap) == (to + 20_000, (100, to - 100, 0))
    assert whole(held.place, blob.digest) == b"a" * 100 + b"b" * 20_000


@pytest.mark.parametrize("again", [False, True])
def test_what_a_killed_sweep_had_set_aside_comes_back_under_one_name(
    tmp_path: Path, again: bool
) -> None:
    place = FolderPlace(tmp_path / "artifacts")
    digest = put(place, BIG[:1000])
    (file,) = tmp_path.rglob(digest)
    file.rename(file.with_name(f"{digest}.going"))
    assert whole(place, digest) == BIG[:1000]
    if again:  # someone has put the same bytes meanwhile
        put(place, BIG[:1000])
    assert {one.digest for one in place.blobs.list()} == {digest}
    assert [one.name for one in file.parent.iterdir()] == [digest]


@pytest.mark.parametrize("what", ["grew", "vanished"])
def test_a_log_that_another_changes_while_it_is_hashed_is_not_sealed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    engines = [PostgresEngine(postgres_url) for _ in range(2)]
    place, other = (DatabasePlace(engine) for engine in engines)
    log = grown(place, BIG[:50_000], 7000)
    digest = place.logs._digest

    def meanwhile(name: str, row: Any) -> str:
        if what == "grew":
            other.logs.open(name, cap=None).append(b"more")
        else:
            other.logs.sweep(set(), LATER)
        return digest(name, row)

    monkeypatch.setattr(place.logs, "_digest", meanwhile)
    with pytest.raises(StoreBusy, match="grew"):
        place.logs.finish(log, now_ms=NOW, shared=False)
    assert place.blobs.size(digest_of(BIG[:50_000])) is None
    for engine in engines:
        engine.close()


def test_a_new_folder_is_in_its_parent_on_disk_before_anything_is_put_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Dir.root(tmp_path / "artifacts")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    root.sub("blobs")
    assert synced == [root.fd]
    root.sub("blobs")
    assert synced == [root.fd]


def test_a_log_that_grows_after_it_was_sealed_spoils_nothing(held: Held) -> None:
    log = grown(held.place, BIG[:90_000], 7000, cap=100_000)
    blob, *_ = held.place.logs.finish(log, now_ms=NOW, shared=True)
    log.append(BIG)
    assert whole(held.again(), blob.digest) == BIG[:90_000]
    last, size, _ = held.place.logs.finish(log, now_ms=NOW, shared=True)
    assert (size, last.size) == (90_000 + len(BIG), 100_000)


@pytest.mark.parametrize("cap", [None, 100_000])
def test_a_log_that_grows_while_it_is_copied_is_taken_as_it_was(
    held: Held, cap: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a cap, its middle is cut out meanwhile, and the copy begins again."""
    log = grown(held.place, BIG[:90_000], 7000, cap=cap)
    logs, more = held.again().logs, [BIG[90_000:300_000]]
    look = logs.look

    def looking(name: str) -> LogBytes | None:
        found = look(name)
        assert found

        def reading(offset: int, length: int) -> bytes:
            if more:
                log.append(more.pop())
            return found.pread(offset, length)

        return found._replace(pread=reading)

    monkeypatch.setattr(logs, "look", looking)
    blob, size, _ = logs.finish(logs.open(log.name, cap=cap), now_ms=NOW, shared=True)
    kept = BIG[: cap // 2] + BIG[300_000 - cap // 2 : 300_000] if cap else BIG[:90_000]
    assert (size, whole(held.place, blob.digest)) == (300_000 if cap else 90_000, kept)


def test_sealed_logs_are_swept_and_their_bytes_stay(held: Held) -> None:
    done, more = grown(held.place, BIG, 1 << 20), held.place.logs.open("1.ART-002.log", cap=None)
    more.append(b"still growing")
    blob, *_ = held.place.logs.finish(done, now_ms=NOW, shared=False)
    assert held.place.logs.sweep({done.name, more.name}, LATER) == 0
    assert held.place.logs.sweep({more.name}, 0) == 0
    assert held.place.logs.sweep({more.name}, LATER) == 1
    held.place.sweep(LATER)
    assert held.place.logs.look(done.name) is None
    assert read_log(held.place, more.name) == b"still growing"
    assert whole(held.again(), blob.digest) == BIG


def test_a_reader_never_takes_a_cut_for_data(held: Held) -> None:
    log = held.place.logs.open("1.ART-001.log", cap=1000)
    log.append(b"x" * 60_000)
    before = held.again().logs.look(log.name)
    assert before is not None
    log.append(b"y" * 60_000)
    with pytest.raises(StoreBusy, match="cut out"):
        before.pread(20_000, 100)


def test_a_sweep_waits_for_backups_and_backups_share(held: Held) -> None:
    order: list[str] = []

    def sweep() -> None:
        with held.again().lock(alone=True):
            order.append("sweep")

    with held.place.lock(alone=False), held.place.lock(alone=False):
        waiting = threading.Thread(target=sweep)
        waiting.start()
        waiting.join(0.2)
        order.append("backup")
    waiting.join(30)
    assert order == ["backup", "sweep"]


def test_a_backup_waits_for_a_long_sweep(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than a write waits for a workspace."""
    monkeypatch.setattr(postgres, "_SETTINGS", postgres._SETTINGS.replace("'8s'", "'50ms'"))
    engine, order = PostgresEngine(postgres_url), list[str]()

    def back_up() -> None:
        with engine.undisturbed(alone=False):
            order.append("backup")

    waiting = threading.Thread(target=back_up)
    with engine.undisturbed(alone=True):
        waiting.start()
        waiting.join(0.5)
        order.append("sweep")
    waiting.join(30)
    assert order == ["sweep", "backup"]
    engine.close()


def grown(place: BytesPlace, stream: bytes, step: int, *, cap: int | None = None) -> LogWriter:
    log = place.logs.open("1.ART-001.log", cap=cap)
    for at in range(0, len(stream), step):
        log.append(stream[at : at + step])
    return log
