"""Files private to one user: never opened through a symbolic link, never readable by others.

For the files beside the database in a store's folder: server address notes, tokens, logs.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

__all__ = ["append_private", "open_private", "read_private", "write_private"]

MOST_BYTES = 1 << 20


def open_private(path: Path, flags: int, *, others: bool = False) -> int:
    """Open a regular file owned by this user; anything else raises OSError.

    With `others`, the file may be another user's, and its permissions stay as they are.
    """
    # O_NONBLOCK: opening a named pipe put in the file's place must not block.
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    descriptor = os.open(path, flags & ~os.O_TRUNC, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        if found.st_uid != os.geteuid() and not others:
            raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
        if found.st_mode & 0o077 and not others:
            os.fchmod(descriptor, 0o600)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_private(path: Path, *, others: bool = False, most: int = MOST_BYTES) -> bytes:
    """The contents of the file, by default up to a megabyte."""
    with os.fdopen(open_private(path, os.O_RDONLY, others=others), "rb") as file:
        return file.read(most)


def write_private(path: Path, content: bytes) -> None:
    """Replace the file atomically: readers see the old contents or the new."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        fresh.unlink()
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(open_private(fresh, flags), "wb") as file:
            file.write(content)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def append_private(path: Path) -> TextIOWrapper:
    """Open the file for appending text."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.fdopen(open_private(path, flags), "a", encoding="utf-8", errors="backslashreplace")
