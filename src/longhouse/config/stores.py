"""Finds the store of a folder, and makes a new one.

Without `--dir`, a project has the store that the index lists for it, in the user's data folder: out
of reach for an agent whose sandbox may write only the work tree. With `--dir`, the store is where
the user says; inside a work tree it must have been made here, because anything else there may have
come with the repository.

Finding changes nothing, with one exception: a project that moved is found again by its id, and the
index follows it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from longhouse.config.environment import cache_home, data_home, is_ci, is_sandboxed
from longhouse.config.folder import UntrustedStore, check_folder, check_tracked
from longhouse.config.places import DIR_NAME, common_git_folder, project_root, worktree_root
from longhouse.config.projects import (
    Index,
    ProjectEntry,
    git_id,
    name_of,
    new_id,
    record_of,
    write_first_record,
    write_record,
)
from longhouse.kernel.errors import Conflict, StoreOutOfReach, StoreUnusable
from longhouse.kernel.private_files import open_private, read_private, write_private

__all__ = ["OldStore", "StorePlace", "find_store"]

_ELSEWHERE = "name a folder for the store with --dir, or LONGHOUSE_DIR"
VISITORS = "visitors.json"
"""The file in a store's folder that says which other repository uses which workspace name."""
_NETWORK = ("afs", "beegfs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "smb", "sshfs")


class OldStore(UntrustedStore):
    """The repository contains a store that has not been adopted."""

    code = "OLD_STORE"


class Homes(NamedTuple):
    """The folders of this user; None without a home directory."""

    listed: Index | None
    data: Path | None
    cache: Path | None
    is_ci: bool = False
    is_sandboxed: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Homes:
        return cls(
            Index.of(environ),
            data_home(environ),
            cache_home(environ),
            is_ci(environ),
            is_sandboxed(environ),
        )

    def need_index(self) -> Index:
        if self.listed is None:
            raise StoreUnusable(
                "there is no home directory to keep a store in: HOME is not set",
                recovery=f"set HOME to an absolute path, or {_ELSEWHERE}",
            )
        return self.listed


class StorePlace(NamedTuple):
    """Where a store is, or will be made, and whose it is."""

    homes: Homes
    folder: Path
    root: Path
    workspace: str
    project: ProjectEntry | None = None
    chosen: bool = False
    """Whether the user named the folder."""
    git_dir: Path | None = None
    old: Path | None = None
    """A store in the work tree that a person must adopt first."""
    notices: tuple[str, ...] = ()
    also: str | None = None
    """Another workspace that a new store's project has from the start."""
    twin: Path | None = None
    """The caller's repository, if it only shares its name with the store's project."""

    @property
    def names(self) -> tuple[Path, ...]:
        """Every path that the user may know this store by."""
        stores = self.project.formerly if self.project else ()
        roots = (self.root, *(self.project.earlier_roots if self.project else ()))
        own = self.project is not None and not self.project.chosen
        usual = [name for root in roots for name in (root, root / DIR_NAME)]
        return (self.folder, *stores, *(usual if own or not self.chosen else ()))

    @property
    def limits_file(self) -> Path:
        """The file in the work tree that may set limits for everyone who clones it."""
        return self.root / DIR_NAME / "config.toml"

    @property
    def cache(self) -> Path:
        """The folder for worktrees and scratch files; without a home directory, in the store."""
        if self.project is not None:
            return self.project.cache
        base = self.homes.cache
        return base / self.cache_name if base else self.folder / "cache"

    @property
    def cache_name(self) -> str:
        """The name of that folder, which is the store's own wherever the user's cache is."""
        if self.project is not None:
            return self.project.cache.name
        return _unique(self.folder) if self.chosen else self.folder.name

    def require(self) -> None:
        """Refuse a store that is out of reach, not adopted, or whose move was interrupted."""
        if self.homes.is_sandboxed and not _is_writable(self.folder):
            raise StoreOutOfReach(
                f"the store in {self.folder} cannot be reached from inside a sandbox"
            )
        if self.project is not None and self.project.moving:
            raise OldStore(
                f"the move of this project's store to {self.folder} was interrupted",
                recovery="finish it with `longhouse up`",
            )
        if self.old is None:
            if self.chosen and self.project is None and _in_a_work_tree(self.folder):
                check_tracked(self.folder)
            return
        check_tracked(self.old)
        raise OldStore(
            f"{self.old} is a store inside a work tree, where agents and clones could change it; "
            "it has not been adopted",
            recovery="look at what it holds and adopt it with `longhouse up`"
            + (f" --dir {self.old}" if self.chosen else ""),
        )

    def make(self, workspace: str | None = None) -> None:
        """Make the folder if there is none, and register what must be registered.

        A new store's project also gets `workspace`, by which its user called it.
        """
        if workspace not in (None, self.workspace):
            self._replace(also=workspace).make()
            return
        self.require()
        try:
            if self.project is not None:
                self._check_present(self.project)
            elif not self.chosen:
                self._register()
            elif record_of(self.folder) is not None:
                return
            elif not _holds_a_store(self.folder):
                # Not its parents: such a path is probably a typo.
                self.folder.mkdir(mode=0o700, exist_ok=True)
                self._record()
            else:
                with suppress(OSError):  # a store of an earlier version, on a full disk
                    self._record()
        except OSError as error:
            raise StoreUnusable.folder(self.folder, error) from error

    def _check_present(self, project: ProjectEntry) -> None:
        if not project.store.is_dir():
            raise StoreUnusable(
                f"{project.store}, the store of this project, is gone",
                recovery="bring it back with `longhouse restore`, or start an empty one after "
                f"`longhouse project forget {project.id[:8]}`",
            )

    def _new(self, *, id: str | None = None) -> ProjectEntry:
        return ProjectEntry(
            id or new_id(),
            self.root,
            self.git_dir,
            self.folder,
            self.workspace,
            self.cache,
            workspaces=(self.also,) if self.also else (),
        )

    def _record(self) -> None:
        """Note in a store that the user placed which project it is for.

        Inside a work tree the index must list it, too. The first of several processes decides: two
        ids would be two projects.
        """
        project = self._new()._replace(git_dir=None, chosen=True)
        if not _in_a_work_tree(self.folder):
            write_first_record(project)
            return
        with self.homes.need_index().change() as known:
            record = record_of(self.folder)
            if record is not None and record.id in known:
                return
            (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")
            write_record(project)
            for other in [one.id for one in known.values() if one.store == self.folder]:
                del known[other]
            known[project.id] = project

    def _register(self) -> None:
        """Make this project's store in the user's data folder.

        The store's record is written before the id, and the id before the index: whoever is killed
        in between leaves an empty folder that the next one takes over.
        """
        _refuse_unfit(self.folder, self.root, self.homes)
        with self.homes.need_index().change() as known:
            for other in known.values():
                same = other.git_dir == self.git_dir and (self.git_dir or other.root == self.root)
                if same and not other.chosen and other.is_here:
                    if other.store == self.folder:
                        return
                    raise Conflict(
                        f"another process has just made a store for {self.root}",
                        recovery="run the command again",
                    )
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            record = record_of(self.folder)
            project = self._new(id=record.id if record else None)
            write_record(project)
            known[project.id] = project


def find_store(
    named: str | None, cwd: Path, environ: Mapping[str, str] | None = None
) -> StorePlace:
    """The store that `--dir` names, or the one of the project that contains `cwd`."""
    cwd = Path(os.path.realpath(cwd))
    homes = Homes.of(environ)
    place = _named(cwd / named, cwd, homes) if named else _of_project(cwd, homes)
    if place.old is None:
        check_folder(place.folder)
    return place


def _named(path: Path, cwd: Path, homes: Homes) -> StorePlace:
    path = path.absolute()
    folder = Path(os.path.realpath(path.parent), path.name)
    project = homes.listed.of_store(folder) if homes.listed else None
    if project is not None and (project.store != folder or _is_ours(project)):
        moved = (f"the store in {folder} has moved to {project.store}",)
        told = moved if project.store != folder else ()
        return _at(project, cwd, homes, chosen=True, notices=told)
    inside, holds = _in_a_work_tree(folder), _holds_a_store(folder)
    record = None if inside else record_of(folder)
    if record is not None:
        found = _at(record._replace(store=folder), cwd, homes, chosen=True)
        return found._replace(project=None, git_dir=None)
    old = folder if holds and inside else None
    root = folder.parent if folder.name == DIR_NAME and holds else project_root(cwd)
    return StorePlace(homes, folder, root, name_of(root), chosen=True, old=old)


def _of_project(cwd: Path, homes: Homes) -> StorePlace:
    index = homes.need_index()
    data = homes.data or index.path.parent
    git_dir, root = common_git_folder(cwd), project_root(cwd)
    notices: list[str] = []
    project = _by_id(index, git_dir, root, notices) if git_dir else index.around(cwd)
    if project is not None:
        return _at(project, cwd, homes, notices=tuple(notices))
    folder = _free(data / _unique(git_dir or root, root.name), index, git_dir, notices)
    if (record := record_of(folder)) and git_dir and git_id(git_dir) == record.id:
        # Both ends of the entry are there, only the list was lost.
        with index.change() as known:
            found = record._replace(root=root, git_dir=git_dir, store=folder)
            known[found.id] = found
        told = f"the list of your projects had lost {root}; its store is {folder}"
        return _at(found, cwd, homes, notices=(*notices, told))
    old = _old(cwd, root)
    return StorePlace(
        homes, folder, root, name_of(root), git_dir=git_dir, old=old, notices=tuple(notices)
    )


def _by_id(index: Index, git_dir: Path, root: Path, notices: list[str]) -> ProjectEntry | None:
    """The project with the id in this git directory, if the index agrees that it is here."""
    known, own = index.projects(), git_id(git_dir)
    project = known.get(own or "")
    if project is None:
        if earlier := index.at(git_dir):
            notices.append(
                f"an earlier repository in {root} had the store {earlier.store}; "
                f"`longhouse project adopt {earlier.id[:8]}` connects it to this one"
            )
        return None
    if project.git_dir == git_dir:
        return project
    if project.is_here:
        notices.append(f"{root} is a copy of {project.root}; it gets a store of its own")
        return None
    roots = tuple(dict.fromkeys((*project.earlier_roots, project.root)))
    moved = project._replace(root=root, git_dir=git_dir, earlier_roots=roots)
    with suppress(StoreUnusable):  # in a sandbox; the next command outside it follows
        with index.change() as listed:
            listed[moved.id] = moved
        write_record(moved)
    notices.append(f"this project moved from {project.root} to {root}; its store followed")
    return moved


def _at(
    project: ProjectEntry,
    cwd: Path,
    homes: Homes,
    *,
    chosen: bool = False,
    notices: tuple[str, ...] = (),
) -> StorePlace:
    """The place of a project's store, for a caller who may be elsewhere."""
    here, workspace = project_root(cwd), project.workspace
    root = project.root if project.root.is_dir() else here
    twin = None
    if chosen and here != root and (here / ".git").exists():
        visitor = name_of(here)
        twin = here if visitor == workspace or not _named_first(project, visitor, here) else None
        workspace = visitor
        notices += (f"the store in {project.store} belongs to {root}",)
    return StorePlace(
        homes,
        project.store,
        root,
        workspace,
        project=project,
        chosen=chosen,
        git_dir=project.git_dir,
        notices=notices,
        twin=twin,
    )


def _named_first(project: ProjectEntry, name: str, here: Path) -> bool:
    """Whether no other repository that uses this store has the same name; the first one keeps it.

    A repository that is gone gives its name up.
    """
    path = project.store / VISITORS
    first = _visitors(path).get(name)
    if first != str(here) and not _lives(first):
        with suppress(OSError), _alone(path):  # a store that cannot be written yet, or a sandbox
            known = _visitors(path)  # two that come at once do not forget each other
            first = known.get(name)
            if first != str(here) and not _lives(first):
                first = str(here)
                write_private(path, json.dumps({**known, name: first}).encode() + b"\n")
    return first == str(here) or not _lives(first)


def _visitors(path: Path) -> dict[str, object]:
    try:
        known = json.loads(read_private(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _lives(root: object) -> bool:
    return isinstance(root, str) and (Path(root) / ".git").exists()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock of a file; raises OSError where there can be none."""
    lock = open_private(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_ours(project: ProjectEntry) -> bool:
    """Whether the store was made here: its own record has the id that the index lists."""
    record = record_of(project.store)
    return (record is not None and record.id == project.id) or not _in_a_work_tree(project.store)


def _holds_a_store(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in ("longhouse.db", "token"))


def _in_a_work_tree(folder: Path) -> bool:
    return (worktree_root(folder.parent) / ".git").exists()


def _old(cwd: Path, root: Path) -> Path | None:
    """A store in the work tree, where earlier versions kept theirs; outside git, the nearest."""
    around = (root,) if (root / ".git").exists() else (cwd, *cwd.parents)
    found = (folder / DIR_NAME for folder in around)
    return next((at for at in found if _holds_a_store(at) and _own(at)), None)


def _own(folder: Path) -> bool:
    """Whether the folder is this user's; anyone could leave one in /tmp."""
    try:
        return folder.is_dir() and folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _unique(path: Path, name: str = "") -> str:
    """A folder name that differs for each path."""
    import hashlib  # few calls need it

    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    return f"{name_of(Path(name))[:40]}-{digest}" if name else digest


def _free(wanted: Path, index: Index, git_dir: Path | None, notices: list[str]) -> Path:
    """The folder for a new store: `wanted`, unless it holds the store of another project."""
    taken = {one.store for one in index.projects().values()}
    own = git_id(git_dir) if git_dir else None
    for number in range(1, 1000):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        if folder in taken:
            continue
        if not _holds_a_store(folder):
            return folder
        record = record_of(folder)
        if record is not None and record.id == own:
            return folder
        notices.append(
            f"{folder} holds a store that no project has; `longhouse project adopt {folder}` "
            "connects it to this one"
        )
    raise StoreUnusable(f"{wanted.parent} is full of stores that no project has")


def _is_writable(folder: Path) -> bool:
    """Whether a file can be made in the folder; asking is not enough, as some sandboxes lie."""
    at = next(one for one in (folder, *folder.parents) if one.exists())
    path = at / f".reach-{os.getpid()}"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        path.unlink()
    except OSError:
        return False
    return True


def _refuse_unfit(folder: Path, root: Path, homes: Homes) -> None:
    """Refuse to make a store where it would be lost, corrupted or in an agent's reach."""
    if homes.is_ci:
        raise StoreUnusable(
            "CI is set: a continuous-integration service throws its home directory away",
            recovery=_ELSEWHERE,
        )
    if folder.is_relative_to(root):
        raise StoreUnusable(
            f"{folder} is inside {root}, where agents could change it",
            recovery=f"set XDG_DATA_HOME to a folder outside it, or {_ELSEWHERE}",
        )
    kind = _file_system(folder)
    if kind.removeprefix("fuse.").startswith(_NETWORK):
        raise StoreUnusable(
            f"{folder} would be on a network file system ({kind}), where SQLite loses data",
            recovery=f"set XDG_DATA_HOME to a local folder, or {_ELSEWHERE}",
        )


def _file_system(folder: Path) -> str:
    """The kind of file system that a folder is or will be on; "" if the system does not tell."""
    best, kind = "", ""
    with suppress(OSError):
        text = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        for line in text.splitlines():
            _, at, found, *_ = line.split(" ")
            at = at.replace("\\040", " ")
            if len(at) >= len(best) and folder.is_relative_to(at):
                best, kind = at, found
    return kind
