"""Branches: a name, a base and a cutoff. A branch is never copied.

Everything written to a derived branch has a higher seq than its cutoff, so it shows its own
entries, then its base's view up to the cutoff, and so on down the chain. A base is always older
than the branches derived from it, so a chain always ends.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.values import Value
from longhouse.memory.names import CANONICAL, document_kind
from longhouse.memory.room import sql
from longhouse.store.tx import Tx

__all__ = [
    "ENDLESS",
    "MAIN",
    "MAX_DEPTH",
    "NOW",
    "Branch",
    "Source",
    "View",
    "branch_named",
    "ensure_branch",
    "ensure_document",
    "find_branch",
    "is_branch",
    "is_virtual",
    "view_of",
]

MAIN = "main"
MAX_DEPTH = 32
ENDLESS = 2**62
"""Higher than any seq: the `until` of a version that has not been replaced."""
NOW = ENDLESS - 1
"""The cut of a view that shows everything."""


class Branch(Value, frozen=True, kw_only=True):
    """A branch as it is stored."""

    branch_id: int
    name: str
    base_branch_id: int | None
    base_seq: int | None
    depth: int


class Source(NamedTuple):
    """One branch in a view, and the newest seq on it that the view shows."""

    branch_id: int
    name: str
    doc_id: int | None
    cut: int
    pinned: bool
    """The cut is a branching point, so the versions visible at it are kept in the indexes."""


class View(NamedTuple):
    """What one branch shows of one document: its sources, newest first."""

    branch: str
    doc: str
    sources: tuple[Source, ...]

    @property
    def written(self) -> tuple[Source, ...]:
        """The sources on which the document exists."""
        return tuple(source for source in self.sources if source.doc_id is not None)


def find_branch(tx: Tx, name: str) -> Branch | None:
    """The branch with that name, if anything was written on it."""
    row = tx.one(sql.branch_by_name, name=name)
    return Branch(**row) if row else None


def branch_named(tx: Tx, name: str, field: str = "branch") -> Branch:
    """The branch with that name, or UnknownId."""
    return find_branch(tx, name) or _unknown(name, field)


def ensure_branch(tx: Tx, name: str, field: str = "branch") -> Branch:
    """The branch with that name; `main` and plan and task branches are created on first use."""
    if found := find_branch(tx, name):
        return found
    if not is_virtual(name):
        _unknown(name, field)
    seq = tx.seqs(0)  # the caller's next write records that the branch exists
    if tx.value(sql.branch_made_at, seq=seq) is not None:
        seq = tx.append("memory", name, "branch_created", {"base_branch": None}) + 1
    row = tx.one(
        sql.branch_add,
        name=name,
        base_branch_id=None,
        base_seq=None,
        depth=0,
        seq=seq,
        now=tx.now_ms,
    )
    assert row is not None
    return Branch(**row)


def is_branch(tx: Tx, name: str) -> bool:
    """Whether there is a branch with that name, written on or not."""
    return is_virtual(name) or find_branch(tx, name) is not None


def is_virtual(name: str) -> bool:
    """Whether a branch counts as existing but empty before anything is written on it."""
    return name == MAIN or CANONICAL.match(name) is not None


def ensure_document(tx: Tx, branch: Branch, doc: str, seq: int) -> int:
    """The id of that document on exactly this branch; created at `seq` if missing."""
    found = tx.value(sql.document_id, branch_id=branch.branch_id, doc=doc)
    if found is None:
        found = tx.value(
            sql.document_add,
            branch_id=branch.branch_id,
            doc=doc,
            kind=document_kind(doc),
            seq=seq,
        )
    return int(found)


def view_of(tx: Tx, name: str, doc: str, as_of: int | None = None, field: str = "branch") -> View:
    """What the branch shows of the document, now or as of a seq."""
    rows = tx.all(sql.branch_chain, name=name, doc=doc)
    if not rows and not is_virtual(name):
        _unknown(name, field)
    cut = NOW
    if as_of is not None and as_of < tx.last_seq():
        cut = as_of
    sources = []
    pinned = False
    for row in rows:
        sources.append(Source(row["branch_id"], row["name"], row["doc_id"], cut, pinned))
        base_seq = row["base_seq"]
        if base_seq is not None and base_seq <= cut:
            cut, pinned = base_seq, True
        else:
            pinned = False
    return View(name, doc, tuple(sources))


def _unknown(name: str, field: str) -> Branch:
    from longhouse.memory.types.vcs import CreateBranch, ListBranches  # only a refusal needs them

    if name.upper() == "HEAD":
        raise UnknownId(
            f"{field}: there is no branch {name!r}; the one that is checked out has its own name",
            recovery=f"leave {field} out for it, or take a name from vcs.branch.list",
            suggest=[Suggestion(ListBranches(), "list the branches")],
        )
    raise UnknownId(
        f"{field}: there is no branch {name[:128]!r}",
        recovery="list branches with vcs.branch.list, or create it with vcs.branch.create",
        suggest=[
            Suggestion(ListBranches(), "list the branches"),
            Suggestion(CreateBranch(name=name), "create this branch", priority="medium"),
        ],
    )
