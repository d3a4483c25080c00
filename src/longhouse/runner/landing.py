"""Finished changes of jobs, as commits on the branch `longhouse/landed` of the person's repository.

Commits and merges are made in a git directory of our own, over an empty work tree: no hook, filter,
merge driver, attribute, replacement or configuration of the repository has any say. Then the
objects are checked and copied, and the branch moves by compare-and-swap. The branch always contains
the person's HEAD; where the two do not merge, nothing is landed until the person has merged them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from longhouse.git import FAILED, Repository, said
from longhouse.kernel.trim import clip_text

__all__ = [
    "BRANCH",
    "REF",
    "CommitMessage",
    "Commits",
    "LandedBranch",
    "NotLanded",
    "Tip",
    "worktrees",
]

BRANCH = "longhouse/landed"
REF = f"refs/heads/{BRANCH}"
TRIES = 5
TITLE_CHARS = 100
SUMMARY_CHARS = 4_000
MOST_NAMED = 5
_DURABLE = ("-c", "core.fsync=committed,reference")
_MERGES = (2, 38)
"""The first version of git whose merge-tree writes a tree."""


class NotLanded(Exception):
    """The changes cannot be landed now; the text says why."""


class CommitMessage(NamedTuple):
    """What a commit says, and when: the same values give the same commit."""

    title: str
    summary: str
    workspace: str
    job: str
    agent: str
    when: int

    @property
    def text(self) -> bytes:
        """Title, summary and trailers; what an agent wrote is never in the last paragraph."""
        title = clip_text(" ".join(_plain(self.title).split()), TITLE_CHARS) or self.job
        parts = [title, clip_text(_plain(self.summary).strip(), SUMMARY_CHARS)]
        parts.append(f"Longhouse-Workspace: {self.workspace}\nLonghouse-Job: {self.job}")
        return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "replace")

    @property
    def identity(self) -> dict[str, str]:
        agent = re.sub(r"[^A-Za-z0-9._ -]+", "", self.agent) or "agent"
        named = {"AUTHOR": f"Longhouse ({agent}, {self.job})", "COMMITTER": "Longhouse"}
        return {
            **{f"GIT_{who}_NAME": name for who, name in named.items()},
            **{f"GIT_{who}_EMAIL": "longhouse@localhost" for who in named},
            **{f"GIT_{who}_DATE": f"@{self.when} +0000" for who in named},
        }


class Tip(NamedTuple):
    """Where new work starts; `landed` is what the branch points to, None if it does not exist.

    `trouble` says why nothing can be landed.
    """

    commit: str
    landed: str | None = None
    trouble: str | None = None


class Commits:
    """Makes and merges commits in a git directory of our own."""

    def __init__(self, ours: Repository) -> None:
        nothing = ours.git_dir / "nothing"
        nothing.mkdir(exist_ok=True)
        self._git = Repository(ours.git_dir, nothing).git
        self._asks = Repository(ours.git_dir, nothing).asks
        self._index = nothing.with_name("merging-index")
        self.merges_trees = _version(self._git("version")) >= _MERGES

    def commit(self, tree: str, parents: tuple[str, ...], message: CommitMessage) -> str:
        named = [word for parent in parents for word in ("-p", parent)]
        made = self._git(
            "commit-tree", tree, *named, "-F", "-", stdin=message.text, identity=message.identity
        )
        return made.decode().strip()

    def tree_of(self, commit: str) -> str:
        return self._git("rev-parse", "--verify", f"{commit}^{{tree}}").decode().strip()

    def contains(self, commit: str, other: str) -> bool:
        """Whether `commit` is `other` or descends from it."""
        return self._asks("merge-base", "--is-ancestor", other, commit) is not None

    def date_of(self, commit: str) -> int:
        return int(self._git("show", "-s", "--no-show-signature", "--format=%ct", commit))

    def merged(self, one: str, other: str) -> str:
        """The tree of a clean three-way merge; raises NotLanded with the names otherwise."""
        self._index.unlink(missing_ok=True)
        return self._by_apply(one, other) if not self.merges_trees else self._by_tree(one, other)

    def _by_tree(self, one: str, other: str) -> str:
        words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", one, other)
        try:
            return self._git(*words, index=self._index).split(b"\0")[0].decode().strip()
        except subprocess.CalledProcessError as error:
            if error.returncode != 1:
                raise
            names = error.stdout.split(b"\0")[1:]
        raise NotLanded(f"conflicts in {_named(names)}")

    def _by_apply(self, one: str, other: str) -> str:
        """For older versions of git: the same, through an index of our own."""
        base = self._asks("merge-base", one, other)
        if base is None:
            raise NotLanded("the histories have nothing in common")
        how = ("--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv")
        patch = self._git("diff", *how, base, other)
        self._git("read-tree", one, index=self._index)
        try:
            if patch:
                self._git("apply", "--cached", "--3way", "-", stdin=patch, index=self._index)
        except subprocess.CalledProcessError as error:
            raise NotLanded(f"conflicts: {said(error)}") from error
        return self._git("write-tree", index=self._index).decode().strip()

    def packed(self, commit: str, *without: str) -> bytes:
        """What the commit needs and a repository that has `without` lacks."""
        revs = "\n".join([commit, *(f"^{one}" for one in without)]) + "\n"
        return self._git("pack-objects", "--revs", "--stdout", "-q", stdin=revs.encode())


class LandedBranch:
    """`longhouse/landed` in the person's repository; `ours` borrows its objects."""

    def __init__(self, theirs: Repository, ours: Repository) -> None:
        self._theirs = theirs
        self._commits = Commits(ours)

    def tip(self) -> Tip:
        """Where new work starts. Merges the person's commits into the branch if it must."""
        head = self.head()
        landed, trouble = self._now()
        if landed is None or trouble:
            return Tip(head, landed, trouble)
        if self._commits.contains(head, landed):
            return Tip(head, landed)
        if self._commits.contains(landed, head):
            return Tip(landed, landed)
        try:
            tree = self._commits.merged(landed, head)
        except NotLanded as error:
            where = f"git -C {self._theirs.work_tree} merge {BRANCH}"
            return Tip(head, landed, f"{BRANCH} and HEAD do not merge ({error}): {where}")
        when = max(map(self._commits.date_of, (landed, head)))
        message = CommitMessage(f"Merge HEAD into {BRANCH}", "", "-", "-", "merge", when)
        merge = self._commits.commit(tree, (landed, head), message)
        self._bring(merge, landed, head)
        if not self._swap(merge, landed):
            return self.tip()
        return Tip(merge, merge)

    def land(
        self, base: str, tree: str, message: CommitMessage, about_to: Callable[[str], None]
    ) -> str | None:
        """Put a tree that was made from `base` on the branch; returns the commit.

        None if the branch has all of it already. Raises NotLanded, or one of FAILED. `about_to`
        is told the commit before the repository changes.
        """
        for _ in range(TRIES):
            commit, tip = self.prepared(base, tree, message)
            if commit is None:
                return None
            about_to(commit)
            self._bring(commit, tip.commit)
            if self._swap(commit, tip.landed):
                return commit
        raise NotLanded(f"{BRANCH} moved {TRIES} times meanwhile")

    def prepared(self, base: str, tree: str, message: CommitMessage) -> tuple[str | None, Tip]:
        """The commit that would be landed now, and where; None if the branch has all of it."""
        change = self._commits.commit(tree, (base,), message)
        tip = self.tip()
        if tip.trouble:
            raise NotLanded(tip.trouble)
        if tip.commit == base:
            return change, tip
        merged = self._commits.merged(tip.commit, change)
        if merged == self._commits.tree_of(tip.commit):
            return None, tip
        return self._commits.commit(merged, (tip.commit,), message), tip

    def has(self, commit: str) -> bool:
        """Whether the branch, or the person's HEAD, contains a commit that was to be landed."""
        landed, _ = self._now()
        try:
            self._theirs.git("cat-file", "-e", f"{commit}^{{commit}}")
            tips = [one for one in (landed, self.head()) if one]
            return any(self._commits.contains(one, commit) for one in tips)
        except FAILED:
            return False

    def tree_of(self, commit: str) -> str:
        return self._commits.tree_of(commit)

    def head(self) -> str:
        return self._theirs.git("rev-parse", "--verify", "HEAD^{commit}").decode().strip()

    def _now(self) -> tuple[str | None, str | None]:
        """What the branch points to, and why it must not be moved."""
        found = self._theirs.git("for-each-ref", "--format=%(objectname) %(symref)", REF)
        if not found.strip():
            return None, None
        landed, _, symref = found.decode("utf-8", "replace").splitlines()[0].partition(" ")
        if symref.strip():
            return landed, f"{BRANCH} is a symbolic ref to {symref.strip()}; delete it"
        for path, branch in worktrees(self._theirs):
            if branch == REF:
                return landed, f"{BRANCH} is checked out in {path}: git -C {path} switch -"
        return landed, None

    def _bring(self, commit: str, *known: str) -> None:
        """Copy the objects; git checks each of them, and that nothing they name is missing."""
        pack = self._commits.packed(commit, *known)
        self._theirs.git(*_DURABLE, "unpack-objects", "-q", "--strict", stdin=pack)

    def _swap(self, commit: str, before: str | None) -> bool:
        expected = before or "0" * len(commit)
        try:
            self._theirs.git(
                *(*_DURABLE, "update-ref", "--no-deref", "--create-reflog"),
                *("-m", "longhouse: land", REF, commit, expected),
                identity=CommitMessage("", "", "-", "-", "", 0).identity
                | {"GIT_COMMITTER_DATE": ""},
            )
        except subprocess.CalledProcessError:
            if self._now()[0] == before:  # nobody moved it: something is in the way
                raise
            return False
        return True


def worktrees(repository: Repository) -> list[tuple[str, str | None]]:
    """The work trees of a repository, each with the branch that is checked out there."""
    found: list[tuple[str, str | None]] = []
    told = repository.git("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape")
    for line in told.splitlines():
        word, _, rest = line.partition(" ")
        if word == "worktree":
            found.append((rest, None))
        elif word == "branch" and found:
            found[-1] = (found[-1][0], rest)
    return found


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _named(names: list[bytes]) -> str:
    shown = [_plain(name.decode("utf-8", "replace")) for name in names if name]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more or "files"


def _version(told: bytes) -> tuple[int, ...]:
    found = re.search(rb"(\d+)\.(\d+)", told)
    return tuple(map(int, found.groups())) if found else (0, 0)
