"""Locks that end with their process: they tell a folder in use from one that was left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["held", "held_among_others", "held_folder", "sweep_folders"]

LEFT_BEHIND_S = 60
"""An unlocked folder older than this has no owner: a new one is locked at once."""
RETRY_S = 0.05


@contextmanager
def held(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a lock file; BlockingIOError if it is held elsewhere and `wait` is False.

    The file may be deleted by its holder, so after a wait it must still be the one at the path.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(FileNotFoundError):
                if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                    yield
                    return


@contextmanager
def held_among_others(path: Path, wait_s: float) -> Iterator[None]:
    """Hold a lock file where others may write: no link is followed, and the wait has an end.

    Raises TimeoutError. The file stays, so that everybody locks the same one.
    """
    flags = os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags | os.O_RDWR, 0o666)  # as NFS wants it
    except PermissionError:
        handle = os.open(path, flags | os.O_RDONLY, 0o666)  # another user has made it
    try:
        until = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    why = f"another process has held this lock for {wait_s:g} s"
                    raise TimeoutError(errno.ETIMEDOUT, why, str(path)) from None
            time.sleep(RETRY_S)
        yield
    finally:
        os.close(handle)


@contextmanager
def held_folder(parent: Path) -> Iterator[Path]:
    """A new private folder, removed at the end, and locked until then."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)
    with fresh as made, held(Path(made, "lock")):
        yield Path(made)


def sweep_folders(parent: Path) -> int:
    """Remove the folders that `held_folder` made for processes that were killed."""
    swept = 0
    for one in parent.iterdir() if parent.is_dir() else ():
        with suppress(OSError):
            if one.lstat().st_mtime < time.time() - LEFT_BEHIND_S:
                with held(one / "lock", wait=False):
                    shutil.rmtree(one)
                    swept += 1
    return swept
