"""Files and folders that cannot be redirected: each is opened relative to its parent's descriptor.

No symbolic link is followed below the root, folders are 0700 and files 0600, a name appears only
once its bytes are on disk, and disk errors are translated.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from longhouse.kernel.errors import StoreError, StoreUnusable, is_full

if TYPE_CHECKING:
    import hashlib

__all__ = ["CHUNK", "Dir", "OpenFile", "disk_errors", "sha256", "write_all"]

CHUNK = 1 << 20
_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS}


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Translate disk errors into errors that say how to recover."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise StoreError(
                f"the disk is full; {what} was not stored",
                recovery="free up space (`longhouse artifact sweep` may help) and repeat the call",
            ) from error
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise StoreUnusable(
                f"{what}: there is a symbolic link in place of a folder or file",
                recovery="remove the link; to keep artifacts elsewhere set LONGHOUSE_ARTIFACTS",
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreUnusable(
                f"{what}: no permission in the artifacts folder",
                recovery="check the folder's owner and permissions",
            ) from error
        raise StoreError(f"{what}: the disk failed ({error.strerror})") from error


def sha256(data: bytes = b"") -> hashlib._Hash:
    """A new hash; imported lazily, since most commands need none and importing it is slow."""
    import hashlib

    return hashlib.sha256(data)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write every byte; a single `write` may accept fewer."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class OpenFile:
    """An open file that closes when its last reference is gone, so a cache may drop it."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self.fd)

    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` to `end`, a mebibyte at a time."""
        end = self.size() if end is None else end
        while start < end and (data := os.pread(self.fd, min(CHUNK, end - start), start)):
            yield data
            start += len(data)


class Dir:
    """One folder, held open."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def root(cls, path: Path) -> Dir:
        """The folder at `path`, created if needed; it must not be a symbolic link itself."""
        with disk_errors(os.fspath(path)):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            return cls(os.open(path, _DIR))

    def sub(self, name: str, *, make: bool = True) -> Dir:
        try:
            return Dir(os.open(name, _DIR, dir_fd=self.fd))
        except FileNotFoundError:
            if not make:
                raise
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self.fd)
            self.sync()
        return Dir(os.open(name, _DIR, dir_fd=self.fd))

    def open(self, name: str, flags: int = os.O_RDONLY) -> OpenFile:
        return OpenFile(os.open(name, flags | _FILE, 0o600, dir_fd=self.fd))

    def link(self, name: str, to: Dir, new: str) -> None:
        """Give a finished file a second name atomically; FileExistsError if the name is taken."""
        try:
            os.link(name, new, src_dir_fd=self.fd, dst_dir_fd=to.fd, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._copy(name, to, new)
        to.sync()

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a whole file under a temporary name, and rename it once it is on disk."""
        partial = f"{name}.partial"
        try:
            file = self.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for chunk in chunks:
                write_all(file.fd, chunk)
            os.fsync(file.fd)
            self.rename(partial, name)
        except BaseException:
            self.remove(partial)
            raise
        self.sync()

    def rename(self, name: str, new: str) -> None:
        os.rename(name, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def remove(self, name: str) -> bool:
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        return True

    def names(self) -> list[str]:
        return sorted(os.listdir(self.fd))  # noqa: PTH208  (a descriptor, not a path)

    def stat(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self.fd, follow_symlinks=False)

    def sync(self) -> None:
        os.fsync(self.fd)

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self.fd)

    def _copy(self, name: str, to: Dir, new: str) -> None:
        """The same for file systems without hard links."""
        if new in to.names():
            raise FileExistsError(errno.EEXIST, "exists", new)
        to.write(new, self.open(name).chunks())
