"""Control groups: the kernel counts what a tree has, and lets it have no more.

A group can be made where this process was put into one that was delegated to it, or beside it into
a part of one (systemd's `DelegateSubgroup`). Elsewhere there are none, and the owner of a tree has
to count for itself. A group that nobody took away is, once its owner and its processes are gone.
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
"""How systemd marks what it leaves alone."""
_SYSTEMD = Path("/run/systemd/system")


class ControlGroup:
    """The processes of one tree; threads count as well."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def limit(self, most: int) -> None:
        """Let it have so many and no more; those that are there already stay."""
        (self.path / "pids.max").write_text(str(most), encoding="ascii")

    def add(self, pid: int) -> None:
        """Take a process in, with all that it starts from now on."""
        (self.path / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def pids(self) -> set[int]:
        with suppress(OSError):
            return {int(pid) for pid in (self.path / "cgroup.procs").read_text().split()}
        return set()

    @property
    def was_full(self) -> bool:
        """Whether it was ever refused one more."""
        with suppress(OSError):
            words = (self.path / "pids.events").read_text(encoding="ascii").split()
            return words[words.index("max") + 1] != "0"
        return False

    def remove(self) -> None:
        """Take the group away, unless something is left in it."""
        with suppress(OSError):
            self.path.rmdir()


class ControlGroups:
    """Where groups can be made."""

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
        """The place that was delegated to this process, of which `about` tells; None without."""
        try:
            return next((cls(base) for base in _places(about) if _can_divide(base)), None)
        except OSError:
            return None

    def make(self, name: str, most: int) -> ControlGroup | None:
        """A group for a tree that may have so many; None if the kernel makes none."""
        group = ControlGroup(self.base / f"{self._prefix}.{name}")
        try:
            group.path.mkdir(exist_ok=True)
            group.limit(most)
        except OSError:
            group.remove()
            return None
        return group


def _places(about: Path) -> Iterator[Path]:
    """The folders of the group of this process and of the one around it, but never the root."""
    own: dict[str, PurePosixPath] = {}
    for line in _lines(about / "cgroup"):
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), PurePosixPath(path))
    for line in _lines(about / "mountinfo"):
        place, _, system = line.partition(" - ")
        root, mounted = place.split()[3:5]
        kind, *_, options = system.split()  # the source between them may be empty, or many words
        if kind != "cgroup2" and not (kind == "cgroup" and "pids" in options.split(",")):
            continue
        mine = own.get("" if kind == "cgroup2" else "pids", PurePosixPath(root))
        for group in (mine, mine.parent):
            if group != PurePosixPath(root) and group.is_relative_to(root):
                yield Path(mounted) / group.relative_to(root)


def _lines(file: Path) -> list[str]:
    """The lines of a file of the kernel, which may name paths of any bytes but a line's end."""
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    return [line for line in text.split("\n") if line]


def _can_divide(folder: Path) -> bool:
    """Whether groups that limit processes may be made below this one, and can be."""
    if not all(os.access(folder / name, os.W_OK) for name in (".", "cgroup.procs")):
        return False
    if _SYSTEMD.is_dir() and not _is_marked(folder):
        return False
    handed_on = folder / "cgroup.subtree_control"
    if not handed_on.exists():
        return True  # of the first version, where groups need not be told
    try:
        if (folder / "cgroup.procs").read_text(encoding="ascii").strip():
            return False  # groups below one that has processes of its own can have none
        if "pids" not in handed_on.read_text(encoding="ascii").split():
            handed_on.write_text("+pids", encoding="ascii")
    except OSError:  # it has none to hand on
        return False
    return True


def _is_marked(folder: Path) -> bool:
    for name in _DELEGATED:
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False
