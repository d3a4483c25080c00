"""Which files changed while an agent worked, as git sees the work tree before a slice and after it.

Files that were changed before and stayed as they were are not the agent's. What it commits counts:
both looks compare with the same index, in a git directory of our own that the agent cannot reach.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from longhouse.kernel.delegation import MAX_CHANGED
from longhouse.runner.git import FAILED, Repository, beside, folder_of_ours, found_at, private

__all__ = ["Look", "SharedTree", "TreeWatch", "as_reported", "left_out"]

Look = dict[str, tuple[int, int]]
"""Every file that differs from the index, from the root of the project, with its time and size."""

MOST_FILES = 20_000
"""In a work tree with more changes than that nobody could read the answer."""
PATH_CHARS = 1_000
_GONE = (0, -1)


def left_out(store: Path, top: Path) -> list[str]:
    """The pathspec that leaves the store's folder out, where it lies in the repository."""
    inside = os.path.relpath(store.resolve(), top.resolve())
    return [] if inside.startswith("..") else [f":(top,exclude,icase,literal){inside}"]


class SharedTree:
    """The work tree that people use, as it is before an agent works there.

    Git runs what the configuration in a git directory names. An agent without a sandbox can write
    to any that lies there while it works, so each look makes one anew, from what is kept in memory.
    """

    def __init__(self, folder: Path) -> None:
        """One of FAILED where git has no work tree."""
        repository, self._objects, _, self._format = found_at(folder)
        self.top = repository.work_tree
        self._kept: dict[str, tuple[bytes, int]] = {}
        with folder_of_ours(self.top) as made:
            ours = beside(made / "git", folder)
            for name in ("index", "info/exclude"):
                with suppress(FileNotFoundError):
                    at = ours.git_dir / name
                    self._kept[name] = at.read_bytes(), at.stat().st_mtime_ns

    @contextmanager
    def opened(self) -> Iterator[Repository]:
        with folder_of_ours(self.top) as made:
            ours = private(made / "git", self.top, self._objects, self._format)
            (ours.git_dir / "info").mkdir(exist_ok=True)
            for name, (content, written) in self._kept.items():
                (ours.git_dir / name).write_bytes(content)
                os.utime(ours.git_dir / name, ns=(written, written))
            yield ours


class TreeWatch:
    """The files of one work tree.

    `root` is where the project begins in it, `never` are pathspecs that leave the store out, and
    `alone` says that only this job works there.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Repository]],
        root: Path,
        never: list[str],
        *,
        alone: bool,
    ) -> None:
        self._opened = opened
        self._root = root
        self._never = never
        self._alone = alone

    def look(self) -> Look | None:
        """How it stands now; None when git cannot tell."""
        kinds = ("--modified", "--deleted", "--others", "--exclude-standard")
        try:
            with self._opened() as repository:
                inside = f":(literal){os.path.relpath(self._root, repository.work_tree)}"
                told = repository.git("ls-files", "-z", *kinds, "--", inside, *self._never)
        except FAILED:
            return None
        names = set(told.split(b"\0")) - {b""}
        if len(names) > MOST_FILES:
            return None
        found = (repository.work_tree / os.fsdecode(name) for name in names)
        return {os.path.relpath(path, self._root): _mark(path) for path in found}

    def since(self, before: Look | None, given: Iterable[str]) -> dict[str, Any] | None:
        """What changed since an earlier look, as it is reported; None when that is nothing.

        The files that the job was `given` come last: if the list is cut, they are the ones that
        need no comparing.
        """
        after = self.look() if before is not None else None
        if before is None or after is None:
            return None
        moved = (path for path in before | after if before.get(path) != after.get(path))
        found = as_reported(moved, given)
        return found and {**found, "alone": self._alone}


def as_reported(paths: Iterable[str], last: Iterable[str] = ()) -> dict[str, Any] | None:
    """Paths from the root of the project as the server takes them; None without any in it.

    Those in the scopes `last` come last.
    """
    scopes = tuple(f"./{scope.rstrip('*').rstrip('/')}/" for scope in last)
    inside = [_told(path) for path in paths if path.split("/", 1)[0] != ".."]
    inside.sort(key=lambda path: (f"{path}/".startswith(scopes), path))
    if not inside:
        return None
    return {"paths": inside[:MAX_CHANGED], "more": len(inside[MAX_CHANGED:])}


def _mark(path: Path) -> tuple[int, int]:
    try:
        found = path.lstat()
    except OSError:
        return _GONE
    return found.st_ctime_ns, found.st_size  # the time that no program can set back


def _told(path: str) -> str:
    """A path without characters that the server refuses, or would read as something else."""
    clean = "".join(c if c.isprintable() and c != "\\" else "\ufffd" for c in path)
    cut = clean[:PATH_CHARS]
    return "./" + cut.rstrip(" ").ljust(len(cut), "\ufffd")  # the server strips blanks
