"""Watches one file for writes: inotify on Linux, kqueue on BSD and macOS, nothing elsewhere.

The watcher also checks once a second, so a platform without either is slower, not wrong.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

from longhouse.store.engine import CommitSignal, SignalCounts

__all__ = ["watch"]

_IN_MODIFY = 0x2
Count = Callable[[], SignalCounts]


class _Descriptor:
    """A descriptor that becomes readable when the file is written to."""

    def __init__(self, fd: int, heard: Count) -> None:
        self._fd = fd
        self.heard = heard

    def fileno(self) -> int:
        return self._fd

    def drain(self) -> None:
        os.read(self._fd, 65536)

    def close(self) -> None:
        os.close(self._fd)


class _Silence(_Descriptor):
    """A watch that never fires: the reading end of a pipe that is never written to."""

    def __init__(self, heard: Count) -> None:
        reading, self._writing = os.pipe()
        super().__init__(reading, heard)

    def close(self) -> None:
        super().close()
        os.close(self._writing)


if sys.platform == "linux":

    def watch(path: Path, heard: Count) -> CommitSignal:
        """A signal for every write to the file from now on; `heard` counts what they mean."""
        import ctypes

        libc = ctypes.CDLL(None)
        fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if fd < 0:  # the user's limit of inotify instances is reached
            return _Silence(heard)
        if libc.inotify_add_watch(fd, os.fsencode(path), _IN_MODIFY) < 0:
            os.close(fd)
            return _Silence(heard)
        return _Descriptor(fd, heard)

else:

    def watch(path: Path, heard: Count) -> CommitSignal:
        """A signal for every write to the file from now on; `heard` counts what they mean."""
        return _Kqueue(path) if hasattr(select, "kqueue") else _Silence()

    class _Kqueue:
        def __init__(self, path: Path, heard: Count) -> None:
            self.heard = heard
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            self._queue = select.kqueue()
            written = select.kevent(
                self._file,
                filter=select.KQ_FILTER_VNODE,
                flags=select.KQ_EV_ADD | select.KQ_EV_CLEAR,
                fflags=select.KQ_NOTE_WRITE,
            )
            self._queue.control([written], 0)

        def fileno(self) -> int:
            return self._queue.fileno()

        def drain(self) -> None:
            self._queue.control(None, 8, 0)

        def close(self) -> None:
            self._queue.close()
            os.close(self._file)
