"""Finds the root of a repository, its main worktree and its common git directory."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DIR_NAME", "common_git_folder", "git_folder", "project_root", "worktree_root"]

DIR_NAME = ".longhouse"
"""The folder in a repository that may contain limits (`config.toml`) for everyone who clones it."""


def project_root(cwd: Path) -> Path:
    """The root of the main git worktree of the repository that contains `cwd`.

    Outside git, `cwd` itself.
    """
    folder = worktree_root(cwd)
    dot_git = folder / ".git"
    return (_main_worktree(dot_git) or folder) if dot_git.is_file() else folder


def worktree_root(cwd: Path) -> Path:
    """The root of the worktree that contains `cwd`, main or linked; outside git, `cwd` itself."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def git_folder(root: Path) -> Path | None:
    """The git directory of the worktree at `root`."""
    dot_git = root / ".git"
    return dot_git if dot_git.is_dir() else _pointed_to(dot_git)


def common_git_folder(cwd: Path) -> Path | None:
    """The git directory that all worktrees of a repository share; None outside git."""
    root = worktree_root(cwd)
    if not (root / ".git").exists():
        return None
    git_dir = git_folder(root)
    if git_dir is None or not git_dir.is_dir():
        return None
    return (_shared(git_dir) or git_dir).resolve()


def _pointed_to(dot_git: Path) -> Path | None:
    """The folder that a `.git` file names."""
    text = dot_git.read_text(encoding="utf-8", errors="replace").strip()
    if not text.startswith("gitdir:"):
        return None
    return (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()


def _main_worktree(dot_git: Path) -> Path | None:
    """The main worktree of a linked one, whose git directory names the common git directory."""
    git_dir = _pointed_to(dot_git)
    shared = _shared(git_dir) if git_dir else None
    return shared.parent if shared and shared.name == ".git" else None


def _shared(git_dir: Path) -> Path | None:
    """The common git directory that the git directory of a linked worktree names."""
    common = git_dir / "commondir"
    if not common.is_file():
        return None
    return (git_dir / common.read_text(encoding="utf-8").strip()).resolve()
