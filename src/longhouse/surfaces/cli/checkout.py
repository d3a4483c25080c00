"""What only someone who stands in the working tree can see: links, and uncommitted changes.

The server decides about scopes and never looks at files; this resolves links before it is asked.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["changed_files", "checkout_root", "place"]

MOST_FILES = 500


def checkout_root(cwd: Path | None = None) -> Path:
    """The root of the worktree that one stands in, linked or not; outside of git, where one is."""
    here = Path.cwd() if cwd is None else cwd
    found = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return Path(os.path.realpath(found))


def place(scope: str | None) -> dict[str, Any]:
    """A scope with its links resolved, and the checkout it is seen from.

    Paths start at the root of the checkout, wherever in it one stands; `./x` and `../x` start here.
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
    # "/" alone means the project to the server; the root of the file system lies outside of it.
    return {**given, "scope": ("/." if path == "/" else path) + joined + stars}


def changed_files(scope: str | None = None) -> list[str]:
    """Files with uncommitted changes, from the root of the checkout on; none where git has none."""
    words = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all"]
    if scope is not None:
        path = str(place(scope)["scope"]).rstrip("*").rstrip("/") or "."
        words += ["--", f":(top,literal){path}" if not path.startswith("/") else path]
    printed = _git(checkout_root(), words)
    fields = iter(printed.decode("utf-8", "replace").split("\0"))
    found = []
    for field in fields:
        if len(field) > 3:
            found.append(field[3:])
            if "R" in field[:2] or "C" in field[:2]:
                next(fields, None)  # where it was before
    return [path for path in found if path.isprintable() and len(path) <= 1000][:MOST_FILES]


def _git(root: Path, words: list[str]) -> bytes:
    """What git says of the checkout, in which it starts no program; nothing where there is none."""
    from longhouse.runner.git import FAILED, beside

    with tempfile.TemporaryDirectory(prefix="longhouse-") as folder:
        try:
            return beside(Path(folder) / "git", root).git(*words)
        except FAILED:
            return b""
