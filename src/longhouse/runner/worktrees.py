"""A git worktree per job, if isolation is on; its changes are applied to the work tree at the end.

The shared work tree is changed by a single `git apply`, all or nothing. Changes that do not apply
stay in the worktree, and the job says where. A job that is taken over on the same machine continues
in its worktree.

Next to the worktree, out of the agent's reach, are a git directory of the runner's own and a note
of where the repository is. Both are created before the agent first runs, and all later work goes
through them: whatever the agent does to `.git`, configuration, attributes or hooks has no effect.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.changed_files import TreeWatch, as_reported, left_out
from longhouse.runner.git import FAILED, Repository, exclude_as, found_at, private, said

__all__ = ["NoWorktree", "Worktree"]

PATCH_BYTES = 256 << 20
"""Larger patches are not applied: a patch must fit into memory, and no one would review it."""

_GITLINK = b"160000 "


class NoWorktree(LonghouseError):
    """There is no git repository to create a worktree from."""

    code = "NO_WORKTREE"


class Worktree:
    """The worktree of one job, in `home`; changes to files in `store` are never applied."""

    def __init__(self, folder: Path, home: Path, job: str, *, store: Path) -> None:
        self.path = home / job
        self._folder = folder
        self._store = store
        self._ours = Repository(home / f"{job}.git", self.path)
        self._note = home / f"{job}.json"
        self._lock = home / "lock"

    def open(self) -> Path:
        """Create the worktree, or reuse it as the last holder left it."""
        if self._note.is_file() and self.path.is_dir() and not self.path.is_symlink():
            return self.path
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._make()
        except FAILED as error:
            self.remove()  # otherwise a partial one would pass for the last holder's
            raise NoWorktree(f"{self._folder}: {said(error)}") from error
        return self.path

    def _make(self) -> None:
        repository, objects, base, object_format = found_at(self._folder)
        self._clear()
        with self._alone():
            repository.git("worktree", "prune")
            repository.git(
                "worktree", "add", "--no-checkout", "--detach", "--force", str(self.path), base
            )
        private(self._ours.git_dir, self.path, objects, object_format)
        exclude_as(self._ours, repository)
        self._ours.git("read-tree", "-u", "--reset", base)
        self._leave_submodules_out()
        theirs = Path((self.path / ".git").read_text(encoding="utf-8").split(":", 1)[1].strip())
        shutil.copyfile(self._ours.git_dir / "index", theirs / "index")
        note = {
            "base": base,
            "git_dir": str(repository.git_dir),
            "work_tree": str(repository.work_tree),
        }
        self._note.write_text(json.dumps(note), encoding="utf-8")

    def _leave_submodules_out(self) -> None:
        """Skip submodules: git would read their state from their own, untrusted git directories."""
        listed = self._ours.git("ls-files", "--stage", "-z").split(b"\0")
        links = [entry.partition(b"\t")[2] for entry in listed if entry.startswith(_GITLINK)]
        if links:
            self._ours.git(
                "update-index", "--skip-worktree", "-z", "--stdin", stdin=b"\0".join(links) + b"\0"
            )

    def patch(self) -> bytes:
        """All changes since the worktree was created, committed or not, including new files."""
        self._ours.git("add", "--all", "--", ".")
        with tempfile.TemporaryFile() as file:
            self._diff("--binary", to=file)
            size = file.seek(0, os.SEEK_END)
            if size > PATCH_BYTES:
                raise OSError(errno.EFBIG, f"{size} bytes of changes; the limit is {PATCH_BYTES}")
            file.seek(0)
            return file.read()

    def changed(self, root: Path) -> dict[str, Any] | None:
        """The files in the latest patch, in the form they are reported.

        None if git cannot list them: by then the changes are already applied, and the list is
        only a report.
        """
        try:
            names = self._diff("--name-only", "--no-renames", "-z").split(b"\0")[:-1]
            inside = self._root(root)
        except FAILED:
            return None
        return as_reported(os.path.relpath(self.path / os.fsdecode(name), inside) for name in names)

    def _diff(self, *how: str, to: IO[bytes] | None = None) -> bytes:
        note = self._read_note()
        off = ("--no-color", "--no-ext-diff", "--no-textconv")
        never = self._never(Path(note["work_tree"]))
        return self._ours.git(
            "diff", "--cached", *how, *off, note["base"], "--", ".", *never, to=to
        )

    def _root(self, root: Path) -> Path:
        """The path in the worktree that corresponds to `root` in the shared work tree."""
        return self.path / os.path.relpath(root.resolve(), self.home.resolve())

    def _never(self, top: Path) -> list[str]:
        """Excludes the store's folder if it is in the repository: a patch must not touch it."""
        return left_out(self._store, top)

    def changed_files(self, root: Path) -> TreeWatch:
        """Finds which files change in it; `root` is the project's root in the shared work tree."""
        return TreeWatch(
            lambda: nullcontext(self._ours),
            self._root(root),
            self._never(self.home),
            alone=True,
        )

    def obstacle(self, patch: bytes) -> str | None:
        """Why the changes do not apply to the shared work tree now; None if they do."""
        return self._apply(patch, "--check")

    def bring_home(self, patch: bytes) -> str | None:
        """Apply the changes to the work tree, unless already applied; returns why that failed."""
        if not patch or (why := self._apply(patch)) is None:
            return None
        return None if self._apply(patch, "--check", "--reverse") is None else why

    @property
    def is_here(self) -> bool:
        """Whether this job has a worktree on this machine."""
        return self._note.is_file()

    @property
    def home(self) -> Path:
        """The shared work tree."""
        return Path(self._read_note()["work_tree"])

    def remove(self) -> None:
        """Delete the worktree and everything in it."""
        repository = None
        with suppress(OSError, ValueError):
            note = self._read_note()
            repository = Repository(Path(note["git_dir"]), Path(note["work_tree"]))
        self._clear()
        if repository is not None:  # otherwise the next worktree's `prune` does it
            with suppress(*FAILED), self._alone():
                repository.git("worktree", "prune")

    def _apply(self, patch: bytes, *flags: str) -> str | None:
        try:
            with self._alone():
                # Not with the repository's own directory: its filters would run.
                here = Repository(self._ours.git_dir, self.home)
                here.git("apply", "--whitespace=nowarn", *flags, "-", stdin=patch)
        except FAILED as error:
            return f"its changes do not apply: {said(error)}"
        return None

    def _read_note(self) -> dict[str, str]:
        note: dict[str, str] = json.loads(self._note.read_text(encoding="utf-8"))
        return note

    def _clear(self) -> None:
        """Delete the note and both folders; symbolic links are removed, never followed."""
        self._note.unlink(missing_ok=True)
        for folder in (self.path, self._ours.git_dir):
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out this store's other runners: git's own locks fail instead of waiting."""
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
