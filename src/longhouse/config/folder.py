"""Checks that a store's folder is the user's own, and that none came with a repository.

A store determines which jobs agents run and which tokens a server accepts, so whoever writes it is
in control. Every entry point resolves settings first, and resolving them includes this check.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from longhouse.config.places import git_folder, worktree_root
from longhouse.kernel.errors import Forbidden

__all__ = ["UntrustedStore", "check_folder", "check_tracked"]

_ELSEWHERE = "or keep the store elsewhere: --dir, or LONGHOUSE_DIR"


class UntrustedStore(Forbidden):
    """The store's folder may have been made by someone else."""

    code = "UNTRUSTED_STORE"
    fix = f"remove the folder, {_ELSEWHERE}"


def check_folder(folder: Path) -> None:
    """Refuse a folder that others can change."""
    try:
        found = folder.lstat()
    except OSError:
        pass  # it does not exist yet; an unreadable one is refused when it is opened
    else:
        _check_owner(folder, found)
        _check_links(folder)


def _check_owner(folder: Path, found: os.stat_result) -> None:
    quoted = shlex.quote(str(folder))
    if stat.S_ISLNK(found.st_mode):
        raise UntrustedStore(
            f"{folder} is a symbolic link, which may have come with the repository",
            recovery=f"name the folder itself with --dir or LONGHOUSE_DIR, or: rm {quoted}",
        )
    if found.st_uid != os.geteuid():
        raise UntrustedStore(
            f"{folder} belongs to another user (uid {found.st_uid}, you are {os.geteuid()})",
            recovery=f"run Longhouse as that user, {_ELSEWHERE}",
        )
    if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o022:
        raise UntrustedStore(
            f"{folder} is writable by other users (mode {stat.S_IMODE(found.st_mode):o})",
            recovery=f"if you made it yourself: chmod 700 {quoted}; {_ELSEWHERE}",
        )


def _check_links(folder: Path) -> None:
    """Refuse symbolic links: Longhouse creates none, and would write through one."""
    try:
        with os.scandir(folder) as entries:
            link = next((entry.path for entry in entries if entry.is_symlink()), None)
    except OSError:
        return
    if link is not None:
        raise UntrustedStore(
            f"{link} is a symbolic link, which a store's folder must not contain",
            recovery=f"rm {shlex.quote(link)}",
        )


def check_tracked(folder: Path) -> None:
    """Refuse a folder in a work tree that may have come with the repository."""
    real = Path(os.path.realpath(folder.parent), folder.name)
    if (real / ".git").exists():
        raise UntrustedStore(f"{folder} is a git repository, not a store's folder")
    root = worktree_root(real.parent)
    git_dir = git_folder(root) if (root / ".git").exists() else None
    if git_dir is None:
        return
    from longhouse.config.git_index import tracked_path  # only a store in a work tree needs it

    path = tracked_path(git_dir, str(real.relative_to(root)))
    if path is not None:
        at, inside = shlex.quote(str(root)), shlex.quote(str(real.relative_to(root)))
        raise UntrustedStore(
            f"{folder} came with the repository: git tracks {path}",
            recovery=f"remove what came with it: git -C {at} rm -r {inside}; {_ELSEWHERE}",
        )
