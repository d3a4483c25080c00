"""A git worktree per job, where isolation is asked for; its changes are taken back at the end.

The work tree that people use is changed by one `git apply`, all of it or nothing. What cannot be
taken back stays where it is, and the job says where. A job that is taken over on the same machine
goes on in its own worktree.
"""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from longhouse.kernel.errors import LonghouseError

__all__ = ["UNREADABLE", "NoWorktree", "Worktree"]

GIT_S = 120
PATCH_BYTES = 256 << 20
"""More is not taken back: it has to fit into memory, and nobody would read it."""

UNREADABLE = (subprocess.SubprocessError, OSError)


class NoWorktree(LonghouseError):
    """There is no git repository to make a worktree of."""

    code = "NO_WORKTREE"


class Worktree:
    """The worktree of one job."""

    def __init__(self, repository: Path, home: Path, job: str) -> None:
        self.repository = repository
        self.path = home / job
        self._base = home / f"{job}.base"
        self._lock = home / "lock"

    def open(self) -> Path:
        """Make it, or find it as the last holder left it."""
        if self.path.is_dir() and self._base.is_file():
            return self.path
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._git("worktree", "prune")
                base = self._git("rev-parse", "HEAD").decode().strip()
                self._git("worktree", "add", "--detach", "--force", str(self.path), base)
            self._base.write_text(base, encoding="utf-8")
        except UNREADABLE as error:
            self._remove()  # half of one would be taken for the last holder's
            raise NoWorktree(f"{self.repository}: {_said(error)}") from error
        return self.path

    def patch(self) -> bytes:
        """All changes since it was made, committed or not, new files as well."""
        base = self._base.read_text(encoding="utf-8").strip()
        self._git("add", "--all", "--intent-to-add", at=self.path)
        with tempfile.TemporaryFile() as file:
            self._git(
                "diff", "--binary", "--no-color", "--no-ext-diff", base, at=self.path, to=file
            )
            size = file.seek(0, os.SEEK_END)
            if size > PATCH_BYTES:
                raise OSError(
                    errno.EFBIG, f"{size} bytes of changes, and {PATCH_BYTES} are the most"
                )
            file.seek(0)
            return file.read()

    def obstacle(self, patch: bytes) -> str | None:
        """Why the changes could not be taken back just now; None when they could."""
        return self._apply(patch, "--check")

    def take_back(self, patch: bytes) -> str | None:
        """Bring the changes home and remove the worktree; where that fails, why, and it stays."""
        if patch and (why := self._apply(patch)):
            return why
        self._remove()
        return None

    def _apply(self, patch: bytes, *flags: str) -> str | None:
        try:
            with self._alone():
                self._git("apply", "--whitespace=nowarn", *flags, "-", stdin=patch)
        except UNREADABLE as error:
            return f"its changes do not apply: {_said(error)}"
        return None

    def _remove(self) -> None:
        try:
            with self._alone():
                self._git("worktree", "remove", "--force", str(self.path))
            self._base.unlink(missing_ok=True)
        except UNREADABLE:
            return  # its changes are taken back; the next `git worktree prune` finds the rest

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time, over all runners of this store: git's own locks fail, they do not wait."""
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _git(
        self, *words: str, at: Path | None = None, stdin: bytes = b"", to: IO[bytes] | None = None
    ) -> bytes:
        """Run git; its output is returned, or written to a file."""
        ran = subprocess.run(
            ["git", "-C", str(at or self.repository), *words],
            input=stdin,
            check=True,
            timeout=GIT_S,
            stdout=to or subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return ran.stdout or b""


def _said(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return error.stderr.decode("utf-8", "replace").strip()[-300:] or "git failed"
    return str(error)
