"""The only place where Longhouse runs git: nothing an agent can write makes git run a program.

An agent's worktree, and the repository it can reach from there, are untrusted. So git is told where
its directory and work tree are and never searches for them; user and system configuration are not
read; and every setting of the repository that could start a program is turned off. Filters and diff
drivers have arbitrary names, so files are read and written only through a git directory that we
made ourselves (`private`), whose configuration defines none.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from longhouse.config import environment_with, user_file

__all__ = [
    "FAILED",
    "Repository",
    "beside",
    "exclude_as",
    "folder_of_ours",
    "found_at",
    "private",
    "said",
    "why_not_git",
]

TIMEOUT_S = 120
LEFT_BEHIND_S = 5
"""An unlocked folder older than this was left behind by a killed process."""

FAILED = (subprocess.SubprocessError, OSError)
"""The exceptions that running git may raise."""

_OFF = {
    "advice.graftFileDeprecated": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "core.untrackedCache": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.commitGraph": "false",
    "core.splitIndex": "false",
    "commit.gpgSign": "false",
    "gpg.program": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "merge.default": "text",
    "merge.renormalize": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
}
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


class Repository(NamedTuple):
    """A git directory and a work tree that are known to belong together."""

    git_dir: Path
    work_tree: Path

    def git(
        self,
        *words: str,
        stdin: bytes = b"",
        to: IO[bytes] | None = None,
        index: Path | None = None,
        identity: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run git on it; the output is returned, or written to the file `to`.

        `identity` holds git's variables for the author and committer of a new commit.
        """
        pinned = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.work_tree)}
        if index is not None:
            pinned["GIT_INDEX_FILE"] = str(index)
        pinned |= identity or {}
        return _run(words, self.work_tree, _ENVIRONMENT | pinned, stdin, to)

    def asks(self, *words: str) -> str | None:
        """The text that git answers; None if it answers no, which is exit code 1."""
        try:
            return self.git(*words).decode("utf-8", "surrogateescape").rstrip("\n")
        except subprocess.CalledProcessError as error:
            if error.returncode == 1:
                return None
            raise


def why_not_git(folder: Path) -> str | None:
    """Why no worktree can start from a folder that has no fault: no git, or no commit yet.

    None if there is a commit, or if something else is wrong, which `found_at` then reports.
    """
    try:
        _run(("rev-parse", "--git-dir"), folder, _searching(), b"", None)
    except FileNotFoundError:
        return "git is not installed"
    except FAILED as error:
        return "it is not in a git repository" if "not a git repository" in said(error) else None
    try:
        _run(("rev-parse", "--verify", "--quiet", "HEAD"), folder, _searching(), b"", None)
    except subprocess.CalledProcessError as error:
        return "its repository has no commit yet" if error.returncode == 1 else None
    return None


def found_at(folder: Path) -> tuple[Repository, Path, str | None, str]:
    """The repository of a folder, its objects directory, its HEAD commit and its object format.

    A new repository has no commit yet, which is no fault.

    Call it before an agent has worked there. Only here does git search for the repository, so the
    user's configuration is read: it says which folders owned by others are safe.
    """
    asked = ("--show-toplevel", "--absolute-git-dir", "--git-path", "objects")
    head_too = ("--show-object-format", "--revs-only", "HEAD")
    words = ("rev-parse", "--path-format=absolute", *asked, *head_too)
    out = _run(words, folder, _searching(), b"", None).decode("utf-8", "surrogateescape")
    top, git_dir, objects, object_format, head = out.split("\n")[:5]
    return Repository(Path(git_dir), Path(top)), Path(objects), head or None, object_format


def _searching() -> dict[str, str]:
    kept = {name: value for name, value in _ENVIRONMENT.items() if "GLOBAL" not in name}
    return kept | {"GIT_CONFIG_NOSYSTEM": "0"}


@contextmanager
def folder_of_ours(work_tree: Path) -> Iterator[Path]:
    """A new folder for a git directory that no sandboxed agent can write to.

    A sandbox lets an agent write to the work tree, where the store often is, and to the temporary
    folder. So the folder is made under the user's configuration folder; an OSError if the work
    tree contains that.
    """
    own = user_file()
    if own is None:
        raise FileNotFoundError(errno.ENOENT, "the user's configuration folder is unknown")
    parent = own.parent / "git"
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if parent.resolve().is_relative_to(work_tree.resolve()):
        raise PermissionError(errno.EPERM, "agents can write there", str(parent))
    for one in parent.iterdir():
        with suppress(OSError):
            if one.stat().st_mtime < time.time() - LEFT_BEHIND_S:
                with _locked(one):
                    shutil.rmtree(one)
    fresh = tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)
    with fresh as made, _locked(Path(made)):
        yield Path(made)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder, across containers too; an OSError if another process holds it."""
    with (folder / "lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def private(git_dir: Path, work_tree: Path, objects: Path, object_format: str) -> Repository:
    """A new git directory of our own that borrows the objects of another."""
    made = Repository(git_dir, work_tree)
    git_dir.mkdir(mode=0o700)
    made.git("init", "--quiet", "--template=", f"--object-format={object_format}")
    (git_dir / "objects" / "info").mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_bytes(os.fsencode(objects) + b"\n")
    with suppress(FileNotFoundError):  # a shallow clone lacks the parents of some commits
        shutil.copyfile(objects.parent / "shallow", git_dir / "shallow")
    return made


def exclude_as(ours: Repository, repository: Repository) -> None:
    """Copy the repository's `info/exclude` into our own git directory."""
    mine = ours.git_dir / "info"
    mine.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        where = repository.git("rev-parse", "--git-path", "info/exclude").decode().strip()
        shutil.copyfile(repository.work_tree / where, mine / "exclude")


def beside(git_dir: Path, folder: Path) -> Repository:
    """Our own git directory for the work tree of a folder, with the same HEAD and index."""
    repository, objects, head, object_format = found_at(folder)
    ours = private(git_dir, repository.work_tree, objects, object_format)
    if head is not None:
        ours.git("update-ref", "--no-deref", "HEAD", head)
    exclude_as(ours, repository)
    with suppress(FileNotFoundError):
        shutil.copy2(repository.git_dir / "index", git_dir / "index")
    return ours


def said(error: Exception) -> str:
    """Why git failed, in its own words."""
    if isinstance(error, subprocess.CalledProcessError):
        return error.stderr.decode("utf-8", "replace").strip()[-300:] or "git failed"
    return str(error)


def _run(
    words: tuple[str, ...],
    folder: Path,
    environment: dict[str, str],
    stdin: bytes,
    to: IO[bytes] | None,
) -> bytes:
    inherited = {k: v for k, v in environment_with({}).items() if not k.startswith("GIT_")}
    off = [word for name, value in _OFF.items() for word in ("-c", f"{name}={value}")]
    ran = subprocess.run(
        ["git", "--no-pager", *off, *words],
        cwd=folder,
        env=inherited | environment,
        input=stdin,
        check=True,
        timeout=TIMEOUT_S,
        stdout=to or subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return ran.stdout or b""
