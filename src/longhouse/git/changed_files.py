"""Finds which files changed during some work, by comparing git's view before and after it.

A file that was already modified and then left alone does not count; a committed change does.
Git runs in a directory of our own that no sandboxed agent can reach.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.git.repository import FAILED, Repository, beside, folder_of_ours, found_at, private
from longhouse.kernel.delegation import MAX_CHANGED

__all__ = [
    "CheckoutLook",
    "CheckoutWatch",
    "SharedTree",
    "TreeLook",
    "TreeWatch",
    "as_reported",
    "left_out",
    "uncommitted",
]

MOST_FILES = 20_000
"""Changed files beyond this number are only counted; their names and times are not kept."""
LOG_BYTES = 65_536
"""How much of git's log of HEAD is read; the scans follow each other closely."""
UNDER_WAY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "index.lock",
)
"""Files in git's directory while it brings in commits from elsewhere."""
PATH_CHARS = 1_000
STATE = 3
"""The length of the state that precedes each name in git's status output."""
_GONE = (0, -1)
_COMMITTED = re.compile(rb"^[0-9a-f]+ ([0-9a-f]{40,64}) [^\t\n]*\tcommit\b", re.MULTILINE)
_BROUGHT = re.compile(rb"\t(?!commit\b)\S")


class TreeLook(NamedTuple):
    """Changed files, relative to the project's root, each with its time and size.

    `more` counts the ones beyond MOST_FILES.
    """

    files: dict[str, tuple[int, int]]
    more: int


def left_out(store: Path, top: Path) -> list[str]:
    """The pathspec that excludes the store's folder, if it is inside the repository."""
    inside = os.path.relpath(store.resolve(), top.resolve())
    return [] if inside.startswith("..") else [f":(top,exclude,icase,literal){inside}"]


class SharedTree:
    """The shared work tree, captured before an agent works in it.

    Git runs programs named in a git directory's configuration. An agent without a sandbox can write
    to any such directory while it works, so every scan builds a new one from memory.
    """

    def __init__(self, folder: Path) -> None:
        """Raises one of FAILED if there is no git work tree."""
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
    """Finds changed files in one work tree.

    `root` is the project's root inside it, `never` holds pathspecs that exclude the store, and
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

    def look(self) -> TreeLook | None:
        """The files that are changed now; None if git cannot tell."""
        kinds = ("--modified", "--deleted", "--deduplicate", "--others", "--exclude-standard")
        try:
            with self._opened() as repository:
                inside = f":(literal){os.path.relpath(self._root, repository.work_tree)}"
                told = repository.git("ls-files", "-z", *kinds, "--", inside, *self._never)
        except FAILED:
            return None
        return _marked(told, repository.work_tree, self._root)

    def since(self, before: TreeLook | None, given: Iterable[str]) -> dict[str, Any] | None:
        """What changed since an earlier scan, in the form it is reported; None if nothing did.

        Files in scopes the job was `given` come last: if the list is cut, those are the ones
        that need no check against reservations.
        """
        after = self.look() if before is not None else None
        if before is None or after is None:
            return None
        gone = before.files.keys() - after.files.keys() if not after.more else set()
        found = _reported(before, after, gone, given)
        return found and {**found, "alone": self._alone}


class CheckoutLook(NamedTuple):
    """The state of a checkout, and the length of git's log of HEAD at that time."""

    look: TreeLook
    logged: int


class CheckoutWatch:
    """A checkout in which people and their agents work for hours, pull, and switch branches.

    Files that git brings in from elsewhere are not their changes. So only uncommitted files count,
    and files in commits made here since the last scan.
    """

    def __init__(self, root: Path, store: Path) -> None:
        self._root = root
        self._inside = (".", *left_out(store, root))

    def look(
        self, before: CheckoutLook | None = None
    ) -> tuple[CheckoutLook, dict[str, Any] | None]:
        """The current state, and what changed since `before` in the form it is reported.

        Raises one of FAILED. While git is bringing in commits, nothing is compared.
        """
        log = found_at(self._root)[0].git_dir / "logs" / "HEAD"
        logged, entries = _appended(log, before.logged if before else None)
        with folder_of_ours(self._root) as made:
            ours = beside(made / "git", self._root)
            told = _status(ours, *self._inside)
            now = CheckoutLook(_marked(told, ours.work_tree, self._root, STATE), logged)
            if before is None:
                return now, None
            meanwhile = _BROUGHT.search(_appended(log, logged)[1])
            if meanwhile or any((log.parents[1] / name).exists() for name in UNDER_WAY):
                return before, None
            moved = self._committed(ours, entries)
        return now, _reported(before.look, now.look, moved)

    def _committed(self, ours: Repository, entries: bytes) -> set[str]:
        """The files in commits that, according to HEAD's log, were made here; merges excluded."""
        made = _COMMITTED.findall(entries)
        if not made:
            return set()
        how = ("--format=", "--name-only", "--no-renames", "--no-ext-diff", "-z")
        words = ("log", "--no-walk", "--ignore-missing", "--stdin", *how, "--", *self._inside)
        told = ours.git(*words, stdin=b"\n".join(made))
        names = (os.fsdecode(name.strip(b"\n")) for name in told.split(b"\0"))
        return {os.path.relpath(ours.work_tree / name, self._root) for name in names if name}


def uncommitted(repository: Repository, *only: str) -> list[bytes]:
    """Files that differ from the last commit, staged or not, and new files git does not ignore."""
    return [field[STATE:] for field in _status(repository, *only).split(b"\0") if field]


def _status(repository: Repository, *only: str) -> bytes:
    how = ("--untracked-files=all", "--ignore-submodules=all", "--no-renames")
    return repository.git("status", "--porcelain=v1", "-z", *how, "--", *only)


def as_reported(
    paths: Iterable[str], last: Iterable[str] = (), *, unread: int = 0
) -> dict[str, Any] | None:
    """Paths relative to the project's root in the form the server accepts; None if there are none.

    Paths in the scopes `last` come last. `unread` counts files that could not be compared.
    """
    scopes = tuple(f"./{scope.rstrip('*').rstrip('/')}/" for scope in last)
    inside = [_told(path) for path in paths if path.split("/", 1)[0] != ".."]
    inside.sort(key=lambda path: (f"{path}/".startswith(scopes), path))
    if not inside and not unread:
        return None
    return {"paths": inside[:MAX_CHANGED], "more": len(inside[MAX_CHANGED:]) + unread}


def _reported(
    before: TreeLook, after: TreeLook, moved: set[str], last: Iterable[str] = ()
) -> dict[str, Any] | None:
    """What `moved`, and what differs from the earlier scan. The rest is only counted: a file that
    the earlier scan did not name may already have been changed then."""
    new = after.files.keys() - before.files.keys()
    moved = moved | {
        path for path, mark in before.files.items() if after.files.get(path, mark) != mark
    }
    unread = after.more + (len(new - moved) if before.more else 0)
    return as_reported(moved if before.more else moved | new, last, unread=unread)


def _marked(told: bytes, top: Path, root: Path, skip: int = 0) -> TreeLook:
    """The listed files of the work tree `top`, relative to `root`; skips `skip` bytes per entry."""
    *names, rest = told.split(b"\0", MOST_FILES)
    found = [top / os.fsdecode(name[skip:]) for name in names]
    return TreeLook({os.path.relpath(path, root): _mark(path) for path in found}, rest.count(b"\0"))


def _appended(log: Path, since: int | None) -> tuple[int, bytes]:
    """The size of an append-only file, and what was appended `since`; nothing the first time.

    Agents can write to it or replace it, even with a pipe, so it is opened without blocking.
    """
    try:
        handle = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        return 0, b""
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        if since is None:
            return size, b""
        file.seek(max(since, size - LOG_BYTES))
        return size, file.read(LOG_BYTES)


def _mark(path: Path) -> tuple[int, int]:
    try:
        found = path.lstat()
    except OSError:
        return _GONE
    return found.st_ctime_ns, found.st_size  # unlike mtime, no program can set ctime


def _told(path: str) -> str:
    """A path without characters that the server refuses or would interpret."""
    clean = "".join(c if c.isprintable() and c != "\\" else "\ufffd" for c in path)
    cut = clean[:PATH_CHARS]
    return "./" + cut.rstrip(" ").ljust(len(cut), "\ufffd")  # the server strips blanks
