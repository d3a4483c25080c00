"""Room in files that Python cannot ask for by itself: set aside, and given back in the middle.

Both are promises of Linux; where a file system does not make them, `reserve` sets nothing aside and
`punch` says so.
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
    """Set room aside without making the file longer; OSError when there is none."""
    _fallocate(fd, _KEEP_SIZE, 0, size)


def punch(fd: int, start: int, stop: int) -> bool:
    """Give the room between two offsets back, to be read as zeros; False where none can be."""
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
