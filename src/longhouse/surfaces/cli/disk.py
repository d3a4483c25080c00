"""What a person should know about the disk that holds the store, before a write is refused."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["LOW_DISK", "trouble"]

LOW_DISK = 256 * 1024 * 1024


def trouble(path: Path) -> tuple[str, str] | None:
    """What is wrong with the disk under this folder, and what to do; None if nothing is."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY:
        return "the disk is read-only", "make it writable: nothing can be written"
    free = found.f_bavail * found.f_frsize
    if free >= LOW_DISK:
        return None
    state = "full" if not free else f"almost full ({free // 1024**2} MB left)"
    return f"the disk is {state}", "free some space: a full disk stops every write"
