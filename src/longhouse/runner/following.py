"""Brings the person's work tree to what was landed: a fast-forward of a clean one, or nothing.

Files are written through a git directory of our own, so that no filter or hook of the repository
runs; git's own lock of the index keeps other git commands out meanwhile. The branch moves last, by
compare-and-swap, after the files. Whatever is unclear leaves the work tree as it is, with a reason.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longhouse.runner.git import FAILED, Repository, private, said
from longhouse.runner.landing import BRANCH, worktrees

__all__ = ["HOW", "follow"]

HOW = f"git merge --ff-only {BRANCH}"
"""The command with which a person follows later."""
_MARK = b"longhouse is updating this work tree\n"
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


class _Left(Exception):
    """The work tree is left as it is; the text says why."""


def follow(theirs: Repository, commit: str, scratch: Path) -> str | None:
    """Fast-forward the checked-out branch to a commit; returns why the work tree was left."""
    try:
        branch = theirs.asks("symbolic-ref", "-q", "HEAD")
        if branch is None:
            return "no branch is checked out"
        head = theirs.git("rev-parse", "--verify", "HEAD^{commit}").decode().strip()
        if theirs.asks("merge-base", "--is-ancestor", commit, head) is not None:
            return None
        _refuse(theirs, branch, head, commit)
        with _locked_index(theirs) as lock, tempfile.TemporaryDirectory(dir=scratch) as made:
            ours = _mirrored(Path(made, "git"), theirs, head)
            _refuse_unclean(ours, head, commit)
            ours.git("read-tree", "-m", "-u", head, commit)
            try:
                lock.write_bytes((ours.git_dir / "index").read_bytes())
                moved = ("update-ref", "-m", f"{BRANCH}: Fast-forward", branch, commit, head)
                theirs.git(*moved, identity={"GIT_COMMITTER_NAME": "Longhouse"})
            except FAILED:
                ours.git("read-tree", "-m", "-u", commit, head)
                raise
            lock.replace(theirs.git_dir / "index")
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


@contextmanager
def _locked_index(theirs: Repository) -> Iterator[Path]:
    """Hold git's lock of the index; one that a killed runner left behind is taken over."""
    lock = theirs.git_dir / "index.lock"
    with suppress(OSError):
        if lock.read_bytes() == _MARK:  # all landings of a repository are made one by one
            lock.unlink()
    try:
        handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        raise _Left("another git command is running there") from None
    with os.fdopen(handle, "wb") as file:
        file.write(_MARK)
    try:
        yield lock
    finally:
        lock.unlink(missing_ok=True)


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
    for name, (was, now) in moving.items():
        if _SUBMODULE in (was, now):
            raise _Left(f"{_shown(name)} is a submodule")
        if name.rpartition(b"/")[2].lower() == b".gitattributes":
            raise _Left(f"{_shown(name)} changes how files are written")
        if was == _GONE:
            _refuse_in_the_way(ours.work_tree, name, moving)


def _refuse_in_the_way(top: Path, name: bytes, moving: dict[bytes, tuple[bytes, bytes]]) -> None:
    """Refuse if a new file, or a folder of its path, is there already: git would replace it."""
    parts = name.split(b"/")
    for count in range(1, len(parts) + 1):
        part = b"/".join(parts[:count])
        path = top / os.fsdecode(part)
        leads_on = count < len(parts) and path.is_dir() and not path.is_symlink()
        tracked = moving.get(part, (_GONE, _GONE))[0] != _GONE
        if os.path.lexists(path) and not leads_on and not tracked:
            raise _Left(f"{_shown(part)} is not in git and would be replaced")


def _moving(ours: Repository, head: str, commit: str) -> dict[bytes, tuple[bytes, bytes]]:
    """The paths that differ, each with its mode before and after."""
    how = ("-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none")
    fields = ours.git("diff-tree", *how, head, commit).split(b"\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return {name: (about[1:7], about[8:14]) for about, name in pairs}


def _shown(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
