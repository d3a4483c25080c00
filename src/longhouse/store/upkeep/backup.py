"""Backup and restore of a SQLite store, artifacts included, while the house keeps running.

A backup is a folder: a snapshot of the database, every artifact it refers to, the growing logs, and
`backup.json`, which is written last and contains the digest of the database. A backup is verified
like a live store before it counts, and again when it is restored. PostgreSQL has its own tools.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput, StoreError, StoreUnusable
from longhouse.kernel.registry import Registry
from longhouse.kernel.values import Value
from longhouse.store.artifacts.disk import OpenFile, disk_errors, write_all
from longhouse.store.artifacts.growing import open_growing, read_gap, record_gap
from longhouse.store.artifacts.keeper import Artifacts, log_name
from longhouse.store.artifacts.room import sql as artifact_sql
from longhouse.store.database import Database
from longhouse.store.sqlite import SqliteEngine, explain
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.verify import Verified, verify

__all__ = ["BackedUp", "back_up", "restore"]

DB_NAME = "longhouse.db"
_PAGES = 2048


class BackedUp(Value, frozen=True, kw_only=True):
    """The contents of a backup, as written to `backup.json`."""

    format: int
    schema: int
    taken_at_ms: int
    sha256: str
    bytes: int
    workspaces: int
    artifacts: int


def back_up(
    db: Database, artifacts: Artifacts, registry: Registry, to: Path, call: Call
) -> BackedUp:
    """Copy a running store into the new folder `to`, and verify the copy."""
    engine = db.engine
    if not isinstance(engine, SqliteEngine):
        raise StoreUnusable(
            "a PostgreSQL store is backed up with PostgreSQL's own tools",
            recovery="use pg_dump and copy the artifacts folder, or `longhouse export` a workspace",
        )
    _refuse_used(to)
    with _new_folder(to) as partial, artifacts.undisturbed():
        _copy_database(engine.path, partial / DB_NAME)
        kept = Artifacts(partial / "artifacts")
        with _opened(partial / DB_NAME) as copy:
            count = sum(_copy_artifacts(copy, artifacts, kept, n, call) for n in copy.workspaces())
            found = verify(copy, kept, registry, call, full=True)
            schema = copy.engine.schema_version()
        _refuse_damaged(found, "the store has problems, so no backup was made")
        made = BackedUp(
            format=1,
            schema=schema,
            taken_at_ms=db.time(call),
            sha256=_sha256(partial / DB_NAME),
            bytes=(partial / DB_NAME).stat().st_size,
            workspaces=len(found.workspaces),
            artifacts=count,
        )
        _write_private(partial / "backup.json", msgspec.json.format(msgspec.json.encode(made)))
    return made


def restore(
    source: Path, db_path: Path, artifacts_path: Path, registry: Registry, call: Call
) -> BackedUp:
    """Restore a backup where there is no store yet; the database is put in place last."""
    made = _read_manifest(source)
    for path in (db_path, artifacts_path):
        if path.exists() and (path.is_file() or any(path.iterdir())):
            raise Conflict(
                f"{path} exists; nothing was restored",
                recovery="restore into another folder with --dir, or move the existing store away",
            )
    with disk_errors("the restored store"):
        db_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = db_path.with_name(db_path.name + ".partial")
    try:
        with disk_errors("the restored store"):
            _copy_private(source / DB_NAME, partial)
        if _sha256(partial) != made.sha256:
            raise StoreUnusable(
                f"{source / DB_NAME} has changed since the backup; nothing was restored",
                recovery="use another backup",
            )
        backup, restored = Artifacts(source / "artifacts"), Artifacts(artifacts_path)
        with _opened(partial) as copy:
            for name in copy.workspaces():
                _copy_artifacts(copy, backup, restored, name, call)
            found = verify(copy, restored, registry, call, full=True)
        _refuse_damaged(found, "the backup has problems; nothing was restored")
        with disk_errors("the restored store"):
            partial.rename(db_path)
            _sync(db_path.parent)
    except BaseException:
        shutil.rmtree(artifacts_path, ignore_errors=True)
        _remove_database(partial)
        raise
    return made


def _copy_database(source: Path, target: Path) -> None:
    """Copy one snapshot, page by page, while others read and write."""
    _write_private(target, b"")
    try:
        reading, writing = apsw.Connection(os.fspath(source)), apsw.Connection(os.fspath(target))
        try:
            reading.set_busy_timeout(10_000)
            reading.execute("BEGIN; SELECT COUNT(*) FROM sqlite_schema").fetchall()
            with writing.backup("main", reading, "main") as copying:
                while not copying.done:
                    copying.step(_PAGES)
        finally:
            reading.close()
            writing.close()
    except apsw.Error as error:
        raise explain(error) from error
    with disk_errors("the backup"):
        file = OpenFile(os.open(target, os.O_RDONLY | os.O_CLOEXEC))
        os.fsync(file.fd)


def _copy_artifacts(
    db: Database, source: Artifacts, target: Artifacts, workspace: str, call: Call
) -> int:
    def copy(tx: Tx) -> int:
        after, count = "", 0
        while rows := tx.all(artifact_sql.artifacts_stored, after=after, limit=500):
            after = rows[-1]["digest"]
            for row in rows:
                _copy_blob(source, target, row["digest"], row["stored"], tx.now_ms)
                count += 1
        for row in tx.all(artifact_sql.artifacts_growing):
            _copy_log(source, target, log_name(tx.ws, row["handle"]))
        return count

    return db.read(workspace, copy, call)


def _copy_blob(source: Artifacts, target: Artifacts, digest: str, size: int, now_ms: int) -> None:
    if target.blobs.size(digest) == size:
        return
    step = 1 << 20
    chunks = (source.blobs.get(digest, at, min(step, size - at)) for at in range(0, size, step))
    if target.stage(chunks, now_ms=now_ms).digest != digest:
        raise StoreError(
            f"the bytes of artifact:{digest[:12]} are damaged",
            recovery="`longhouse verify --full` lists all damaged artifacts",
        )


def _copy_log(source: Artifacts, target: Artifacts, name: str) -> None:
    """Copy the bytes, then the gap: gaps only grow, so it covers what was cut in the meantime."""
    try:
        file, gap = open_growing(source.growing, name)
    except FileNotFoundError:
        return
    with disk_errors("a log"):
        copy = target.growing.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        size = file.size()
        for start, end in ((0, gap.at if gap else 0), (gap.end if gap else 0, size)):
            os.lseek(copy.fd, start, os.SEEK_SET)
            for chunk in file.chunks(start, end):
                write_all(copy.fd, chunk)
        os.fsync(copy.fd)
        if now := read_gap(source.growing, name):
            record_gap(target.growing, name, now)


def _read_manifest(source: Path) -> BackedUp:
    try:
        return msgspec.json.decode((source / "backup.json").read_bytes(), type=BackedUp)
    except (OSError, msgspec.DecodeError):
        raise InvalidInput(
            f"{source} is not a complete backup",
            recovery="name a folder made by `longhouse backup`",
        ) from None


def _refuse_used(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(f"{folder} exists and is not empty", recovery="name a new folder")


def _refuse_damaged(found: Verified, message: str) -> None:
    if found.problems:
        first = found.problems[0]
        raise StoreUnusable(
            f"{message}: {first.where}: {first.message}",
            recovery="`longhouse verify --full` lists all problems",
        )


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """A folder that gets its name only once it is complete."""
    partial = path.with_name(path.name + ".partial")
    with disk_errors(os.fspath(path)):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, mode=0o700)
    try:
        yield partial
        with disk_errors(os.fspath(path)):
            if path.exists():
                path.rmdir()
            _sync(partial)
            partial.rename(path)
            _sync(path.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    """Open a copied database as a store; leaves no lock files behind."""
    db = Database(SqliteEngine(path))
    try:
        yield db
    finally:
        db.close()
        _remove_locks(path)


def _remove_database(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    _remove_locks(path)


def _remove_locks(path: Path) -> None:
    for suffix in (".lock", ".next"):
        path.with_suffix(suffix).unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with disk_errors(os.fspath(path)):
        for chunk in OpenFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC)).chunks():
            digest.update(chunk)
    return digest.hexdigest()


def _write_private(path: Path, data: bytes) -> None:
    with disk_errors(os.fspath(path)):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = OpenFile(os.open(path, flags, 0o600))
        write_all(file.fd, data)
        os.fsync(file.fd)


def _copy_private(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    _write_private(target, b"")
    file = OpenFile(os.open(target, os.O_WRONLY | os.O_CLOEXEC))
    for chunk in OpenFile(os.open(source, os.O_RDONLY | os.O_CLOEXEC)).chunks():
        write_all(file.fd, chunk)
    os.fsync(file.fd)


def _sync(folder: Path) -> None:
    file = OpenFile(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    os.fsync(file.fd)
