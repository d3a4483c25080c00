"""The file format of an export: a plain tar of known members that ends with a manifest.

It is written and read as a stream in constant memory. The same members give the same bytes, and
`tar` can read them. Reading trusts nothing: it accepts only regular members with expected names and
sizes, and checks the manifest's digest over every byte before it. A truncated file has no manifest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Value

__all__ = ["ArchiveInvalid", "ArchiveReader", "ArchiveWriter", "Manifest", "Member"]

_BLOCK = 512
_CHUNK = 1 << 20
_NAME = re.compile(
    r"longhouse\.json|manifest\.json|contents\.json|artifacts/[0-9a-f]{64}|"
    r"output/PROC-[0-9]{3,15}\.(?:stdout|stderr|pty)|tables/\w{1,60}\.[0-9]{6}\.jsonl"
)
_MOST = {
    "artifacts/": 1 << 50,
    "output/": 1 << 50,
    "tables/": 64 << 20,
    "contents": 64 << 20,
    "longhouse": 1 << 20,
    "manifest": 1 << 20,
}
_NO_FILE = "the file is not a Longhouse export, or it is damaged or truncated"


class ArchiveInvalid(InvalidInput):
    """The file is not a complete, unmodified Longhouse export; nothing was imported."""

    code = "ARCHIVE_INVALID"
    fix = "download or export it again; `tar tf FILE` lists its contents"


class Manifest(Value, frozen=True, kw_only=True):
    """The contents of the archive, written last; the digest covers all bytes before it."""

    sha256: str
    artifacts: int
    rows: dict[str, int]


class Member(NamedTuple):
    name: str
    size: int


class ArchivePosition(NamedTuple):
    """A position in an archive, with the digest up to it."""

    offset: int
    digest: hashlib._Hash
    left: int
    pad: int


class ArchiveWriter:
    """Writes members one after another; `close` adds the manifest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.bytes = 0

    def add(self, name: str, size: int, chunks: Iterable[bytes]) -> None:
        assert _NAME.fullmatch(name), name
        self._write(_header(name, size))
        written = 0
        for chunk in chunks:
            self._write(chunk)
            written += len(chunk)
        if written != size:
            raise ArchiveInvalid(f"{name} has {written} bytes instead of {size}")
        self._write(bytes(-size % _BLOCK))

    def close(self, *, artifacts: int, rows: dict[str, int]) -> None:
        digest = self._digest.hexdigest()
        data = msgspec.json.encode(Manifest(sha256=digest, artifacts=artifacts, rows=rows))
        self.add("manifest.json", len(data), [data])
        self._write(bytes(2 * _BLOCK))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)


class ArchiveReader:
    """Reads members in order. Each must be read to its end before the next."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._before = ""
        self._left = self._pad = 0

    def next(self) -> Member | None:
        """The next member; None at the manifest, which `manifest` reads."""
        if self._left:
            raise ArchiveInvalid("a member was not read to its end")
        if self._exactly(self._pad).strip(b"\0"):
            raise ArchiveInvalid(_NO_FILE)
        self._before = self._digest.hexdigest()
        member = self._header()
        self._left, self._pad = member.size, -member.size % _BLOCK
        return None if member.name == "manifest.json" else member

    def place(self) -> ArchivePosition:
        """The current position, for `go_back`; the file must be seekable."""
        return ArchivePosition(self._file.tell(), self._digest.copy(), self._left, self._pad)

    def go_back(self, place: ArchivePosition) -> None:
        self._file.seek(place.offset)
        self._digest, self._left, self._pad = place.digest.copy(), place.left, place.pad

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the current member."""
        while self._left:
            yield self._piece(min(_CHUNK, self._left))

    def whole(self) -> bytes:
        """The same in one piece; only for members of bounded size."""
        return b"".join(self.chunks())

    def manifest(self) -> Manifest:
        """The last member; checks the digest, and that nothing follows."""
        digest, pad = self._before, self._pad
        try:
            found = msgspec.json.decode(self.whole(), type=Manifest)
        except msgspec.DecodeError as error:
            raise ArchiveInvalid(f"manifest.json: {error}") from None
        if found.sha256 != digest:
            raise ArchiveInvalid("the file's digest differs from the one in its manifest")
        if self._exactly(pad + 2 * _BLOCK).strip(b"\0") or self._file.read(1):
            raise ArchiveInvalid("there is more data after the manifest")
        return found

    def _header(self) -> Member:
        header = self._exactly(_BLOCK)
        try:
            name = header[:100].rstrip(b"\0").decode("ascii")
            size = _number(header[124:136])
        except (UnicodeDecodeError, ValueError):
            raise ArchiveInvalid(_NO_FILE) from None
        if not _NAME.fullmatch(name):
            raise ArchiveInvalid(f"an export has no member {name[:80]!r}" if name else _NO_FILE)
        most = next(n for prefix, n in _MOST.items() if name.startswith(prefix))
        if size > most:
            raise ArchiveInvalid(f"{name} claims {size} bytes, more than a member can have")
        if header != _header(name, size):
            raise ArchiveInvalid(f"{name} does not have the header that an export writes")
        return Member(name, size)

    def _piece(self, size: int) -> bytes:
        data = self._exactly(size)
        self._left -= size
        return data

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        while len(data) < size and (more := self._file.read(size - len(data))):
            data += more
        if len(data) < size:
            raise ArchiveInvalid("the file is truncated")
        self._digest.update(data)
        return data


def _header(name: str, size: int) -> bytes:
    """The header of a regular member, without anything that depends on time or user."""
    number = b"%011o\0" % size if size < 8 << 30 else b"\x80" + size.to_bytes(11, "big")
    fields = (
        name.encode().ljust(100, b"\0"),
        b"0000600\0",
        b"0000000\0",
        b"0000000\0",
        number,
        b"00000000000\0",
        b" " * 8,
        b"0",
        bytes(100),
        b"ustar\x0000",
        bytes(247),
    )
    header = b"".join(fields)
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def _number(field: bytes) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    return int(field.rstrip(b"\0"), 8)
