"""Finds the root of a repository, its main worktree and its common git directory."""

from __future__ import annotations

import re
from pathlib import Path

from longhouse.kernel.private_files import read_private

__all__ = ["DIR_NAME", "common_git_folder", "git_folder", "project_root", "worktree_root"]

_WORKTREE = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*(\S.*)$", re.MULTILINE)
DIR_NAME = ".longhouse"
"""The folder in a repository that may contain limits (`config.toml`) for everyone who clones it."""


def project_root(cwd: Path) -> Path:
    """The root of the main git worktree of the repository that contains `cwd`.

    Outside git, `cwd` itself.
    """
    folder = worktree_root(cwd)
    if (folder / ".git").is_dir():
        return folder
    shared = common_git_folder(folder)
    return shared.parent if shared and shared.name == ".git" else folder


def worktree_root(cwd: Path) -> Path:
    """The root of the worktree that contains `cwd`, main or linked; outside git, `cwd` itself."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def git_folder(root: Path) -> Path | None:
    """The git directory of the worktree at `root`, as its `.git` says."""
    dot_git = root / ".git"
    return dot_git if dot_git.is_dir() else _named_by(dot_git, "gitdir:")


def common_git_folder(cwd: Path) -> Path | None:
    """The git directory that all worktrees of a repository share; None outside git.

    A `.git` file is believed only if the git directory that it names points back to it: an archive
    may bring one that names another repository's.
    """
    root = worktree_root(cwd)
    dot_git = root / ".git"
    if dot_git.is_dir():
        return dot_git.resolve()
    git_dir = _named_by(dot_git, "gitdir:")
    if git_dir is None or not git_dir.is_dir():
        return None
    shared = _named_by(git_dir / "commondir")
    if shared is not None:
        back = _named_by(git_dir / "gitdir")
        return shared if back == dot_git.resolve() and shared.is_dir() else None
    return git_dir if _is_of(git_dir, root) else None


def _is_of(git_dir: Path, root: Path) -> bool:
    """Whether a git directory that has no worktrees belongs to this folder.

    That of a submodule names it; a separate one belongs to nobody else.
    """
    if ".git" not in git_dir.parts:
        return True
    found = _WORKTREE.search(_text(git_dir / "config"))
    return found is not None and (git_dir / found[1].strip()).resolve() == root.resolve()


def _named_by(file: Path, before: str = "") -> Path | None:
    """The folder that a file of git's names, after the word `before`."""
    text = _text(file).strip()
    if not text.startswith(before) or not text or "\0" in text:
        return None
    return (file.parent / text.removeprefix(before).strip()).resolve()


def _text(file: Path) -> str:
    """The contents of a plain file; others wrote it, so nothing else is opened."""
    try:
        return read_private(file, others=True).decode("utf-8", "replace")
    except OSError:
        return ""
