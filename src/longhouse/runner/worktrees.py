"""A git worktree per job, where isolation is asked for; its changes are taken back at the end.

The work tree that people use is changed by one `git apply`, all of it or nothing. What cannot be
taken back stays where it is, and the job says where. A job that is taken over on the same machine
goes on in its own worktree.

Beside the worktree lie, out of the agent's reach, a git directory of the runner's own and a note of
where the repository is. Both are made before the agent first runs, and everything afterwards goes
through them: what the agent does to `.git`, to configuration, attributes or hooks changes nothing.
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
"""More is not taken back: it has to fit into memory, and nobody would read it."""

_GITLINK = b"160000 "


class NoWorktree(LonghouseError):
    """There is no git repository to make a worktree of."""

    code = "NO_WORKTREE"


class Worktree:
    """The worktree of one job, in `home`; `store` is the folder that no change may reach."""

    def __init__(self, folder: Path, home: Path, job: str, *, store: Path) -> None:
        self.path = home / job
        self._folder = folder
        self._store = store
        self._ours = Repository(home / f"{job}.git", self.path)
        self._note = home / f"{job}.json"
        self._lock = home / "lock"

    def open(self) -> Path:
        """Make it, or find it as the last holder left it."""
        if self._note.is_file() and self.path.is_dir() and not self.path.is_symlink():
            return self.path
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._make()
        except FAILED as error:
            self.remove()  # half of one would be taken for the last holder's
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
        """Their state is asked of the git in them, which is the agent's: never ask."""
        listed = self._ours.git("ls-files", "--stage", "-z").split(b"\0")
        links = [entry.partition(b"\t")[2] for entry in listed if entry.startswith(_GITLINK)]
        if links:
            self._ours.git(
                "update-index", "--skip-worktree", "-z", "--stdin", stdin=b"\0".join(links) + b"\0"
            )

    def patch(self) -> bytes:
        """All changes since it was made, committed or not, new files as well."""
        self._ours.git("add", "--all", "--", ".")
        with tempfile.TemporaryFile() as file:
            self._diff("--binary", to=file)
            size = file.seek(0, os.SEEK_END)
            if size > PATCH_BYTES:
                raise OSError(
                    errno.EFBIG, f"{size} bytes of changes; at most {PATCH_BYTES} are taken back"
                )
            file.seek(0)
            return file.read()

    def changed(self, root: Path) -> dict[str, Any] | None:
        """The files in the patch that was made last, as they are reported.

        None when git cannot list them: it is asked when they are in the work tree already, and
        what counts are the changes, not the list of them.
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
        """Where in it the project begins, which people have at `root`."""
        return self.path / os.path.relpath(root.resolve(), self.home.resolve())

    def _never(self, top: Path) -> list[str]:
        """The store's folder, where it lies in the repository: a patch must not reach into it."""
        return left_out(self._store, top)

    def changed_files(self, root: Path) -> TreeWatch:
        """What tells which files change in it; `root` is where the project is among people's."""
        return TreeWatch(
            lambda: nullcontext(self._ours),
            self._root(root),
            self._never(self.home),
            alone=True,
        )

    def obstacle(self, patch: bytes) -> str | None:
        """Why the changes could not be taken back just now; None when they could."""
        return self._apply(patch, "--check")

    def bring_home(self, patch: bytes) -> str | None:
        """Put the changes into the work tree, unless they are there; where that fails, why."""
        if not patch or (why := self._apply(patch)) is None:
            return None
        return None if self._apply(patch, "--check", "--reverse") is None else why

    @property
    def is_here(self) -> bool:
        """Whether a worktree of this job was made on this machine and not removed since."""
        return self._note.is_file()

    @property
    def home(self) -> Path:
        """The work tree that people use."""
        return Path(self._read_note()["work_tree"])

    def remove(self) -> None:
        """Take it away, with what is in it."""
        repository = None
        with suppress(OSError, ValueError):
            note = self._read_note()
            repository = Repository(Path(note["git_dir"]), Path(note["work_tree"]))
        self._clear()
        if repository is not None:  # else the next worktree's `prune` does it
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
        """Take away what lies in its places; links in there are removed, never followed."""
        self._note.unlink(missing_ok=True)
        for folder in (self.path, self._ours.git_dir):
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time, over all runners of this store: git's own locks fail, they do not wait."""
        with self._lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
