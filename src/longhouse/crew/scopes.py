"""Scopes: file paths that agents reserve, in one normal form, and how two of them overlap.

Every comparison (reserve, takeover, incursion, adoption) goes through `normalise` and `overlap`.
`src/*` and `src/**` mean everything below `src`; every other `*` and any `?` is refused, because an
unsupported pattern would protect nothing. `[` and `{` are ordinary characters. One file has one
scope however it is spelled: composed Unicode, no invisible characters, and case-folded if the
project's file system is case-insensitive. Nothing here touches the file system: callers that can
see it resolve links.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from longhouse.crew.errors import ScopeNotUnderstood, ScopeOutsideProject
from longhouse.crew.facts import CrewFacts
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Value
from longhouse.store.tx import Tx

__all__ = ["FileScope", "Overlap", "ancestors", "normalise", "overlap", "resolve", "scope_in"]

Overlap = Literal["exact", "partial", "disjoint"]

_DRIVE = re.compile(r"[A-Za-z]:(?=[/\\]|\Z)")
_WHOLE = re.compile(r"[/\\]\*{0,2}")
_BELOW = re.compile(r"(?:\A|(?<=[/\\]))\*\*?/?\Z")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class FileScope(Value, frozen=True, kw_only=True):
    """An absolute path whose `/` is the project root, and whether it means only what is below it.

    A file therefore has the same scope in every worktree and clone, on every host.
    """

    path: str
    below: bool

    def __str__(self) -> str:
        """As users write it: relative to the root, `/` for the whole project."""
        if self.path == "/":
            return "/*" if self.below else "/"
        return self.path[1:] + ("/*" if self.below else "")

    @classmethod
    def of(cls, text: str) -> FileScope:
        """The scope that is written so."""
        return cls(path="/" + text.removesuffix("/*").removeprefix("/"), below=text.endswith("/*"))


def normalise(
    text: str,
    *,
    root: str,
    seen_from: str | None = None,
    folds_case: bool = False,
    literal: bool = False,
) -> FileScope:
    """The scope that `text` means to a caller whose checkout is `seen_from` (else the `root`).

    Relative paths start at the checkout; absolute ones must be inside it or the project. `/` alone
    means the whole project. A `literal` path names a file, so `*` and `?` are ordinary characters.
    """
    written = text.strip()
    if not written or any(unicodedata.category(char) in _INVISIBLE for char in written):
        raise InvalidInput(
            "scope: expected a path without control or invisible characters; fix: scope=src/*",
            recovery="name a file or folder in the project",
        )
    below = not literal and bool(_BELOW.search(written))
    bare = _BELOW.sub("", written) if below else written
    if not literal and ("*" in bare or "?" in bare):
        raise ScopeNotUnderstood(
            f"scope: the pattern {text[:200]!r} is not supported",
        )
    windows = bool(_DRIVE.match(root)) or root.startswith("\\\\")
    base, here = resolve(root, "/"), resolve(seen_from or root, "/")
    full = here if _WHOLE.fullmatch(written) else resolve(bare or ".", here)
    base, here = (unicodedata.normalize("NFC", path) for path in (base, here))
    full = unicodedata.normalize("NFC", full)
    if windows:
        full = "/".join(part.rstrip(" .") or part for part in full.split("/"))
    if windows or folds_case:
        base, here, full = (_folded(path) for path in (base, here, full))
    for folder in (here, base):
        inside = folder.rstrip("/") + "/"
        if full == folder or full.startswith(inside):
            return FileScope(path="/" + full[len(inside) :], below=below)
    raise ScopeOutsideProject(f"scope: {text[:200]!r} is outside the project {root!r}")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())


def scope_in(tx: Tx, text: str, checkout: str | None, *, literal: bool = False) -> FileScope:
    """The scope that `text` means in this house's project."""
    facts = tx.facts.of(CrewFacts)
    return normalise(
        text,
        root=facts.project_root,
        seen_from=checkout,
        folds_case=facts.folds_case,
        literal=literal,
    )


def resolve(path: str, base: str) -> str:
    """The absolute path with `/` separators, without `.`, `..` or trailing slashes."""
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
    """`exact` if they are equal, `partial` if one is inside the other, else `disjoint`."""
    if a.path == b.path:
        return "exact" if a.below == b.below else "partial"
    shorter, longer = sorted((a.path, b.path), key=len)
    return "partial" if longer.startswith(shorter.rstrip("/") + "/") else "disjoint"


def ancestors(path: str) -> list[str]:
    """The path and every folder above it, up to the project root."""
    found = [path]
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        found.append(path)
    return found
