"""Finds the root of a repository and its main worktree."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DIR_NAME", "git_folder", "project_root", "worktree_root"]

DIR_NAME = ".longhouse"


def project_root(cwd: Path) -> Path:
    """The root of the main git worktree of the repository that contains `cwd`.

    Outside git, the nearest folder with a store owned by this user, else `cwd` itself.
    """
    for folder in (cwd, *cwd.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return folder
        if dot_git.is_file():
            return _main_worktree(dot_git) or folder
    return next((folder for folder in (cwd, *cwd.parents) if _has_own_store(folder)), cwd)


def _has_own_store(folder: Path) -> bool:
    """Whether the folder has a store owned by this user; anyone could leave one in /tmp."""
    store = folder / DIR_NAME
    try:
        return store.is_dir() and store.stat().st_uid == os.geteuid()
    except OSError:
        return False


def worktree_root(cwd: Path) -> Path:
    """The root of the worktree that contains `cwd`, main or linked; outside git, `cwd` itself."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def git_folder(root: Path) -> Path | None:
    """The git directory of the worktree at `root`."""
    dot_git = root / ".git"
    return dot_git if dot_git.is_dir() else _pointed_to(dot_git)


def _pointed_to(dot_git: Path) -> Path | None:
    """The folder that a `.git` file names."""
    text = dot_git.read_text(encoding="utf-8", errors="replace").strip()
    if not text.startswith("gitdir:"):
        return None
    return (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()


def _main_worktree(dot_git: Path) -> Path | None:
    """The main worktree of a linked one, whose git directory names the common git directory."""
    git_dir = _pointed_to(dot_git)
    common = git_dir / "commondir" if git_dir else None
    if git_dir is None or common is None or not common.is_file():
        return None
    shared = (git_dir / common.read_text(encoding="utf-8").strip()).resolve()
    return shared.parent if shared.name == ".git" else None
