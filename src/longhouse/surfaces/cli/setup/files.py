"""Edits a file that belongs to another program, atomically."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from longhouse.kernel.errors import Conflict, InvalidInput, is_full

__all__ = ["CannotEdit", "Edit", "FileChange", "apply", "plan"]

Edit = Callable[[str], str]
"""Maps a file's text to its new text; an empty text means no file."""

_TRIES = 5


class CannotEdit(InvalidInput):
    """A client's settings file is not in the expected form, and is left alone."""

    code = "CANNOT_EDIT"


class FileChange(NamedTuple):
    """A file before and after an edit; None means no file."""

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
    """What the edit would change, without changing it."""
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
    """Apply the edit, without overwriting what a client writes at the same moment."""
    for _ in range(_TRIES):
        change = plan(path, edit)
        if change.before == change.after or _replace(change):
            return change
    raise Conflict(f"{path} keeps changing", recovery="close the client, then try again")


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise CannotEdit(f"{path}: not UTF-8", recovery="fix the file, then try again") from None
    except OSError as error:
        raise CannotEdit(
            f"{path} cannot be read: {error.strerror}",
            recovery="make it readable, then try again",
        ) from None


def _replace(change: FileChange) -> bool:
    """Replace the file atomically, following links; False if it changed in the meantime."""
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
            recovery="free up space, then run it again"
            if is_full(error)
            else "check its permissions, or use the other --scope",
        ) from None
    finally:
        fresh.unlink(missing_ok=True)
    return True
