"""Finds the TCP ports that the processes of tasks listen on."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["Ports"]

_LISTENS = "0A"
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_DIAG = 4
_BY_FAMILY = 20
_DUMP = 0x301
_DONE = 3
_HEAD = struct.Struct("=IHHII")
"""A message to or from the kernel: length, kind, flags, number, sender."""
_SOCKET = re.compile(r"socket:\[(\d+)\]")


class Ports:
    """Scans the open files of processes only when the machine's listening sockets have changed."""

    def __init__(self) -> None:
        self._listening: dict[str, int] = {}
        self._asked: set[str] = set()

    def look(self, trees: Mapping[str, set[int]]) -> dict[str, list[int]] | None:
        """The ports of each named tree; None if nothing can have changed."""
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
    """Port by inode, for every listening socket of this machine."""
    try:
        return {inode: port for family in _FAMILIES for inode, port in _asked_for(family)}
    except OSError:
        return _read()


def _asked_for(family: int) -> Iterator[tuple[str, int]]:
    """From the kernel by netlink; unlike `/proc/net/tcp`, this skips connected sockets."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _DIAG) as kernel:
        asked = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, 0, 0, 1 << int(_LISTENS, 16))
        head = _HEAD.pack(_HEAD.size + len(asked), _BY_FAMILY, _DUMP, 1, 0)
        kernel.send(head + asked)
        while True:
            told = kernel.recv(1 << 16)
            while told:
                length, kind, *_ = _HEAD.unpack_from(told)
                if kind == _DONE:
                    return
                if kind != _BY_FAMILY:
                    raise OSError("the kernel does not report sockets")
                (port,) = struct.unpack_from("!H", told, _HEAD.size + 4)
                (inode,) = struct.unpack_from("=I", told, _HEAD.size + 68)
                yield str(inode), port
                told = told[(length + 3) & ~3 :]


def _read() -> dict[str, int]:
    """The same from `/proc`, if netlink is not available."""
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
        return found  # it has exited, or belongs to another user
    return found
