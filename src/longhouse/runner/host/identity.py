"""The id of a host's folder: shared by every host that ever runs there, and by no copy of it.

`host.mark` records which file `host.id` was. A copied folder (`cp -a`, a restored backup) has
another file, so it gets another id, and its hosts leave the processes of the original alone.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from contextlib import suppress
from pathlib import Path

from longhouse.kernel.private_files import read_private, write_private
from longhouse.runner.host.holder import boot_id

__all__ = ["forget_host_id", "host_id_of"]

ID, MARK = "host.id", "host.mark"
LOCK_S = 30.0
RETRY_S = 0.05


def host_id_of(folder: Path) -> str:
    """The id of this folder; a new one if it has none, or if the folder is a copy."""
    if known := _known(folder):
        return known
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(at)  # two runners may start at the same time
        path = folder / ID
        if not path.exists() or not _is_the_same(folder):
            for name in (ID, MARK):
                (folder / name).unlink(missing_ok=True)
            write_private(path, f"host-{os.urandom(8).hex()}\n".encode())
        if _mark_of(folder) != _now(folder):
            write_private(folder / MARK, json.dumps(_now(folder)).encode())
        return read_private(path).decode("ascii").strip()
    finally:
        os.close(at)


def _known(folder: Path) -> str | None:
    """The id, if there is nothing to write: no lock, which a stopped process might hold."""
    with suppress(OSError):
        if _mark_of(folder) == _now(folder):
            return read_private(folder / ID).decode("ascii").strip()
    return None


def _lock(at: int) -> None:
    until = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                why = f"another process has named this host for {LOCK_S:g} s; it may be stopped"
                raise TimeoutError(errno.ETIMEDOUT, why) from None
        time.sleep(RETRY_S)


def forget_host_id(folder: Path) -> None:
    """Have the next host of this folder take a new id; for a restore that copied the folder."""
    for name in (ID, MARK):
        (folder / name).unlink(missing_ok=True)


def _is_the_same(folder: Path) -> bool:
    """Whether `host.id` is still the file that was marked.

    Within one boot, device and inode say so. Devices may be numbered anew at the next boot, when no
    process is left to protect; then the inode and its time of change, which no copy keeps, do.
    """
    was, now = _mark_of(folder), _now(folder)
    if was is None:
        return True  # made before there were marks
    if was["boot"] == now["boot"]:
        return (was["dev"], was["ino"]) == (now["dev"], now["ino"])
    return (was["ino"], was["ctime_ns"]) == (now["ino"], now["ctime_ns"])


def _mark_of(folder: Path) -> dict[str, object] | None:
    with suppress(OSError, ValueError):
        mark = json.loads(read_private(folder / MARK))
        if isinstance(mark, dict) and mark.keys() == {"boot", "dev", "ino", "ctime_ns"}:
            return mark
    return None


def _now(folder: Path) -> dict[str, object]:
    about = (folder / ID).stat()
    return {
        "boot": boot_id(),
        "dev": about.st_dev,
        "ino": about.st_ino,
        "ctime_ns": about.st_ctime_ns,
    }
