"""Opens a file that an agent names, but only if the agent may publish it.

The path is walked one component at a time without following links, so that nothing can be swapped
during the check. Folders that hold credentials or programs (`.git`, the store's folder) are refused
anywhere in the path, and so is a file with a second hard link.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["NotTaken", "open_inside"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class NotTaken(Exception):
    """The file is refused; the text says why."""


def open_inside(root: Path, path: str, *, never: Path | tuple[Path, ...] | None = None) -> int:
    """A descriptor of the regular file `path` below `root`; raises NotTaken, or OSError as `open`.

    Files in the folders `never` are refused.
    """
    parts = _parts(root, path)
    folders = never if isinstance(never, tuple) else (never,)
    forbidden = {_identity(one) for one in folders} - {None}
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = _open(part, _FOLDER, folder, path)
            os.close(folder)
            folder = below
            if _identity(folder) in forbidden:
                raise NotTaken(f"{path} is in the store's folder")
        file = _open(parts[-1], _FILE, folder, path)
    finally:
        os.close(folder)
    about = os.fstat(file)
    if stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
        return file
    os.close(file)
    if stat.S_ISREG(about.st_mode):
        raise NotTaken(f"{path} has more than one hard link")
    raise NotTaken(f"{path} is not a regular file")


def _parts(root: Path, path: str) -> list[str]:
    if "\0" in path:
        raise NotTaken(f"{path!r} is not a valid path")
    named = Path(path)
    if named.is_absolute() and named.is_relative_to(root):
        named = named.relative_to(root)
    parts = list(named.parts)
    if named.is_absolute() or ".." in parts:
        raise NotTaken(f"{path} is outside {root.name}")
    if not parts:
        raise NotTaken(f"{path} is not a regular file")
    if any(part.casefold() == ".git" for part in parts):
        raise NotTaken(f"{path} is in a git directory")
    return parts


def _open(part: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in _LINKS and _is_link(part, folder):
            raise NotTaken(f"{path} goes through a symbolic link") from error
        if error.errno == errno.ENXIO:
            raise NotTaken(f"{path} is not a regular file") from error
        raise


def _is_link(part: str, folder: int) -> bool:
    return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)


def _identity(where: Path | int | None) -> tuple[int, int] | None:
    if where is None:
        return None
    try:
        about = os.fstat(where) if isinstance(where, int) else where.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino
