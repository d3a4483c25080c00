"""What only a process in the working tree can see: symbolic links and uncommitted changes.

The server decides about scopes without looking at files, so links are resolved here first.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

__all__ = ["changed_files", "checkout_root", "place", "uncommitted_files"]

MOST_FILES = 500


def checkout_root(cwd: Path | None = None) -> Path:
    """The root of the current worktree, linked or not; outside git, the current folder."""
    here = Path.cwd() if cwd is None else cwd
    found = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return Path(os.path.realpath(found))


def place(scope: str | None) -> dict[str, Any]:
    """A scope with its links resolved, and the checkout it belongs to.

    Paths are relative to the checkout's root, except `./x` and `../x`, which are relative to the
    current folder.
    """
    root = checkout_root()
    given: dict[str, Any] = {"root": str(root)}
    if scope is None:
        return given
    written = scope.strip().replace("\\", "/")
    bare = written.rstrip("*")
    if bare in ("", "/"):
        return {**given, "scope": written or scope}
    base = Path.cwd() if bare.startswith(("./", "../")) or bare in (".", "..") else root
    stars = written[len(bare) :]
    joined = "/" if stars and bare.endswith("/") else ""
    path = os.path.realpath(base / bare)
    # To the server "/" means the project, so the file system's root is sent as "/.".
    return {**given, "scope": ("/." if path == "/" else path) + joined + stars}


def changed_files(scope: str | None = None) -> list[str]:
    """The first files with uncommitted changes, as evidence, without unprintable names.

    Empty if git fails.
    """
    from longhouse.git import FAILED

    try:
        found = uncommitted_files(scope)
    except FAILED:
        return []
    return [path for path in found if path.isprintable() and len(path) <= 1000][:MOST_FILES]


def uncommitted_files(scope: str | None = None) -> list[str]:
    """Files with uncommitted changes, relative to the checkout's root; may raise one of FAILED."""
    from longhouse.git import beside, folder_of_ours, uncommitted

    root, only = checkout_root(), "."
    if scope is not None:
        path = str(place(scope)["scope"]).rstrip("*").rstrip("/") or "."
        only = f":(top,literal){path}" if not path.startswith("/") else path
    with ExitStack() as opened:
        try:
            made = opened.enter_context(folder_of_ours(root))
        except OSError:  # our folder cannot be used: a temporary one is good enough here
            made = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        found = uncommitted(beside(made / "git", root), only)
    return [name.decode("utf-8", "replace") for name in found]
