"""The index of this user's projects: which project has its store where.

A store is trusted because this user's Longhouse made it here, and the index is the proof. A project
is a random id in the common git directory of a repository, which no clone brings along, and the id
counts only together with the index entry for that git directory. Outside git, the folder itself is
the project.

The index is below the home directory, and no variable but HOME moves it: some clients pass us only
that one, and a shell and a bridge must find the same store.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config.environment import home_folder
from longhouse.kernel.errors import StoreUnusable, is_full
from longhouse.kernel.private_files import open_private, read_private, write_private

__all__ = [
    "RECORD_NAME",
    "Index",
    "ProjectEntry",
    "git_id",
    "id_file",
    "name_of",
    "new_id",
    "record_of",
    "write_first_record",
    "write_id",
    "write_record",
]

INDEX_NAME = "projects.json"
RECORD_NAME = "project.json"
"""The file in a store's folder that says which project it was made for."""

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class ProjectEntry(NamedTuple):
    """One project of this user; all paths are absolute and free of links."""

    id: str
    root: Path
    """The main worktree; outside git, the folder."""
    git_dir: Path | None
    store: Path
    workspace: str
    """The default workspace, which keeps its name if the folder is renamed."""
    cache: Path
    formerly: tuple[Path, ...] = ()
    """Where the store was before; these still lead to it."""
    earlier_roots: tuple[Path, ...] = ()
    """Where the project was before; the user's settings may still name these."""
    moving: str = ""
    """The step at which a move of the store was interrupted, if any."""
    workspaces: tuple[str, ...] = ()
    """Further workspaces that the user bound to the project."""
    chosen: bool = False
    """Whether the user named the store's folder; then nothing leads to it but that name."""

    @property
    def is_here(self) -> bool:
        """Whether the project is still where the index says."""
        if self.git_dir is None:
            return self.root.is_dir()
        return git_id(self.git_dir) == self.id

    def shown(self) -> dict[str, Any]:
        """The project in JSON, as the index and a store's record hold it."""
        return {
            "id": self.id,
            "root": str(self.root),
            "git_dir": str(self.git_dir) if self.git_dir else None,
            "store": str(self.store),
            "workspace": self.workspace,
            "cache": str(self.cache),
            "formerly": [str(path) for path in self.formerly],
            "earlier_roots": [str(path) for path in self.earlier_roots],
            "moving": self.moving,
            "workspaces": list(self.workspaces),
            "chosen": self.chosen,
        }

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> ProjectEntry:
        """The project that `shown` described; raises LookupError, TypeError or ValueError."""
        git_dir = said.get("git_dir")
        found = cls(
            id=str(said["id"]),
            root=Path(said["root"]),
            git_dir=Path(git_dir) if git_dir else None,
            store=Path(said["store"]),
            workspace=str(said["workspace"]),
            cache=Path(said["cache"]),
            formerly=tuple(map(Path, said.get("formerly", ()))),
            earlier_roots=tuple(map(Path, said.get("earlier_roots", ()))),
            moving=str(said.get("moving", "")),
            workspaces=tuple(map(str, said.get("workspaces", ()))),
            chosen=said.get("chosen") is True,
        )
        paths = (found.root, found.store, found.cache, *found.formerly)
        if not _ID.fullmatch(found.id) or not all(path.is_absolute() for path in paths):
            raise ValueError
        return found


class Index:
    """The file that lists the projects; a missing one is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, environ: Mapping[str, str] | None = None) -> Index | None:
        """This user's index; None without a home directory."""
        home = home_folder(environ)
        return cls(home / ".config" / "longhouse" / INDEX_NAME) if home else None

    def projects(self) -> dict[str, ProjectEntry]:
        """Every project by its id."""
        try:
            listed = json.loads(read_private(self.path))["projects"]
            return {found.id: found for found in map(ProjectEntry.read, listed)}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreUnusable(
                f"{self.path}: your projects cannot be read: {error.strerror}",
                recovery="run Longhouse as the user who owns that file, or name a store with --dir",
            ) from error
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise StoreUnusable(
                f"{self.path}: your projects cannot be read: the file is damaged",
                recovery=f"restore it from a backup, or move it away and run "
                f"`longhouse project adopt STORE` in each project; the stores are unharmed: "
                f"mv {self.path} {self.path}.damaged",
            ) from error

    def at(self, git_dir: Path) -> ProjectEntry | None:
        """The project that was registered for this git directory, whatever its id is now."""
        known = self.projects().values()
        return next((one for one in known if one.git_dir == git_dir and not one.chosen), None)

    def of_store(self, store: Path) -> ProjectEntry | None:
        """The project whose store is, or was, in this folder."""
        known = self.projects().values()
        at = next((one for one in known if one.store == store), None)
        return at or next((one for one in known if store in one.formerly), None)

    def around(self, folder: Path) -> ProjectEntry | None:
        """The project outside git that contains the folder: the nearest one."""
        listed = self.projects().values()
        known = {one.root: one for one in listed if one.git_dir is None and not one.chosen}
        return next((known[at] for at in (folder, *folder.parents) if at in known), None)

    @contextmanager
    def change(self) -> Iterator[dict[str, ProjectEntry]]:
        """The projects, to be changed in place; written at the end, with others locked out."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = open_private(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self.projects()
            before = dict(known)
            yield known
            if known != before:
                listed = [one.shown() for one in known.values()]
                text = json.dumps({"version": 1, "projects": listed}, indent=1)
                try:
                    write_private(self.path, text.encode() + b"\n")
                except OSError as error:
                    raise self._unwritable(error) from error
        finally:
            os.close(lock)

    def _unwritable(self, error: OSError) -> StoreUnusable:
        if is_full(error):
            return StoreUnusable.full(self.path)
        return StoreUnusable(
            f"{self.path}: the list of your projects cannot be written: {error.strerror}",
            recovery="make your home directory writable, or name a store with --dir",
        )


def id_file(git_dir: Path) -> Path:
    """The file in a common git directory that contains the id of this user's project."""
    return git_dir / f"longhouse-project-{os.geteuid()}"


def git_id(git_dir: Path) -> str | None:
    """The id in a common git directory; None if there is none or it is no id."""
    try:
        text = read_private(id_file(git_dir)).decode("ascii", "replace").strip()
    except OSError:
        return None
    return text if _ID.fullmatch(text) else None


def record_of(store: Path) -> ProjectEntry | None:
    """The project that the store in this folder was made for, by its own record."""
    try:
        return ProjectEntry.read(json.loads(read_private(store / RECORD_NAME)))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def new_id() -> str:
    """A random id for a project."""
    return os.urandom(16).hex()


def name_of(root: Path) -> str:
    """The name of a project's folder as a workspace's name.

    A name outside ASCII keeps its letters apart from other names by a few digits of its digest.
    """
    plain = _NOT_IN_NAME.sub("-", root.name).strip("-._")[:128]
    if root.name.isascii():
        return plain or "default"
    import hashlib  # only the first use of a project needs it

    digest = hashlib.sha256(os.fsencode(root.name)).hexdigest()[:6]
    return f"{plain[:121]}-{digest}".lstrip("-")


def write_record(project: ProjectEntry) -> None:
    """Write the project into its store's folder and its id into its git directory."""
    text = json.dumps(project.shown(), indent=1).encode() + b"\n"
    write_private(project.store / RECORD_NAME, text)
    write_id(project)


def write_first_record(project: ProjectEntry) -> None:
    """Write the project into its store's folder, unless another process was first."""
    path = project.store / RECORD_NAME
    fresh = path.with_name(f".{RECORD_NAME}.{new_id()}")
    write_private(fresh, json.dumps(project.shown(), indent=1).encode() + b"\n")
    try:
        os.link(fresh, path)
    except FileExistsError:
        if record_of(project.store) is None:  # it is damaged
            fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_id(project: ProjectEntry) -> None:
    """Write the project's id into its git directory, if it has one."""
    if project.git_dir is None or git_id(project.git_dir) == project.id:
        return
    path = id_file(project.git_dir)
    try:
        write_private(path, project.id.encode() + b"\n")
    except OSError as error:
        if is_full(error):
            raise StoreUnusable.full(path) from error
        raise StoreUnusable(
            f"{path} cannot be written: {error.strerror}",
            recovery="make the git directory writable, or name a store with --dir",
        ) from error
