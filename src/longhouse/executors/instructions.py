"""Reads a repository's instruction files as text, for agents whose clients are told not to.

A client that trusts a folder enough to read its AGENTS.md or CLAUDE.md also starts the programs
that the folder names. So clients trust nothing, and are given the text. It is read outside any
sandbox: only regular files inside the work tree, never through a link that leaves it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from longhouse.config import worktree_root
from longhouse.executors.inside import NotTaken, open_inside

__all__ = ["MOST_BYTES", "SUFFIXES", "beside", "imports_of", "instructions"]

MOST_BYTES = 32_768
"""As much as Codex itself would read; the rest is named, so that the agent can read it."""
MOST_IMPORTS = 20
SUFFIXES = (".md", ".mdc", ".txt")
"""How the names of instruction files end."""
_HEAD = """\
# Instructions of this repository
They come from its files. The job, and what Longhouse says about the answer, come first. \
If a folder that you work in has its own {names}, read it before you change something there."""


def instructions(cwd: Path, *choices: tuple[str, ...], hidden: tuple[Path, ...] = ()) -> str:
    """The instruction files from the top of the work tree down to `cwd`; empty if there are none.

    In each folder, the first file that exists of each choice is taken; never one in `hidden`.
    """
    cwd = cwd.resolve()
    top = worktree_root(cwd)
    texts = _Texts(top, hidden)
    for folder in reversed([one for one in (cwd, *cwd.parents) if one.is_relative_to(top)]):
        for names in choices:
            any(texts.take(os.path.relpath(folder / name, top)) for name in names)
    if not texts.found:
        return ""
    return "\n\n".join([_HEAD.format(names=" or ".join(choices[0])), *texts.found])


class _Texts:
    """The texts found so far, at most MOST_BYTES in all."""

    def __init__(self, top: Path, hidden: tuple[Path, ...]) -> None:
        self._top = top
        self._hidden = hidden
        self._left = MOST_BYTES
        self._seen: set[str] = set()
        self.found: list[str] = []

    def take(self, name: str) -> bool:
        """Take a file and what it imports; whether there is one."""
        if name in self._seen:
            return True
        text = self._read(name)
        if text is None:
            return False
        self._seen.add(name)
        self.found.append(f"## {name}\n{text.strip()}")
        for imported in imports_of(text):
            if len(self._seen) < MOST_IMPORTS:
                self.take(beside(name, imported))
        return True

    def _read(self, name: str) -> str | None:
        """Its text; None if it is missing, empty, or no file of this work tree."""
        for spell in (str, self._target):
            with suppress(NotTaken, OSError, ValueError):
                with os.fdopen(self._open(spell(name)), "rb") as file:
                    data = file.read(self._left + 1)
                cut = len(data) > self._left
                data = data[: self._left]
                self._left -= len(data)
                text = data.decode("utf-8", "replace").replace("\0", "")
                if not text.strip():
                    return f"[not shown here; read {name}]" if cut else None
                return f"{text}\n[cut here; read the rest in {name}]" if cut else text
        return None

    def _open(self, name: str) -> int:
        """Only prose: an import or a link could also name `.env`."""
        if not name.casefold().endswith(SUFFIXES):
            raise NotTaken(f"{name} is no instruction file")
        return open_inside(self._top, name, never=self._hidden)

    def _target(self, name: str) -> str:
        """Where a link of the work tree points, as often `CLAUDE.md -> AGENTS.md`."""
        return beside(name, (self._top / name).readlink())


def beside(name: str, other: str | Path) -> str:
    """`other`, as a file in the same folder would name it."""
    return os.path.normpath(Path(name).parent / other)


def imports_of(text: str) -> Iterator[str]:
    """The paths in lines like `@docs/style.md`, which Claude Code takes for the file's text."""
    for line in text.splitlines():
        word = line.strip()
        if word.startswith("@") and len(word) > 1 and " " not in word and not word.startswith("@~"):
            yield word[1:]
