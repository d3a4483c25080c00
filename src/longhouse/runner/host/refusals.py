"""What the host refuses in a request to start a task: a name or a folder that is not allowed."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.config import is_other_repository

__all__ = ["HostRefused", "checked_name", "open_folder"]

_NAME = re.compile(r"[A-Z]+-[0-9]{1,16}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class HostRefused(Exception):
    """The host refused a request; the text says why, and `later` that it may not the next time."""

    def __init__(self, why: str, *, later: bool = False) -> None:
        super().__init__(why)
        self.later = later


def checked_name(asked: dict[str, Any]) -> str:
    """The id of the task in a request; it becomes a path, so nothing else is allowed."""
    name = asked.get("task")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise HostRefused(f"{name!r} is not a task id")
    return name


def open_folder(root: str, path: str) -> int:
    """A descriptor of a folder below `root`, reached without symbolic links; or HostRefused."""
    parts = Path(path).parts
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise HostRefused(f"cwd {path!r} is outside the workspace")
    try:
        folder = os.open(root, _FOLDER)
    except OSError as error:
        raise HostRefused(f"workspace folder {root}: {error.strerror}") from error
    for part in parts:
        try:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        except OSError as error:
            is_link = False
            with suppress(OSError):
                about = os.stat(part, dir_fd=folder, follow_symlinks=False)
                is_link = stat.S_ISLNK(about.st_mode)
            why = "goes through a symbolic link" if is_link else (error.strerror or "").lower()
            raise HostRefused(f"cwd {path!r}: {why}") from error
        finally:
            os.close(folder)
        folder = below
    if parts and _is_foreign(root, folder):
        os.close(folder)
        raise HostRefused(f"cwd {path!r} belongs to another repository than {root}")
    return folder


def _is_foreign(root: str, folder: int) -> bool:
    """Whether the opened folder, wherever it is by now, belongs to a repository outside `root`."""
    try:
        return is_other_repository(Path(root), Path(f"/proc/self/fd/{folder}").readlink())
    except OSError:  # without /proc no program is started either
        return True
