"""Changes one file of somebody else, whole or not at all."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from longhouse.kernel.errors import Conflict, InvalidInput

__all__ = ["CannotEdit", "Edit", "FileChange", "apply", "plan"]

Edit = Callable[[str], str]
"""From the text of a file to what it should be; an empty text stands for no file."""

_TRIES = 5


class CannotEdit(InvalidInput):
    """A client's file is not what it should be, and is left alone."""

    code = "CANNOT_EDIT"


class FileChange(NamedTuple):
    """A file before and after; None where there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def word(self) -> str:
        if self.before == self.after:
            return "unchanged" if self.before is not None else "not there"
        if self.before is None:
            return "created"
        return "updated" if self.after is not None else "removed"

    def diff(self) -> list[str]:
        old, new = (self.before or "").splitlines(), (self.after or "").splitlines()
        shown = difflib.unified_diff(old, new, str(self.path), str(self.path), lineterm="")
        return list(shown)


def plan(path: Path, edit: Edit) -> FileChange:
    """What the edit would make of the file."""
    before = _read(path)
    after: str | None
    try:
        after = edit(before or "")
    except CannotEdit as error:
        raise CannotEdit(f"{path}: {error.message}", recovery=error.recovery) from None
    if not after.strip() and (before is None or before.strip()):
        after = None
    return FileChange(path, before, after)


def apply(path: Path, edit: Edit) -> FileChange:
    """Carry the edit out; a client that writes at the same moment is not overwritten."""
    for _ in range(_TRIES):
        change = plan(path, edit)
        if change.before == change.after or _replace(change):
            return change
    raise Conflict(f"{path} keeps changing", recovery="close the client, then repeat")


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise CannotEdit(f"{path}: not UTF-8", recovery="mend it, then repeat") from None
    except OSError as error:
        raise CannotEdit(
            f"{path} cannot be read: {error.strerror}", recovery="mend it, then repeat"
        ) from None


def _replace(change: FileChange) -> bool:
    """One step, through links to the file that they mean; False when it changed meanwhile."""
    path = Path(os.path.realpath(change.path))
    fresh = path.with_name(f".{path.name}.longhouse-{os.getpid()}")
    try:
        if change.after is None:
            if _read(path) != change.before:
                return False
            path.unlink()
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(change.after.encode())
        if change.before is not None:
            fresh.chmod(path.stat().st_mode & 0o7777)
        if _read(path) != change.before:
            return False
        fresh.replace(path)
    except OSError as error:
        raise CannotEdit(
            f"{change.path} cannot be written: {error.strerror}",
            recovery="see who may write there, or use the other --scope",
        ) from None
    finally:
        fresh.unlink(missing_ok=True)
    return True
