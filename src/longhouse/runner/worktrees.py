"""A git worktree per job; at its end the job's changes are landed (landing.py), or wait.

A worktree starts from the tip of `longhouse/landed`, so a job sees what earlier jobs did. Changes
that cannot be landed, or that need a person's word (arming.py), stay in the worktree, and the job
says where. A job that is taken over on the same machine continues in its worktree.

Next to the worktree, out of the agent's reach, are a git directory of the runner's own and a note
of where the repository is. Both are created before the agent first runs, and all later work goes
through them: whatever the agent does to `.git`, configuration, attributes or hooks has no effect.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from longhouse.git import (
    FAILED,
    Repository,
    TreeWatch,
    as_reported,
    exclude_as,
    found_at,
    left_out,
    private,
    said,
)
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.arming import Changed, arming, imports
from longhouse.runner.following import HOW, follow
from longhouse.runner.landing import BRANCH, REF, CommitMessage, LandedBranch, NotLanded, worktrees
from longhouse.runner.locks import held_among_others

__all__ = ["BroughtHome", "NoWorktree", "Worktree", "worktree_of"]

PATCH_BYTES = 256 << 20
"""Larger patches are not applied: a patch must fit into memory, and no one would review it."""

WAIT_S = 300
"""Longer than a landing takes; whoever can write to the repository could hold its lock for ever."""

FOLLOW = f"To follow: {HOW}"
MOST_NAMED = 10
_GITLINK = b"160000 "
_LINK = b"120000"
_EVERY = "--ignore-submodules=none"


class NoWorktree(LonghouseError):
    """There is no git repository to create a worktree from."""

    code = "NO_WORKTREE"


class BroughtHome(NamedTuple):
    """What became of changes: either the `commit` that was landed, or why they were `held`.

    `left` says why the person's work tree did not follow; None if it did.
    """

    commit: str | None = None
    held: str | None = None
    left: str | None = None

    def told(self) -> str:
        """In one sentence, for the job's event."""
        if self.held:
            return self.held
        landed = f"landed on {BRANCH} as {self.commit[:12]}" if self.commit else f"on {BRANCH}"
        if self.left is None:
            return f"Its changes are {landed}; the work tree follows."
        why = self.left[:200]
        return f"Its changes are {landed}. The work tree was left as it is: {why}. {FOLLOW}"


def worktree_of(folder: Path, cache: Path, workspace: str, job: str, *, store: Path) -> Worktree:
    """The worktree of a job, in the cache; one that an older version made in the store is used."""
    old = Worktree(folder, store / "worktrees" / workspace, job, store=store)
    return (
        old if old.is_here else Worktree(folder, cache / "worktrees" / workspace, job, store=store)
    )


class Worktree:
    """The worktree of one job, in `home`; changes to files in `store` are never landed."""

    def __init__(self, folder: Path, home: Path, job: str, *, store: Path) -> None:
        self.path = home / job
        self._folder = folder
        self._store = store
        self._ours = Repository(home / f"{job}.git", self.path)
        self._note = home / f"{job}.json"
        self.trouble: str | None = None
        """Why nothing could be landed when the worktree was made."""

    def open(self) -> Path:
        """Create the worktree, or reuse it as the last holder left it."""
        if self._note.is_file() and self.path.is_dir() and not self.path.is_symlink():
            return self.path
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make()
        except FAILED as error:
            self.remove()  # otherwise a partial one would pass for the last holder's
            raise NoWorktree(f"{self._folder}: {said(error)}") from error
        return self.path

    def _make(self) -> None:
        repository, objects, _, object_format = found_at(self._folder)
        if self.path.resolve().is_relative_to(repository.work_tree.resolve()):
            inside = "agents can write there; set LONGHOUSE_CACHE to a folder outside"
            raise PermissionError(errno.EPERM, inside, str(self.path.parent))
        self._clear()
        with _alone(repository):
            self._forget_in(repository)
            self.path.mkdir(mode=0o700)
            private(self._ours.git_dir, self.path, objects, object_format)
            tip = LandedBranch(repository, self._ours).tip()
            base, self.trouble = tip.commit, tip.trouble
            repository.git(
                "worktree", "add", "--no-checkout", "--detach", "--force", str(self.path), base
            )
        exclude_as(self._ours, repository)
        self._ours.git("read-tree", "-u", "--reset", base)
        self._leave_submodules_out()
        theirs = Path((self.path / ".git").read_text(encoding="utf-8").split(":", 1)[1].strip())
        shutil.copyfile(self._ours.git_dir / "index", theirs / "index")
        note = {
            "base": base,
            "git_dir": str(repository.git_dir),
            "work_tree": str(repository.work_tree),
        }
        self._write_note(note)

    def _leave_submodules_out(self) -> None:
        """Skip submodules: git would read their state from their own, untrusted git directories."""
        listed = self._ours.git("ls-files", "--stage", "-z").split(b"\0")
        links = [entry.partition(b"\t")[2] for entry in listed if entry.startswith(_GITLINK)]
        if links:
            self._ours.git(
                "update-index", "--skip-worktree", "-z", "--stdin", stdin=b"\0".join(links) + b"\0"
            )

    def patch(self) -> bytes:
        """All changes since the worktree was created, committed or not, including new files."""
        self._ours.git("add", "--all", "--", ".", *self._never(self.home))
        with tempfile.TemporaryFile() as file:
            self._diff("--binary", to=file)
            size = file.seek(0, os.SEEK_END)
            if size > PATCH_BYTES:
                raise OSError(errno.EFBIG, f"{size} bytes of changes; the limit is {PATCH_BYTES}")
            file.seek(0)
            return file.read()

    def changed(self, root: Path) -> dict[str, Any] | None:
        """The files in the latest patch, in the form they are reported.

        None if git cannot list them: by then the changes are already applied, and the list is
        only a report.
        """
        try:
            names = self._diff("--name-only", "--no-renames", "-z").split(b"\0")[:-1]
            inside = self._root(root)
        except FAILED:
            return None
        return as_reported(os.path.relpath(self.path / os.fsdecode(name), inside) for name in names)

    def _diff(self, *how: str, to: IO[bytes] | None = None) -> bytes:
        note = self._read_note()
        off = ("--no-color", "--no-ext-diff", "--no-textconv")
        never = self._never(Path(note["work_tree"]))
        return self._ours.git(
            "diff", "--cached", *how, *off, note["base"], "--", ".", *never, to=to
        )

    def _root(self, root: Path) -> Path:
        """The path in the worktree that corresponds to `root` in the shared work tree."""
        return self.path / os.path.relpath(root.resolve(), self.home.resolve())

    def _never(self, top: Path) -> list[str]:
        """Excludes the store's folder if it is in the repository: a patch must not touch it."""
        return left_out(self._store, top)

    def changed_files(self, root: Path) -> TreeWatch:
        """Finds which files change in it; `root` is the project's root in the shared work tree."""
        return TreeWatch(
            lambda: nullcontext(self._ours),
            self._root(root),
            self._never(self.home),
            alone=True,
        )

    def armed(self) -> dict[str, str]:
        """The files of the latest patch that need a person's word, each with the reason."""
        raw = self._diff("--raw", "--no-renames", "--no-abbrev", "-z", _EVERY).split(b"\0")
        links, imported = self._followed(self._ours.git("ls-files", "--stage", "-z"))
        found = []
        for about, name in zip(raw[::2], raw[1::2], strict=False):
            path = os.fsdecode(name)
            found.append(Changed(path, about[8:14].decode(), links.get(path, "")))
        return arming(found, links, imported | self._imported_there())

    def _imported_there(self) -> set[str]:
        """What instruction files import where the patch would be landed, if that has moved."""
        note, found = self._read_note(), set[str]()
        theirs = Repository(Path(note["git_dir"]), Path(note["work_tree"]))
        for ref in ("HEAD", REF):
            commit = theirs.asks("rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
            if commit and commit != note["base"]:
                listed = self._ours.git("ls-tree", "-r", "-z", "--full-tree", commit)
                found |= self._followed(listed)[1]
        return found

    def _followed(self, listed: bytes) -> tuple[dict[str, str], set[str]]:
        """Every symbolic link of a tree with its target, and what its instruction files import."""
        modes, blobs = {}, {}
        for entry in listed.split(b"\0")[:-1]:
            about, _, name = entry.partition(b"\t")
            mode, *others = about.split()  # a blob with its stage, or with its kind
            path = os.fsdecode(name)
            modes[path], blobs[path] = mode, max(others, key=len)

        def read(path: str) -> bytes:
            return self._ours.git("cat-file", "blob", blobs[path].decode())

        links = {path: os.fsdecode(read(path)) for path in modes if modes[path] == _LINK}
        files = [path for path in modes if modes[path] + b" " != _GITLINK]
        return links, imports(files, links, lambda path: read(path).decode("utf-8", "replace"))

    def shown(self, paths: Iterable[str]) -> str:
        """The changes of some files, as a diff."""
        only = [f":(top,literal){path}" for path in paths]
        off = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", _EVERY)
        told = self._ours.git("diff", "--cached", *off, self._read_note()["base"], "--", *only)
        return told.decode("utf-8", "replace")

    def obstacle(self) -> str | None:
        """Why the latest patch waits for a person; None if it can be landed."""
        try:
            armed = self.armed()
        except FAILED as error:
            return f"it cannot be told whether it arms a later session: {said(error)}"
        if not armed:
            return None
        names = [f"{path} ({why})" for path, why in armed.items()][:MOST_NAMED]
        more = f" and {len(armed) - MOST_NAMED} more" if len(armed) > MOST_NAMED else ""
        return f"it changes what a later session would run or follow: {', '.join(names)}{more}"

    def untried(self, message: CommitMessage) -> str | None:
        """Why the latest patch would not land now; None if it would."""
        note = self._read_note()
        theirs = Repository(Path(note["git_dir"]), Path(note["work_tree"]))
        try:
            with _alone(theirs):
                branch = LandedBranch(theirs, self._ours)
                branch.prepared(self._start(note, branch), self._tree(), message)
        except NotLanded as error:
            return f"its changes do not land on {BRANCH}: {error}"
        except FAILED as error:
            return f"its changes do not land on {BRANCH}: {said(error)}"
        return None

    @property
    def is_prepared(self) -> bool:
        return bool(self._read_note().get("prepared"))

    def prepared(self) -> None:
        """Note that the set-up command has run; new files it left are no changes of the job."""
        listed = self._ours.git("ls-files", "-z", "--others", "--exclude-standard", "--directory")
        lines = [_pattern(name) for name in listed.split(b"\0") if name]
        with (self._ours.git_dir / "info" / "exclude").open("ab") as file:
            file.write(b"\n" + b"".join(line + b"\n" for line in lines if b"\n" not in line))
        self._write_note({**self._read_note(), "prepared": True})

    def due(self, message: CommitMessage) -> None:
        """Note that the changes are to be landed: whoever finds this after a crash does it."""
        self._write_note({**self._read_note(), "due": list(message)})

    @property
    def is_due(self) -> CommitMessage | None:
        due = self._read_note().get("due")
        return CommitMessage(*due) if due else None

    def land(self, message: CommitMessage) -> BroughtHome:
        """Land the latest patch, unless that was done already, and let the work tree follow."""
        note = self._read_note()
        theirs = Repository(Path(note["git_dir"]), Path(note["work_tree"]))

        try:
            with _alone(theirs):
                branch = LandedBranch(theirs, self._ours)
                tree = self._tree()

                def about_to(commit: str) -> None:
                    self._write_note({**self._read_note(), "commit": commit, "tree": tree})

                commit: str | None = note.get("commit")
                if not (commit and note.get("tree") == tree and branch.has(commit)):
                    commit = branch.land(self._start(note, branch), tree, message, about_to)
                at = commit or branch.tip().commit
                return BroughtHome(commit, left=follow(theirs, at, self._ours.git_dir))
        except NotLanded as error:
            return BroughtHome(held=f"its changes do not land on {BRANCH}: {error}")
        except FAILED as error:
            return BroughtHome(held=f"its changes do not land on {BRANCH}: {said(error)}")

    def has_landed(self) -> str | None:
        """The commit that was landed, if a run stopped before it was recorded.

        None if the job has run again since and the latest patch is another one.
        """
        note = self._read_note()
        theirs = Repository(Path(note["git_dir"]), Path(note["work_tree"]))
        commit: str | None = note.get("commit")
        try:
            if commit and note.get("tree") == self._tree():
                return commit if LandedBranch(theirs, self._ours).has(commit) else None
            return None
        except FAILED:
            return None

    def _tree(self) -> str:
        """The tree of the latest patch."""
        return self._ours.git("write-tree").decode().strip()

    def _start(self, note: dict[str, Any], branch: LandedBranch) -> str:
        """What the patch is merged from: an earlier run's commit, if just that was landed.

        Otherwise lines that both runs changed would conflict with themselves.
        """
        base: str = note["base"]
        commit, tree = note.get("commit"), note.get("tree")
        if commit and tree and branch.has(commit) and branch.tree_of(commit) == tree:
            return str(commit)
        return base

    @property
    def is_here(self) -> bool:
        """Whether this job has a worktree on this machine."""
        return self._note.is_file()

    @property
    def home(self) -> Path:
        """The shared work tree."""
        return Path(self._read_note()["work_tree"])

    def remove(self) -> None:
        """Delete the worktree and everything in it."""
        repository = None
        with suppress(OSError, ValueError):
            note = self._read_note()
            repository = Repository(Path(note["git_dir"]), Path(note["work_tree"]))
        self._clear()
        if repository is not None:
            with suppress(*FAILED), _alone(repository):
                self._forget_in(repository)

    def _forget_in(self, repository: Repository) -> None:
        """Remove the worktrees of ours that are gone from git's own list, and no others."""
        home = os.path.realpath(self.path.parent)
        for path, _ in worktrees(repository):
            ours = os.path.realpath(Path(path).parent) == home
            if ours and not os.path.lexists(path):
                repository.git("worktree", "remove", "--force", path)

    def _read_note(self) -> dict[str, Any]:
        note: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
        return note

    def _write_note(self, note: dict[str, Any]) -> None:
        """Replace the note; it is on disk before anything that it announces happens."""
        fresh = self._note.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(note, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._note)

    def _clear(self) -> None:
        """Delete the note and both folders; symbolic links are removed, never followed."""
        self._note.unlink(missing_ok=True)
        for folder in (self.path, self._ours.git_dir):
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone(repository: Repository) -> Iterator[None]:
    """Lock out all others that land there, of any store: git's own locks fail instead of waiting.

    The lock is in the directory that all work trees of the repository share.
    """
    asked = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    common = Path(os.fsdecode(repository.git(*asked).rstrip(b"\n")))
    with held_among_others(common / "longhouse.lock", WAIT_S):
        yield


def _pattern(name: bytes) -> bytes:
    """The line of an exclude file that matches exactly this path."""
    return b"/" + re.sub(rb"([\\*?\[ ])", rb"\\\1", name)
