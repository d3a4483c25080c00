"""Punches holes: frees the middle of a file on disk without moving what comes after it."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

__all__ = ["punch"]

_BLOCK = 4096
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02
_F_PUNCHHOLE = 99


def punch(fd: int, start: int, end: int) -> bool:
    """Free the whole blocks between `start` and `end`; False if the system cannot.

    The file keeps its length either way; only its size on disk depends on this.
    """
    start, end = -(-start // _BLOCK) * _BLOCK, end // _BLOCK * _BLOCK
    if start >= end:
        return True
    if sys.platform == "darwin":
        return _punch_darwin(fd, start, end)
    return bool(_fallocate() and _fallocate()(fd, _KEEP_SIZE_AND_PUNCH, start, end - start) == 0)


@cache
def _fallocate() -> Any:
    import ctypes

    found = getattr(ctypes.CDLL(None, use_errno=True), "fallocate64", None)
    if found is not None:
        found.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return found


def _punch_darwin(fd: int, start: int, end: int) -> bool:
    import fcntl
    import struct

    try:
        fcntl.fcntl(fd, _F_PUNCHHOLE, struct.pack("=IIqq", 0, 0, start, end - start))
    except OSError:
        return False
    return True
