"""Determines whether git's index may list files of a folder, without starting git.

The index is untrusted: whoever wrote the repository chose the paths and, by grinding, some bytes of
the digests between them. So no single reading is believed. A folder counts as tracked if the index
lists it when read with either size of digest, or if the name is in its bytes at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from longhouse.kernel.private_files import read_private

__all__ = ["tracked_path"]

_EXTENDED = 0x4000
_LONG_NAME = 0xFFF
_STAT_BYTES = 40
_MOST = 1 << 30
_DIGEST_BYTES = (20, 32)
"""SHA-1 and SHA-256."""


class _NotUnderstood(Exception):
    """The bytes are not an index of this kind."""


def tracked_path(git_dir: Path, folder: str) -> str | None:
    """A tracked path that is the folder itself (a submodule) or lies inside it.

    Names are compared without regard to case, because some file systems do so.
    """
    wanted = os.fsencode(folder).lower()
    for path in (git_dir / "index", *sorted(git_dir.glob("sharedindex.*"))):
        try:
            data = read_private(path, others=True, most=_MOST)
        except FileNotFoundError:
            continue
        except OSError:  # a link or a pipe: git did not write that
            return folder
        if found := _search(data, wanted):
            return os.fsdecode(found)
    return None


def _search(data: bytes, wanted: bytes) -> bytes | None:
    for digest_bytes in _DIGEST_BYTES:
        try:
            for name in _names(data, digest_bytes):
                if (name.lower() + b"/").startswith(wanted + b"/"):
                    return name
        except (_NotUnderstood, ValueError, IndexError):
            continue
    return wanted if wanted + b"/" in data.lower() else None


def _names(data: bytes, digest_bytes: int) -> Iterator[bytes]:
    """The paths of the index, in its order (gitformat-index)."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise _NotUnderstood
    at, name = 12, b""
    for _ in range(count):
        start = at
        at += _STAT_BYTES + digest_bytes
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if flags & _EXTENDED else 2
        kept = 0
        if version == 4:
            cut, at = _varint(data, at)
            kept = len(name) - cut
            if kept < 0:
                raise _NotUnderstood
        end = data.index(b"\0", at)
        name = name[:kept] + data[at:end]
        if flags & _LONG_NAME != min(len(name), _LONG_NAME):
            raise _NotUnderstood
        yield name
        # Up to version 3, one to eight NUL bytes pad an entry to a multiple of eight bytes.
        at = end + 1 if version == 4 else start + (end - start) // 8 * 8 + 8


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number in git's offset encoding, and the offset of the byte after it."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
