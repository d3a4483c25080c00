"""On which TCP ports the processes of tasks listen, as the kernel tells."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["Ports"]

_LISTENS = "0A"
_SOCKET = re.compile(r"socket:\[(\d+)\]")


class Ports:
    """Looks at the open files of processes only when somebody has begun or ceased to listen."""

    def __init__(self) -> None:
        self._listening: dict[str, int] = {}
        self._asked: set[str] = set()

    def look(self, trees: Mapping[str, set[int]]) -> dict[str, list[int]] | None:
        """The ports of each of these named trees; None when nothing can have changed."""
        listening = _listening()
        if listening == self._listening and self._asked == set(trees):
            return None
        self._listening, self._asked = listening, set(trees)
        return {
            name: sorted(
                {listening[inode] for pid in pids for inode in _sockets(pid) & listening.keys()}
            )
            if listening
            else []
            for name, pids in trees.items()
        }


def _listening() -> dict[str, int]:
    """Port by inode, of every socket of this machine that listens."""
    found = {}
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENS:
                found[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    return found


def _sockets(pid: int) -> set[str]:
    found = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            if hit := _SOCKET.fullmatch(os.readlink(f"/proc/{pid}/fd/{fd}")):  # noqa: PTH115
                found.add(hit[1])
    except OSError:
        return found  # it has ended, or is another user's
    return found
