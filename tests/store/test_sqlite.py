"""SQLite as a file on disk: whose it is, who may write it, what can break, and its errors."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from longhouse.kernel.errors import StoreBusy, StoreError, StoreUnusable
from longhouse.store import gate, migrate
from longhouse.store.database import Database
from longhouse.store.queries import Query
from longhouse.store.sqlite import APPLICATION_ID, SqliteEngine
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds
from tests.store.kit import CALL, WS, child, keys, log, put


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "longhouse.db"


@pytest.fixture
def store(path: Path) -> Iterator[Database]:
    db = Database(SqliteEngine(path))
    yield db
    db.close()


def test_a_store_is_private_durable_and_of_the_newest_schema(store: Database, path: Path) -> None:
    store.write(WS, put("a"), CALL)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in path.parent.iterdir())
    assert isinstance(store.engine, SqliteEngine)
    with store.engine.writer() as connection:
        pragma = connection.db.pragma
        assert (pragma("journal_mode"), pragma("synchronous")) == ("wal", 2)
        assert (pragma("foreign_keys"), pragma("application_id")) == (1, APPLICATION_ID)
    assert store.engine.schema_version() == migrate.newest()


def refused(path: Path) -> StoreUnusable:
    before = path.read_bytes()
    with pytest.raises(StoreUnusable) as caught:
        SqliteEngine(path)
    assert path.read_bytes() == before, "a file that is refused stays as it was"
    assert caught.value.recovery
    assert str(path) in caught.value.message
    return caught.value


def test_a_foreign_sqlite_file_is_refused_and_left_alone(path: Path) -> None:
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    foreign.close()
    assert "not a Longhouse store" in refused(path).message


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 500)
    assert "damaged or not a SQLite file" in refused(path).message


def test_a_newer_store_is_refused_and_left_alone(store: Database, path: Path) -> None:
    store.write(WS, put("a"), CALL)
    store.close()
    raw = apsw.Connection(str(path))
    raw.pragma("user_version", 9999)
    raw.close()
    error = refused(path)
    assert "schema 9999" in error.message
    assert "newer Longhouse" in str(error.recovery)


def test_a_torn_store_says_that_it_is_damaged(store: Database, path: Path) -> None:
    for number in range(200):
        store.write(WS, put(f"{number:050d}"), CALL)
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 8192))

    def use() -> None:
        torn = Database(SqliteEngine(path))
        try:
            keys(torn)
            log(torn)
            torn.write(WS, put("b"), CALL)
        finally:
            torn.close()

    with pytest.raises(StoreUnusable, match="damaged") as caught:
        use()
    assert "backup" in str(caught.value.recovery)


def refusal(folder: Path, path: Path) -> str:
    """The error on opening the store as a user who is subject to permissions, unlike root."""

    def attempt() -> str:
        try:
            SqliteEngine(path).close()
        except StoreUnusable as error:
            return f"{error.message} | {error.recovery}"
        return "opened"

    if os.geteuid() != 0:
        return attempt()
    for item in (folder, *folder.rglob("*")):
        os.chown(item, 65534, 65534)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.setuid(65534)
        os.write(writing, attempt().encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading) as answer:
        return answer.read()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach."""
    folder = Path(tempfile.mkdtemp(prefix="longhouse-store-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("below", ["", "below"])
def test_a_folder_that_may_not_be_written_is_named(open_folder: Path, below: str) -> None:
    open_folder.chmod(0o555)
    said = refusal(open_folder, open_folder / below / "longhouse.db")
    assert said.startswith(f"{open_folder / below} cannot be used")
    assert "Permission denied" in said
    assert "--dir" in said


def test_a_file_that_may_not_be_written_is_named(open_folder: Path) -> None:
    path = open_folder / "longhouse.db"
    SqliteEngine(path).close()
    path.chmod(0o444)
    said = refusal(open_folder, path)
    assert said.startswith(f"{path} cannot be opened for writing")
    assert "--dir" in said


def test_a_full_disk_fails_the_call_and_leaves_what_was_there(store: Database) -> None:
    store.write(WS, put("before"), CALL)
    assert isinstance(store.engine, SqliteEngine)
    with store.engine.writer() as connection:
        connection.db.pragma("max_page_count", connection.db.pragma("page_count"))
    with pytest.raises(StoreError, match="disk is full") as caught:
        store.write(WS, put("x" * 100_000), CALL)
    assert caught.value.retryable
    with store.engine.writer() as connection:
        connection.db.pragma("max_page_count", 1_000_000)
    assert store.write(WS, put("after"), CALL) == 2
    assert keys(store) == ["after", "before"]


FILL = """
import resource, sys
from pathlib import Path
from longhouse.kernel.errors import StoreError
from longhouse.store.database import Database
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Call
from tests.kit import CountedIds
from tests.store.kit import CALL, put

db = Database(SqliteEngine(Path(sys.argv[1])))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
number = 0
try:
    while True:
        db.write("acme", put(f"{number:01000d}"), CALL)
        number += 1
except StoreError as error:
    assert error.retryable, error
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    db.write("acme", put("after"), CALL)
    print(number, error.code)
db.close()
"""


def test_a_disk_that_takes_no_more_loses_nothing_that_was_acknowledged(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    written, code = run.stdout.split()
    assert code == "STORE_ERROR"
    db = Database(SqliteEngine(path))
    assert keys(db) == [*(f"{number:01000d}" for number in range(int(written))), "after"]
    assert [seq for seq, _ in log(db)] == list(range(1, int(written) + 2))
    db.close()


def start(writers: list[subprocess.Popen[str]]) -> None:
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()


def test_processes_that_write_one_file_take_turns(store: Database, tmp_path: Path) -> None:
    """However often one asks, the other never waits long."""
    writers = [child(str(tmp_path), WS, f"p{n}", "1000") for n in range(2)]
    start(writers)
    for writer in writers:
        writer.communicate(timeout=60)
    order = [subject[:2] for _, subject in log(store)]
    assert sorted(order) == ["p0"] * 1000 + ["p1"] * 1000
    both = order[order.index("p0" if order[0] == "p1" else "p1") :]
    while both[-1] == both[-2]:
        both.pop()
    runs = [len(run) for run in "".join(b[1] for b in both).replace("01", "0 1").split()]
    # In memory a write is so fast that a process that is not scheduled misses many.
    assert max(runs, default=0) <= 400


def test_every_acknowledged_write_outlives_a_kill_and_none_is_there_twice(
    store: Database, tmp_path: Path
) -> None:
    writer = child(str(tmp_path), WS, "k", "0", "4")
    start([writer])
    assert writer.stdout is not None
    acknowledged = [writer.stdout.readline() for _ in range(200)]
    writer.send_signal(signal.SIGKILL)
    acknowledged += writer.communicate(timeout=30)[0].splitlines(keepends=True)
    done = {line.split()[0] for line in acknowledged if line.endswith("\n")}
    present = keys(store)
    assert done <= set(present)
    assert len(present) == len(set(present))
    rows = log(store)
    assert [seq for seq, _ in rows] == list(range(1, len(present) + 1))
    assert {subject for _, subject in rows} == set(present)
    assert store.write(WS, put("next"), CALL) == len(present) + 1


def test_a_process_that_hangs_with_the_gate_makes_others_busy_not_hang(
    store: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_PATIENCE_S", 0.05)
    other: gate.Gate[None] = gate.Gate(path.with_suffix(".lock"))
    with other, pytest.raises(StoreBusy) as caught:
        store.write(WS, put("a"), CALL)
    other.close()
    assert caught.value.retryable
    assert store.write(WS, put("b"), CALL) == 1


def test_tidying_gives_the_write_ahead_log_back(store: Database, path: Path) -> None:
    for number in range(50):
        store.write(WS, put(f"{number:02d}"), CALL)
    wal = path.with_name(path.name + "-wal")
    assert wal.stat().st_size > 0
    store.engine.tidy()
    assert wal.stat().st_size == 0
    assert len(keys(store)) == 50


def test_tidying_neither_harms_a_write_under_way_nor_waits_for_a_reader(store: Database) -> None:
    def tidy() -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(store.engine.tidy).result(timeout=5)

    def write(tx: Tx) -> None:
        put("b")(tx)
        tidy()
        put("c")(tx)

    store.write(WS, put("a"), CALL)

    def read(tx: Tx) -> int:
        before = tx.last_seq()
        store.write(WS, write, CALL)
        tidy()
        return before

    assert store.read(WS, read, CALL) == 1
    assert log(store) == [(1, "a"), (2, "b"), (3, "c")]


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    writers = [child(str(tmp_path), WS, f"p{n}", "5") for n in range(4)]
    start(writers)
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    db = Database(SqliteEngine(tmp_path / "longhouse.db"))
    assert len(keys(db)) == 20
    db.close()


def test_upgrading_is_all_or_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteEngine(path).close()
    before = migrate.newest()
    broken = [(before + 1, "CREATE TABLE half (x INTEGER) STRICT; CREATE TABLE half (y)")]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "newest", lambda: before + 1)
        patch.setattr(migrate, "scripts", lambda *_args, **_options: broken)
        with pytest.raises(StoreError):
            SqliteEngine(path)
    engine = SqliteEngine(path)
    assert engine.schema_version() == before
    engine.close()


def test_a_clock_that_goes_backwards_changes_no_order(store: Database) -> None:
    for now_ms in (2000, 1000, 1500):
        store.write(WS, put(str(now_ms)), Call(now_ms=now_ms, ids=CountedIds()))
    assert log(store) == [(1, "2000"), (2, "1000"), (3, "1500")]


def test_a_column_that_another_process_adds_costs_nobody_a_call(tmp_path: Path) -> None:
    query = Query("all", "SELECT * FROM idempotency WHERE ws = :ws ORDER BY key", "")

    def look(tx: Tx) -> list[str]:
        return [row["key"] for row in tx.all(query)]

    db = Database(SqliteEngine(tmp_path / "longhouse.db"))
    assert db.write(WS, put("a", then=look), CALL) == db.read(WS, look, CALL) == ["a"]
    other = apsw.Connection(str(tmp_path / "longhouse.db"))
    other.execute("ALTER TABLE idempotency ADD COLUMN extra TEXT")
    other.close()
    assert db.read(WS, look, CALL) == ["a"]
    assert db.write(WS, put("b", then=look), CALL) == ["a", "b"]
    db.close()
