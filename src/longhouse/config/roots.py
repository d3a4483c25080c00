"""Which project a folder is: the ids that workspaces are bound to.

An id in a git directory counts only together with the index entry for that directory, so what an
agent writes there makes no repository another project. Nothing here depends on who asks from where.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from longhouse.config.places import common_git_folder, project_root, worktree_root
from longhouse.config.projects import Index, ProjectEntry, git_id, record_of
from longhouse.config.stores import StorePlace

__all__ = ["OwnProject", "is_other_repository", "own_project", "own_record", "project_ids"]


class OwnProject(NamedTuple):
    """The project that a store was made for."""

    id: str
    root: Path
    workspaces: tuple[str, ...]
    """Its own: the one it was named after, and those that its user named for it."""
    ids: frozenset[str]
    """Every id of the root on this host; empty if the project is not there."""
    listed: Index | None

    def root_of(self, bound: Collection[str]) -> Path | None:
        """The folder on this host of one of these projects: this one, if it is among them."""
        if self.ids.intersection(bound):
            return self.root
        known = self.listed.projects() if self.listed else {}
        for entry in (known[one] for one in sorted(bound) if one in known):
            if not entry.chosen and entry.id in project_ids(entry.root, None, self.listed):
                return entry.root
        return None


def own_record(place: StorePlace) -> ProjectEntry | None:
    """The project that a store was made for, by the index or by the store's own record."""
    return place.project or record_of(place.folder)


def own_project(place: StorePlace) -> OwnProject | None:
    """The project of a store, by the store's own record; None if there is no record."""
    found = own_record(place)
    if found is None:
        return None
    index = place.homes.listed
    return OwnProject(
        found.id,
        found.root,
        tuple(dict.fromkeys((found.workspace, *found.workspaces))),
        project_ids(found.root, found, index),
        index,
    )


def project_ids(folder: Path, record: ProjectEntry | None, index: Index | None) -> frozenset[str]:
    """The ids of the project that contains a folder; `record` is that of the store in use."""
    folder = Path(os.path.realpath(folder))
    root, git_dir = project_root(folder), common_git_folder(folder)
    known = [*index.projects().values()] if index else []
    if record is not None:
        known.append(record)
    return frozenset(one.id for one in known if _is_at(one, root, git_dir))


def _is_at(entry: ProjectEntry, root: Path, git_dir: Path | None) -> bool:
    if entry.git_dir is not None:
        return entry.git_dir == git_dir and git_id(git_dir) == entry.id
    if entry.chosen:  # its store is elsewhere, and its folder may be a repository
        return entry.root == root
    return git_dir is None and entry.root in (root, *root.parents)


def is_other_repository(root: Path, folder: Path) -> bool:
    """Whether a folder inside `root` belongs to a repository that lies outside it.

    A linked worktree of another project does; a submodule and a clone inside `root` do not.
    """
    git_dir, own = common_git_folder(folder), common_git_folder(root)
    if worktree_root(folder) == worktree_root(root) or (git_dir is not None and git_dir == own):
        return False
    if git_dir is None:  # a `.git` that leads where nothing leads back from, or none at all
        return os.path.lexists(worktree_root(folder) / ".git")
    inside = [Path(os.path.realpath(root)), *([own] if own else [])]
    return not any(git_dir.is_relative_to(one) for one in inside)
