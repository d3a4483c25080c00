"""Scopes: file paths that agents reserve, in one normal form, and how two of them overlap.

Every comparison (reserve, takeover, incursion, adoption) goes through `normalise` and `overlap`.
`src/*` and `src/**` mean everything below `src`; no other glob is interpreted. Nothing here
touches the file system: links are resolved by whoever can see it.
"""

from __future__ import annotations

import re
from typing import Literal

from longhouse.crew.errors import ScopeOutsideProject
from longhouse.crew.facts import CrewFacts
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Value
from longhouse.store.tx import Tx

__all__ = ["FileScope", "Overlap", "ancestors", "normalise", "overlap", "resolve", "scope_in"]

Overlap = Literal["exact", "partial", "disjoint"]

_DRIVE = re.compile(r"[A-Za-z]:(?=[/\\]|\Z)")
_WHOLE = re.compile(r"[/\\]\**")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class FileScope(Value, frozen=True, kw_only=True):
    """An absolute path whose `/` is the root of the project, and whether it means what lies below.

    So one file has one scope in every worktree and clone, on every host.
    """

    path: str
    below: bool

    def __str__(self) -> str:
        """As one writes it: relative to the root, `/` for the whole project."""
        if self.path == "/":
            return "/*" if self.below else "/"
        return self.path[1:] + ("/*" if self.below else "")


def normalise(text: str, *, root: str, seen_from: str | None = None) -> FileScope:
    """The scope that `text` means to a caller whose checkout is `seen_from` (else the `root`).

    Relative paths start at the checkout; absolute ones must lie in it or in the project. `/` alone
    means the whole project.
    """
    written = text.strip()
    if not written or _CONTROL.search(written):
        raise InvalidInput(
            "scope: expected a path without control characters; fix: scope=src/*",
            recovery="name a file or folder of the project",
        )
    windows = bool(_DRIVE.match(root)) or root.startswith("\\\\")
    base, here = resolve(root, "/"), resolve(seen_from or root, "/")
    full = here + written.replace("\\", "/") if _WHOLE.fullmatch(written) else written
    starred = resolve(full, here)
    full = starred.rstrip("*")
    below = full != starred
    full = resolve(full, "/")
    if windows:
        base, here, full = base.lower(), here.lower(), full.lower()
    for folder in (here, base):
        inside = folder.rstrip("/") + "/"
        if full == folder or full.startswith(inside):
            return FileScope(path="/" + full[len(inside) :], below=below)
    raise ScopeOutsideProject(f"scope: {text[:200]!r} lies outside the project {root!r}")


def scope_in(tx: Tx, text: str, checkout: str | None) -> FileScope:
    """The scope that `text` means in this house; a star that looks like more earns a warning."""
    scope = normalise(text, root=tx.facts.of(CrewFacts).project_root, seen_from=checkout)
    bare = text.strip().replace("\\", "/").rstrip("/").rstrip("*")
    if "*" in bare or (scope.below and bare and not bare.endswith("/")):
        tx.warn(
            "GLOB_NOT_INTERPRETED",
            f"scope: {text[:200]!r} is taken as {str(scope)!r}",
            "a star stands for everything below a folder, as in src/*, and only at the end",
        )
    return scope


def resolve(path: str, base: str) -> str:
    """An absolute path with `/` between its parts, without `.`, `..` and slashes at its end."""
    path = path.replace("\\", "/")
    if not path.startswith("/") and not _DRIVE.match(path):
        path = f"{base}/{path}"
    drive = _DRIVE.match(path)
    head = drive[0] if drive else ""
    parts: list[str] = []
    for part in path[len(head) :].split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return f"{head}/{'/'.join(parts)}"


def overlap(a: FileScope, b: FileScope) -> Overlap:
    """`exact` when they mean the same, `partial` when one lies in the other, else `disjoint`."""
    if a.path == b.path:
        return "exact" if a.below == b.below else "partial"
    shorter, longer = sorted((a.path, b.path), key=len)
    return "partial" if longer.startswith(shorter.rstrip("/") + "/") else "disjoint"


def ancestors(path: str) -> list[str]:
    """The path and every folder above it, up to the root of the project."""
    found = [path]
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        found.append(path)
    return found
