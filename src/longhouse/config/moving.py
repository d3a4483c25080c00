"""Moves a store's folder to another place, step by step, so that whoever is killed can go on.

The index names both places and the step before anything moves. While a step is named, the store is
refused to everyone but the one who finishes the move. Within a file system the folder is renamed;
otherwise it is copied, compared and only then removed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from longhouse.config.folder import check_folder
from longhouse.config.projects import Index, ProjectEntry, write_id, write_record
from longhouse.kernel.errors import Conflict, StoreUnusable

__all__ = ["ADOPT", "MOVE", "begin", "finish", "settle"]

ADOPT = "adopt"
MOVE = "move"
"""Why a store moves: an adopted one is held before anyone may use it, one's own is not."""

_MOVING, _REMOVING, _ARRIVED = "moving", "removing", "arrived"


def begin(index: Index, project: ProjectEntry, source: Path, why: str) -> ProjectEntry:
    """Name the move of the store in `source` to `project.store` in the index.

    The project's id is written first, so that whoever is killed finds the move again.
    """
    check_folder(source)
    if project.store.exists() and project.store != source:
        try:
            project.store.rmdir()
        except OSError as error:
            raise Conflict(
                f"{project.store} already exists",
                recovery="name a folder that does not exist, or move that one away",
            ) from error
    known = tuple(path for path in (*project.formerly, source) if path != project.store)
    step = _ARRIVED if project.store == source else _MOVING
    started = project._replace(formerly=tuple(dict.fromkeys(known)), moving=f"{why}-{step}")
    write_id(started)
    with index.change() as listed:
        listed[started.id] = started
    return started


def finish(index: Index, project: ProjectEntry) -> ProjectEntry:
    """Do what is left of a move; `settle` ends it."""
    target = project.store
    why, _, step = project.moving.partition("-")
    try:
        if step == _MOVING:
            source = project.formerly[-1]
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if source.exists() and not target.exists():
                _rename_or_copy(source, target)
            if not target.is_dir():
                raise StoreUnusable(
                    f"neither {source} nor {target} exists: the store is gone",
                    recovery=f"bring it back with `longhouse restore`, or start an empty one after "
                    f"`longhouse project forget {project.id[:8]}`",
                )
            step, project = _REMOVING, _step(index, project, f"{why}-{_REMOVING}")
        if step == _REMOVING:
            source = project.formerly[-1]
            if source.exists():
                shutil.rmtree(source)
            project = _step(index, project, f"{why}-{_ARRIVED}")
    except OSError as error:
        raise StoreUnusable.folder(target, error) from error
    return project


def settle(index: Index, project: ProjectEntry) -> ProjectEntry:
    """End a move: from here on, everyone may use the store."""
    return _step(index, project, "")


def _step(index: Index, project: ProjectEntry, step: str) -> ProjectEntry:
    after = project._replace(moving=step)
    write_record(after._replace(moving=""))
    with index.change() as listed:
        listed[after.id] = after
    return after


def _rename_or_copy(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, symlinks=True)
    partial.chmod(0o700)
    if _digests(source) != _digests(partial):
        raise StoreUnusable(
            f"{source} could not be copied to {partial}: the copies differ",
            recovery="stop whatever writes to the store, then try again; nothing was removed",
        )
    for path in _files(partial):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    partial.rename(target)


def _digests(folder: Path) -> dict[str, str]:
    found = {}
    for path in _files(folder):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[str(path.relative_to(folder))] = digest
    return found


def _files(folder: Path) -> Iterator[Path]:
    for at, _, names in os.walk(folder):
        found = (Path(at, name) for name in sorted(names))
        yield from (path for path in found if path.is_file() and not path.is_symlink())
