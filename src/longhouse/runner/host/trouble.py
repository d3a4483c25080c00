"""The host's own log, `host.log`: defects and what else its programs' owner should know.

Every host of a folder appends to the same file. Beyond MOST_BYTES it is moved aside, and the one
moved aside before is gone, so neither a crash loop nor a repeating defect fills the disk.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from longhouse.kernel.private_files import open_private

__all__ = ["LOG", "contained", "note", "open_log", "tell_defect"]

LOG = "host.log"
MOST_BYTES = 1 << 20


def open_log() -> None:
    """From now on, standard output and error go to the log in the current folder."""
    path = Path(LOG)
    with suppress(OSError):
        if path.stat().st_size >= MOST_BYTES:
            path.replace(f"{LOG}.1")
    log = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for target in (1, 2):
        os.dup2(log, target)
    os.close(log)


def note(words: str) -> None:
    """Write one line, with the time and our pid; a full disk is no reason to fail."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{now} host {os.getpid()}: {words}\n")
        sys.stderr.flush()


def tell_defect(where: str) -> None:
    """Write the exception that is being handled."""
    note(f"a defect {where}; it goes on without it\n{traceback.format_exc()}")
    _turn_over()


@contextmanager
def contained(where: str) -> Iterator[None]:
    """A defect met by one visitor or task must not stop the others: write it down and go on."""
    try:
        yield
    except Exception:
        tell_defect(where)


def _turn_over() -> None:
    """Begin a new file if standard error is a log that has grown too long."""
    with suppress(OSError, ValueError):
        about = os.fstat(sys.stderr.fileno())
        ours = Path(LOG).stat()
        if about.st_size >= MOST_BYTES and (about.st_dev, about.st_ino) == (
            ours.st_dev,
            ours.st_ino,
        ):
            open_log()
