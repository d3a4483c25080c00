"""Whose turn it is to speak for a host, as far as this machine can tell: a lock in its folder.

The server's lease decides; the lock only tells the next runner at once that the speaker is dead. A
runner that took over from one that still holds the lock (it was stopped) puts its own lock in that
place, so that the lock always belongs to the speaker.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from longhouse.kernel.private_files import open_private

__all__ = ["SpeakingTurn"]

LOCK = "speaker.lock"


class SpeakingTurn:
    """The lock of one runner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd = -1

    @property
    def is_ours(self) -> bool:
        return self._fd >= 0

    def take(self) -> bool:
        """Take the lock if nobody holds it."""
        return self._lock(LOCK)

    def seize(self) -> None:
        """Take the place of a speaker that the server no longer hears."""
        fresh = f"{LOCK}.{os.urandom(4).hex()}"
        if self._lock(fresh):
            (self._folder / fresh).replace(self._folder / LOCK)

    def end(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _lock(self, name: str) -> bool:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = open_private(self._folder / name, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (self._folder / name).stat().st_ino == os.fstat(fd).st_ino:
                self._fd, fd = fd, -1
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        finally:
            if fd >= 0:
                os.close(fd)
        return False
