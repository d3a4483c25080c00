"""Control groups: the kernel counts the processes of a tree and enforces a limit.

Groups can be created if this process runs in a control group delegated to it, or in a subgroup of
one (systemd's `DelegateSubgroup`). Otherwise there are none, and the owner of a tree must count
processes itself. Leftover groups are removed once their owner and their processes are gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from longhouse.supervisor import guard

__all__ = ["ControlGroup", "ControlGroups"]

_NAME = re.compile(r"longhouse\.(\d+)\.(\d+)\..+")
_DELEGATED = ("user.delegate", "trusted.delegate")
"""How systemd marks the groups it has delegated."""
_SYSTEMD = Path("/run/systemd/system")


class ControlGroup:
    """The processes of one tree; threads count too."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def limit(self, most: int) -> None:
        """Allow at most this many; existing processes stay even if there are more."""
        (self.path / "pids.max").write_text(str(most), encoding="ascii")

    def add(self, pid: int) -> None:
        """Add a process, and with it everything it starts from now on."""
        (self.path / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def pids(self) -> set[int]:
        with suppress(OSError):
            return {int(pid) for pid in (self.path / "cgroup.procs").read_text().split()}
        return set()

    @property
    def was_full(self) -> bool:
        """Whether the kernel ever refused it another process."""
        with suppress(OSError):
            words = (self.path / "pids.events").read_text(encoding="ascii").split()
            return words[words.index("max") + 1] != "0"
        return False

    def remove(self) -> None:
        """Remove the group, unless there are still processes in it."""
        with suppress(OSError):
            self.path.rmdir()


class ControlGroups:
    """A folder in which groups can be created."""

    def __init__(self, base: Path) -> None:
        self.base = base
        me = guard.process(os.getpid())
        self._prefix = f"longhouse.{os.getpid()}.{me[3] if me else 0}"
        for path in base.glob("longhouse.*"):
            owner = _NAME.fullmatch(path.name)
            if owner and not guard.lives(int(owner[1]), int(owner[2])):
                ControlGroup(path).remove()

    @classmethod
    def find(cls, about: Path = Path("/proc/self")) -> ControlGroups | None:
        """The group delegated to this process, as described in `about`; None if there is none."""
        try:
            return next((cls(base) for base in _places(about) if _can_divide(base)), None)
        except OSError:
            return None

    def make(self, name: str, most: int) -> ControlGroup | None:
        """A group for a tree of at most `most`; None if it cannot be created."""
        group = ControlGroup(self.base / f"{self._prefix}.{name}")
        try:
            group.path.mkdir(exist_ok=True)
            group.limit(most)
        except OSError:
            group.remove()
            return None
        return group


def _places(about: Path) -> Iterator[Path]:
    """The folders of this process's group and of its parent group, but never the root."""
    own: dict[str, PurePosixPath] = {}
    for line in _lines(about / "cgroup"):
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), PurePosixPath(path))
    for line in _lines(about / "mountinfo"):
        place, _, system = line.partition(" - ")
        root, mounted = place.split()[3:5]
        kind, *_, options = system.split()  # the source in between may be empty or several words
        if kind != "cgroup2" and not (kind == "cgroup" and "pids" in options.split(",")):
            continue
        mine = own.get("" if kind == "cgroup2" else "pids", PurePosixPath(root))
        for group in (mine, mine.parent):
            if group != PurePosixPath(root) and group.is_relative_to(root):
                yield Path(mounted) / group.relative_to(root)


def _lines(file: Path) -> list[str]:
    """The lines of a kernel file; paths in it may contain any bytes except a newline."""
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    return [line for line in text.split("\n") if line]


def _can_divide(folder: Path) -> bool:
    """Whether groups that limit processes may and can be created below this one."""
    if not all(os.access(folder / name, os.W_OK) for name in (".", "cgroup.procs")):
        return False
    if _SYSTEMD.is_dir() and not _is_marked(folder):
        return False
    handed_on = folder / "cgroup.subtree_control"
    if not handed_on.exists():
        return True  # cgroup v1 needs no subtree control
    try:
        if (folder / "cgroup.procs").read_text(encoding="ascii").strip():
            return False  # in v2 a group with processes cannot enable controllers for its children
        if "pids" not in handed_on.read_text(encoding="ascii").split():
            handed_on.write_text("+pids", encoding="ascii")
    except OSError:  # the controller is not available here
        return False
    return True


def _is_marked(folder: Path) -> bool:
    for name in _DELEGATED:
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False
