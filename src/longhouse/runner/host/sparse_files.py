"""Reserves space in files, and punches holes into them; the standard library can do neither.

Both need Linux and a file system that supports them; otherwise `reserve` does nothing and `punch`
returns False.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Any

__all__ = ["punch", "reserve"]

_KEEP_SIZE = 1
_PUNCH_HOLE = 2
_UNABLE = (errno.EOPNOTSUPP, errno.ENOSYS)


def reserve(fd: int, size: int) -> None:
    """Reserve space without making the file longer; OSError if there is none."""
    _fallocate(fd, _KEEP_SIZE, 0, size)


def punch(fd: int, start: int, stop: int) -> bool:
    """Free the space between two offsets, which then read as zeros; False if unsupported."""
    return _fallocate(fd, _PUNCH_HOLE | _KEEP_SIZE, start, stop - start)


def _fallocate(fd: int, mode: int, offset: int, length: int) -> bool:
    if sys.platform != "linux":
        return False
    call = _libc()
    while call(fd, mode, ctypes.c_int64(offset), ctypes.c_int64(length)):
        number = ctypes.get_errno()
        if number in _UNABLE:
            return False
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
    return True


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    return getattr(libc, "fallocate64", libc.fallocate)
