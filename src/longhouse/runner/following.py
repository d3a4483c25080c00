"""Brings the person's work tree to what was landed: a fast-forward of a clean one, or nothing.

Files are written through a git directory of our own, so that no filter or hook of the repository
runs; git's own lock of the index keeps other git commands out until the end. First the files are
written, then the index, and HEAD moves last, by compare-and-swap; if anything fails, what was
written is put back. Whatever is unclear leaves the work tree as it is, with a reason.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from longhouse.git import FAILED, Repository, private, said
from longhouse.runner.landing import BRANCH, worktrees

__all__ = ["HOW", "follow"]

HOW = f"git merge --ff-only {BRANCH}"
"""The command with which a person follows later."""
_MARK = b"longhouse is updating this work tree\n"
_MOVES = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
_LONGEST = 300
_UNDER_WAY = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
)
_HARMLESS = ("autocrlf", "eol", "fileMode", "ignoreCase", "precomposeUnicode", "symlinks")
_VALUES = {"true", "false", "input", "lf", "crlf", "native"}
_SUBMODULE = b"160000"
_GONE = b"000000"


class _Entry(NamedTuple):
    """Mode and blob of a path, before and after."""

    was: bytes
    now: bytes
    old: bytes
    new: bytes


class _Left(Exception):
    """The work tree is left as it is; the text says why."""


def follow(theirs: Repository, commit: str, scratch: Path) -> str | None:
    """Fast-forward the checked-out branch to a commit; returns why the work tree was left."""
    try:
        _recover(theirs, scratch)
        branch = theirs.asks("symbolic-ref", "-q", "HEAD")
        if branch is None:
            return "no branch is checked out"
        head = _head(theirs)
        if theirs.asks("merge-base", "--is-ancestor", commit, head) is not None:
            return None
        _refuse(theirs, branch, head, commit)
        with (
            _locked_index(theirs, head, commit),
            tempfile.TemporaryDirectory(dir=scratch) as made,
        ):
            ours = _mirrored(Path(made, "git"), theirs, head)
            _refuse_unclean(ours, head, commit)
            _move(theirs, ours, branch, head, commit)
    except _Left as why:
        return str(why)
    except FAILED as error:
        return said(error)
    return None


def _refuse(theirs: Repository, branch: str, head: str, commit: str) -> None:
    if theirs.asks("merge-base", "--is-ancestor", head, commit) is None:
        raise _Left("it has moved meanwhile")
    if any((theirs.git_dir / name).exists() for name in _UNDER_WAY):
        raise _Left("a merge, rebase or bisection is under way")
    here = os.path.realpath(theirs.work_tree)
    for path, other in worktrees(theirs):
        if other == branch and os.path.realpath(path) != here:
            raise _Left(f"{branch.removeprefix('refs/heads/')} is checked out in {path} as well")
    if theirs.asks("config", "--get", "--bool", "core.sparseCheckout") == "true":
        raise _Left("it is a sparse checkout")


def _head(theirs: Repository) -> str:
    return theirs.git("rev-parse", "--verify", "HEAD^{commit}").decode().strip()


@contextmanager
def _locked_index(theirs: Repository, head: str, commit: str) -> Iterator[None]:
    """Hold git's lock of the index; it says from where to where the work tree moves.

    The file is never renamed: its name would be free for another git command's lock. It is locked
    itself before it has our mark, so one with the mark that nobody holds was left behind.
    """
    lock = theirs.git_dir / "index.lock"
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        raise _Left("another git command is running there") from None
    with os.fdopen(handle, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(_MARK + f"{head} {commit}\n".encode())
            file.flush()
            os.fsync(file.fileno())
            yield
        finally:
            _release(lock, file)


def _release(lock: Path, file: IO[bytes]) -> None:
    """Remove a lock, unless the one at its path is somebody else's by now."""
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file.fileno()), lock.lstat()):
            lock.unlink()


def _recover(theirs: Repository, scratch: Path) -> None:
    """Put back what a killed runner wrote before HEAD moved, and remove the lock it left."""
    lock = theirs.git_dir / "index.lock"
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(handle, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            said_there = file.read(_LONGEST)
            here = os.path.samestat(os.fstat(handle), lock.lstat())
            if not (here and said_there.startswith(_MARK)):
                return
        except OSError:  # its owner works, or has just ended
            return
        try:
            moves = _MOVES.fullmatch(said_there.removeprefix(_MARK))
            if moves and moves[1].decode() == (head := _head(theirs)):
                with tempfile.TemporaryDirectory(dir=scratch) as made:
                    ours = _mirrored(Path(made, "git"), theirs, head)
                    _put_back(theirs, ours, head, moves[2].decode())
        finally:
            _release(lock, file)


def _move(theirs: Repository, ours: Repository, branch: str, head: str, commit: str) -> None:
    """Write the files and the index, then move HEAD; or put everything back."""
    index, before = ours.git_dir / "index", ours.git_dir / "index.before"
    shutil.copyfile(index, before)
    try:
        ours.git("read-tree", "-m", "-u", head, commit)
        _put_index(theirs, index)
        if theirs.asks("symbolic-ref", "-q", "HEAD") != branch:
            raise _Left("another branch was checked out meanwhile")
        moved = ("update-ref", "-m", f"{BRANCH}: Fast-forward", "HEAD", commit, head)
        theirs.git(*moved, identity={"GIT_COMMITTER_NAME": "Longhouse"})
    except BaseException as error:
        if _head(theirs) != commit:
            try:
                (ours.git_dir / "index.lock").unlink(missing_ok=True)  # of a git that was killed
                before.replace(index)
                _put_back(theirs, ours, head, commit)
            except (*FAILED, _Left) as also:
                raise _Left(f"{_why(error)}; it is half updated now: {_why(also)}") from error
        raise


def _why(error: BaseException) -> str:
    return said(error) if isinstance(error, FAILED) else str(error)


def _put_index(theirs: Repository, fresh: Path) -> None:
    """Replace the person's index, while our lock keeps its name."""
    index, beside = theirs.git_dir / "index", theirs.git_dir / "index.longhouse"
    beside.unlink(missing_ok=True)
    try:
        with beside.open("xb") as file:
            file.write(fresh.read_bytes())
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(index, beside)
        beside.replace(index)
    finally:
        beside.unlink(missing_ok=True)


def _put_back(theirs: Repository, ours: Repository, head: str, commit: str) -> None:
    """Undo a fast-forward that did not end; what somebody else wrote meanwhile is left, and told.

    Git is told that the files it has written are at `commit` and all others at `head`: it then
    writes only those, and none that is something else.
    """
    ours.git("read-tree", "-m", head)
    written, foreign = [], []
    for name, entry in _moving(ours, head, commit).items():
        state = _state(ours, name, entry)
        if state == "written":
            written.append((entry.now == _GONE, entry.now + b" " + entry.new + b"\t" + name))
        elif state == "foreign":
            foreign.append(name)
    lines = [line for _, line in sorted(written, reverse=True)]  # what is gone makes room
    if lines:
        ours.git("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")
        mixed = ours.git("write-tree").decode().strip()
        with suppress(*FAILED):
            ours.git("update-index", "-q", "--refresh")
        ours.git("read-tree", "-m", "-u", mixed, head)
    _put_index(theirs, ours.git_dir / "index")
    if foreign:
        raise _Left(f"{_shown(foreign[0])} was changed meanwhile, {len(foreign)} in all")


def _state(ours: Repository, name: bytes, entry: _Entry) -> str:
    """Whether a file is as git has written it, as it was before, or as somebody else left it."""
    path = ours.work_tree / os.fsdecode(name)
    if not _is_below(ours.work_tree, path) or not os.path.lexists(path):
        return "kept" if entry.was == _GONE else "written"
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        data = os.fsencode(path.readlink())
        blob, mode = ours.git("hash-object", "--stdin", stdin=data), b"120000"
    elif stat.S_ISREG(about.st_mode):
        blob = ours.git("hash-object", "--", os.fsdecode(name))
        mode = b"100755" if about.st_mode & 0o100 else b"100644"
    elif entry.was == _GONE:  # a folder that has still to make room
        return "kept"
    else:
        return "written" if entry.now == _GONE else "foreign"
    same = entry.old == entry.new
    if blob.strip() == entry.new and (not same or mode == entry.now):
        return "written"
    if blob.strip() == entry.old:
        return "kept"
    if entry.now == _GONE or not stat.S_ISREG(about.st_mode):
        return "foreign"
    if not ours.git("cat-file", "blob", entry.new.decode()).startswith(path.read_bytes()):
        return "foreign"
    path.unlink()  # git was stopped while it wrote it
    return "kept" if entry.was == _GONE else "written"


def _is_below(top: Path, path: Path) -> bool:
    """Whether every folder on the way is there, and no link."""
    folders = [one for one in path.parents if one != top and one.is_relative_to(top)]
    return all(one.is_dir() and not one.is_symlink() for one in folders)


def _mirrored(git_dir: Path, theirs: Repository, head: str) -> Repository:
    """A git directory of our own with the same HEAD and index, and harmless settings only."""
    objects = theirs.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
    kind = "sha256" if len(head) == 64 else "sha1"
    ours = private(git_dir, theirs.work_tree, Path(os.fsdecode(objects.rstrip(b"\n"))), kind)
    for name in _HARMLESS:
        value = theirs.asks("config", "--get", f"core.{name}")
        if value and value.lower() in _VALUES:
            ours.git("config", f"core.{name}", value.lower())
    ours.git("update-ref", "--no-deref", "HEAD", head)
    where = theirs.git("rev-parse", "--path-format=absolute", "--git-path", "info/attributes")
    (git_dir / "info").mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(os.fsdecode(where.rstrip(b"\n")), git_dir / "info" / "attributes")
    with suppress(FileNotFoundError):
        shutil.copy2(theirs.git_dir / "index", git_dir / "index")
    return ours


def _refuse_unclean(ours: Repository, head: str, commit: str) -> None:
    """Refuse if the person has changed something, or if our git would write a file otherwise."""
    with suppress(*FAILED):
        ours.git("update-index", "-q", "--refresh")
    how = ("--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all")
    changed = [field[3:] for field in ours.git("status", *how, "--no-renames").split(b"\0")[:-1]]
    if changed:
        raise _Left(f"it has uncommitted changes: {_shown(changed[0])}, {len(changed)} in all")
    moving = _moving(ours, head, commit)
    tagged = ours.git("ls-files", "-v", "-z").split(b"\0")[:-1]
    for tag, name in ((entry[:1], entry[2:]) for entry in tagged):
        if tag != b"H" and name in moving:
            raise _Left(f"{_shown(name)} is marked to be left alone")
    filtered = ours.git("check-attr", "-z", "--stdin", "filter", stdin=b"\0".join(moving) + b"\0")
    words = filtered.split(b"\0")
    for name, value in zip(words[::3], words[2::3], strict=False):
        if value not in (b"unspecified", b"unset"):
            raise _Left(f"{_shown(name)} goes through a filter, as with Git LFS")
    for name, entry in moving.items():
        if _SUBMODULE in (entry.was, entry.now):
            raise _Left(f"{_shown(name)} is a submodule")
        if name.rpartition(b"/")[2].lower() == b".gitattributes":
            raise _Left(f"{_shown(name)} changes how files are written")
        if entry.was == _GONE:
            _refuse_in_the_way(ours.work_tree, name, moving)


def _refuse_in_the_way(top: Path, name: bytes, moving: dict[bytes, _Entry]) -> None:
    """Refuse if a new file, or a folder of its path, is there already: git would replace it."""
    parts = name.split(b"/")
    for count in range(1, len(parts) + 1):
        part = b"/".join(parts[:count])
        path = top / os.fsdecode(part)
        leads_on = count < len(parts) and path.is_dir() and not path.is_symlink()
        tracked = part in moving and moving[part].was != _GONE
        if os.path.lexists(path) and not leads_on and not tracked:
            raise _Left(f"{_shown(part)} is not in git and would be replaced")


def _moving(ours: Repository, head: str, commit: str) -> dict[bytes, _Entry]:
    """The paths that differ."""
    how = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    fields = ours.git("diff-tree", *how, head, commit).split(b"\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return {name: _Entry(*about[1:].split()[:4]) for about, name in pairs}


def _shown(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
