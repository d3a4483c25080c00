"""Which files changed while somebody worked, as git sees the work tree before that and after it.

Files that were changed before and stayed as they were do not count, and what was committed does.
Git runs in a directory of our own, which no agent in a sandbox can reach.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.kernel.delegation import MAX_CHANGED
from longhouse.runner.git import FAILED, Repository, beside, folder_of_ours, found_at, private

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
"""Of further files neither name nor time is kept: it is only known how many are changed."""
LOG_BYTES = 65_536
"""How much of git's log of HEAD is read; one look comes soon after another."""
UNDER_WAY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "index.lock",
)
"""What git keeps in its directory while it brings commits from elsewhere."""
PATH_CHARS = 1_000
STATE = 3
"""How many bytes before each name in git's status say how it is changed."""
_GONE = (0, -1)
_COMMITTED = re.compile(rb"^[0-9a-f]+ ([0-9a-f]{40,64}) [^\t\n]*\tcommit\b", re.MULTILINE)
_BROUGHT = re.compile(rb"\t(?!commit\b)\S")


class TreeLook(NamedTuple):
    """Files that are changed, from the root of the project, each with its time and size.

    There are `more` that nothing else is known of.
    """

    files: dict[str, tuple[int, int]]
    more: int


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

    def look(self) -> TreeLook | None:
        """How it stands now; None when git cannot tell."""
        kinds = ("--modified", "--deleted", "--deduplicate", "--others", "--exclude-standard")
        try:
            with self._opened() as repository:
                inside = f":(literal){os.path.relpath(self._root, repository.work_tree)}"
                told = repository.git("ls-files", "-z", *kinds, "--", inside, *self._never)
        except FAILED:
            return None
        return _marked(told, repository.work_tree, self._root)

    def since(self, before: TreeLook | None, given: Iterable[str]) -> dict[str, Any] | None:
        """What changed since an earlier look, as it is reported; None when that is nothing.

        The files that the job was `given` come last: if the list is cut, they are the ones that
        need no comparing.
        """
        after = self.look() if before is not None else None
        if before is None or after is None:
            return None
        gone = before.files.keys() - after.files.keys() if not after.more else set()
        found = _reported(before, after, gone, given)
        return found and {**found, "alone": self._alone}


class CheckoutLook(NamedTuple):
    """How a checkout stood, and how long git's log of HEAD was."""

    look: TreeLook
    logged: int


class CheckoutWatch:
    """A checkout in which people and their agents work for hours, pull, and switch branches.

    What git brings from elsewhere is no change of theirs. So here those files count that are not
    committed, and those in commits that were made here since the last look.
    """

    def __init__(self, root: Path, store: Path) -> None:
        self._root = root
        self._inside = (".", *left_out(store, root))

    def look(
        self, before: CheckoutLook | None = None
    ) -> tuple[CheckoutLook, dict[str, Any] | None]:
        """How it stands now, and what changed since `before`, as it is reported; or FAILED.

        While git brings something from elsewhere, nothing is compared.
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
        """The files in the commits that HEAD's log says were made here; none of a merge."""
        made = _COMMITTED.findall(entries)
        if not made:
            return set()
        how = ("--format=", "--name-only", "--no-renames", "--no-ext-diff", "-z")
        words = ("log", "--no-walk", "--ignore-missing", "--stdin", *how, "--", *self._inside)
        told = ours.git(*words, stdin=b"\n".join(made))
        names = (os.fsdecode(name.strip(b"\n")) for name in told.split(b"\0"))
        return {os.path.relpath(ours.work_tree / name, self._root) for name in names if name}


def uncommitted(repository: Repository, *only: str) -> list[bytes]:
    """Files that differ from the last commit, staged or not, and new ones that git would take."""
    return [field[STATE:] for field in _status(repository, *only).split(b"\0") if field]


def _status(repository: Repository, *only: str) -> bytes:
    how = ("--untracked-files=all", "--ignore-submodules=all", "--no-renames")
    return repository.git("status", "--porcelain=v1", "-z", *how, "--", *only)


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


def _reported(
    before: TreeLook, after: TreeLook, moved: set[str], last: Iterable[str] = ()
) -> dict[str, Any] | None:
    """What `moved`, and what is changed otherwise than before. Of the rest only the number is told:
    a file that the earlier look did not name may have been changed then."""
    new = after.files.keys() - before.files.keys()
    moved = moved | {
        path for path, mark in before.files.items() if after.files.get(path, mark) != mark
    }
    unread = after.more + (len(new - moved) if before.more else 0)
    return as_reported(moved if before.more else moved | new, last, unread=unread)


def _marked(told: bytes, top: Path, root: Path, skip: int = 0) -> TreeLook:
    """The files of those names in the work tree `top`, each after `skip` bytes, from `root` on."""
    *names, rest = told.split(b"\0", MOST_FILES)
    found = [top / os.fsdecode(name[skip:]) for name in names]
    return TreeLook({os.path.relpath(path, root): _mark(path) for path in found}, rest.count(b"\0"))


def _appended(log: Path, since: int | None) -> tuple[int, bytes]:
    """How long a file is that is only appended to, and what it got since; nothing the first time.

    Agents can write to it, and put something else in its place: it is read without waiting.
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
    return found.st_ctime_ns, found.st_size  # the time that no program can set back


def _told(path: str) -> str:
    """A path without characters that the server refuses, or would read as something else."""
    clean = "".join(c if c.isprintable() and c != "\\" else "\ufffd" for c in path)
    cut = clean[:PATH_CHARS]
    return "./" + cut.rstrip(" ").ljust(len(cut), "\ufffd")  # the server strips blanks
