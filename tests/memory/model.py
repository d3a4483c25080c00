"""A simple, slow model of the memory room, which the real one must match."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

State = dict[str, Any] | None
"""A node or edge as its operation gave it; None if it does not exist."""


@dataclass(frozen=True)
class Branch:
    number: int
    name: str
    base: int | None
    base_seq: int


@dataclass(frozen=True)
class Entry:
    branch: int
    seq: int
    content: str
    root: int


@dataclass(frozen=True)
class Version:
    branch: int
    seq: int
    key: str
    state: State


@dataclass
class Model:
    """Everything ever written; answers questions by scanning all of it."""

    branches: dict[int, Branch] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    bases: dict[tuple[int, str], State] = field(default_factory=dict)
    conflicts: dict[str, Version] = field(default_factory=dict)
    decided: dict[str, str] = field(default_factory=dict)
    numbers: int = 0

    def add_branch(self, name: str, base: str | None, base_seq: int) -> None:
        self.numbers += 1
        parent = self.named(base).number if base is not None else None
        self.branches[self.numbers] = Branch(self.numbers, name, parent, base_seq)

    def named(self, name: str) -> Branch:
        return next(b for b in self.branches.values() if b.name == name)

    def names(self) -> list[str]:
        return sorted(b.name for b in self.branches.values())

    def rename(self, old: str, new: str) -> None:
        branch = self.named(old)
        self.branches[branch.number] = replace(branch, name=new)

    def has_derived(self, name: str) -> bool:
        return any(b.base == self.named(name).number for b in self.branches.values())

    def delete(self, name: str) -> None:
        gone = self.branches.pop(self.named(name).number).number
        self.entries = [e for e in self.entries if e.branch != gone]
        self.versions = [v for v in self.versions if v.branch != gone]
        self.conflicts = {i: v for i, v in self.conflicts.items() if v.branch != gone}

    def sees(self, name: str, as_of: int = 2**62) -> list[tuple[int, int]]:
        """The branches in a view, each with the newest seq that it shows."""
        made, at = [], as_of
        branch: Branch | None = self.named(name)
        while branch is not None:
            made.append((branch.number, at))
            at = min(at, branch.base_seq)
            branch = self.branches[branch.base] if branch.base is not None else None
        return made

    def shown(self, name: str, as_of: int = 2**62) -> list[Entry]:
        cuts = dict(self.sees(name, as_of))
        return [e for e in self.entries if e.seq <= cuts.get(e.branch, -1)]

    def graph(self, name: str, as_of: int = 2**62) -> dict[str, Version]:
        """The newest version of each key, deleted or not; a nearer branch is always newer."""
        cuts = dict(self.sees(name, as_of))
        latest: dict[str, Version] = {}
        for version in sorted(self.versions, key=lambda v: v.seq):
            if version.seq <= cuts.get(version.branch, -1):
                latest[version.key] = version
        return latest

    def alive(self, name: str, as_of: int = 2**62) -> dict[str, Version]:
        return {k: v for k, v in self.graph(name, as_of).items() if v.state is not None}

    def state(self, name: str, key: str) -> State:
        version = self.graph(name).get(key)
        return version.state if version else None

    def changed_on(self, name: str) -> list[Version]:
        """The newest version of each key written on the branch itself, newest first."""
        own = {v.key: v for v in self.versions if v.branch == self.named(name).number}
        return sorted(own.values(), key=lambda v: -v.seq)

    def base_state(self, name: str, key: str) -> State:
        branch = self.named(name)
        if (branch.number, key) in self.bases:
            return self.bases[branch.number, key]
        assert branch.base is not None
        version = self.graph(self.branches[branch.base].name, branch.base_seq).get(key)
        return version.state if version else None
