"""Which files changed while somebody worked, as git sees the work tree before that and after it.

Files that were changed before and stayed as they were do not count, and what was committed does.
Git runs in a directory of our own, which no agent in a sandbox can reach.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.kernel.delegation import MAX_CHANGED
from longhouse.runner.git import FAILED, Repository, beside, folder_of_ours, found_at, private

__all__ = [
    "CheckoutLook",
    "CheckoutWatch",
    "Look",
    "SharedTree",
    "TreeWatch",
    "as_reported",
    "left_out",
    "uncommitted",
]

Look = dict[str, tuple[int, int]]
"""Every file that was changed, from the root of the project, with its time and size."""

MOST_FILES = 20_000
"""The time and size of further files are not read: it is only known that they were changed."""
PATH_CHARS = 1_000
_GONE = (0, -1)
_UNREAD = (0, -2)


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
        return _marked(told.split(b"\0"), repository.work_tree, self._root)

    def since(self, before: Look | None, given: Iterable[str]) -> dict[str, Any] | None:
        """What changed since an earlier look, as it is reported; None when that is nothing.

        The files that the job was `given` come last: if the list is cut, they are the ones that
        need no comparing.
        """
        after = self.look() if before is not None else None
        if before is None or after is None:
            return None
        moved = (path for path in before | after if _differ(before.get(path), after.get(path)))
        found = as_reported(moved, given, unread=_unread(before, after))
        return found and {**found, "alone": self._alone}


class CheckoutLook(NamedTuple):
    """How a checkout stood at a time, in seconds since 1970."""

    files: Look
    head: str
    at_s: int


class CheckoutWatch:
    """A checkout in which people and their agents work for hours, pull, and switch branches.

    What git brings from elsewhere is no change of theirs. So here those files count that are not
    committed, and those in commits that were made since the last look.
    """

    def __init__(self, root: Path, store: Path) -> None:
        self._root = root
        self._inside = (".", *left_out(store, root))

    def look(
        self, before: CheckoutLook | None = None
    ) -> tuple[CheckoutLook, dict[str, Any] | None]:
        """How it stands now, and what changed since `before`, as it is reported; or FAILED."""
        at_s = int(time.time())
        with folder_of_ours(self._root) as made:
            ours = beside(made / "git", self._root)
            files = _marked(uncommitted(ours, *self._inside), ours.work_tree, self._root)
            now = CheckoutLook(files, ours.git("rev-parse", "HEAD").decode().strip(), at_s)
            if before is None:
                return now, None
            moved = self._committed(ours, before, now.head)
        moved |= {path for path in files if _differ(before.files.get(path), files[path])}
        return now, as_reported(moved, unread=_unread(before.files, files))

    def _committed(self, ours: Repository, before: CheckoutLook, head: str) -> set[str]:
        if head == before.head:
            return set()
        since = time.strftime("--since=%Y-%m-%dT%H:%M:%SZ", time.gmtime(before.at_s))
        how = ("--format=", "--name-only", "--no-renames", "--no-ext-diff", "-z")
        told = ours.git("log", since, *how, f"{before.head}..{head}", "--", *self._inside)
        names = (os.fsdecode(name.strip(b"\n")) for name in told.split(b"\0"))
        return {os.path.relpath(ours.work_tree / name, self._root) for name in names if name}


def uncommitted(repository: Repository, *only: str) -> list[bytes]:
    """Files that differ from the last commit, staged or not, and new ones that git would take."""
    how = ("--untracked-files=all", "--ignore-submodules=all", "--no-renames")
    told = repository.git("status", "--porcelain=v1", "-z", *how, "--", *only)
    return [field[3:] for field in told.split(b"\0") if field]


def as_reported(
    paths: Iterable[str], last: Iterable[str] = (), *, unread: int = 0
) -> dict[str, Any] | None:
    """Paths from the root of the project as the server takes them; None without any in it.

    Those in the scopes `last` come last. Of `unread` files nobody knows whether they moved.
    """
    scopes = tuple(f"./{scope.rstrip('*').rstrip('/')}/" for scope in last)
    inside = [_told(path) for path in paths if path.split("/", 1)[0] != ".."]
    inside.sort(key=lambda path: (f"{path}/".startswith(scopes), path))
    if not inside and not unread:
        return None
    return {"paths": inside[:MAX_CHANGED], "more": len(inside[MAX_CHANGED:]) + unread}


def _marked(names: Iterable[bytes], top: Path, root: Path) -> Look:
    """The files of those names in the work tree `top`, from `root` on."""
    found = [top / os.fsdecode(name) for name in sorted(set(names) - {b""})]
    marks = [_mark(path) for path in found[:MOST_FILES]] + [_UNREAD] * len(found[MOST_FILES:])
    return {os.path.relpath(path, root): mark for path, mark in zip(found, marks, strict=True)}


def _differ(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    """Whether a file is known to have changed between two looks."""
    return one != other and (None in (one, other) or _UNREAD not in (one, other))


def _unread(before: Look, after: Look) -> int:
    """How many files are changed of which nobody knows whether that was between the two looks."""
    return sum(path in before and _UNREAD in (before[path], after[path]) for path in after)


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
