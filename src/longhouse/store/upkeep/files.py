"""Files and folders of a backup: private, synced, and complete before they have their name.

None of these may open a database that this process has open: closing such a file would drop
SQLite's locks on it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longhouse.store.artifacts.disk import OpenFile, disk_errors, write_all
from longhouse.store.database import Database
from longhouse.store.sqlite import SqliteEngine

__all__ = [
    "copy_private",
    "new_folder",
    "opened",
    "remove_database",
    "sha256_of",
    "sync",
    "write_private",
]


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
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
            sync(partial)
            partial.rename(path)
            sync(path.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open a copied database as a store; leaves no lock files behind."""
    db = Database(SqliteEngine(path))
    try:
        yield db
    finally:
        db.close()
        _remove_locks(path)


def remove_database(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    _remove_locks(path)


def _remove_locks(path: Path) -> None:
    for suffix in (".lock", ".next"):
        path.with_suffix(suffix).unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with disk_errors(os.fspath(path)):
        for chunk in OpenFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC)).chunks():
            digest.update(chunk)
    return digest.hexdigest()


def write_private(path: Path, data: bytes) -> None:
    with disk_errors(os.fspath(path)):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = OpenFile(os.open(path, flags, 0o600))
        write_all(file.fd, data)
        os.fsync(file.fd)


def copy_private(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    write_private(target, b"")
    file = OpenFile(os.open(target, os.O_WRONLY | os.O_CLOEXEC))
    for chunk in OpenFile(os.open(source, os.O_RDONLY | os.O_CLOEXEC)).chunks():
        write_all(file.fd, chunk)
    os.fsync(file.fd)


def sync(folder: Path) -> None:
    file = OpenFile(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    os.fsync(file.fd)
