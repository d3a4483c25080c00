"""Who may read transcripts, and of which sessions: the person's conversations stay the person's.

Only the person, the clients they set up on this machine, and managers read them; an agent from
elsewhere and the agent of a job do not. They read this project's sessions, including those in its
linked worktrees; only an operator may ask for another project's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from longhouse.kernel.errors import Forbidden
from longhouse.kernel.registry import Role
from longhouse.store.projects import require_home
from longhouse.store.tx import Tx
from longhouse.thinking.facts import ThinkingFacts
from longhouse.thinking.transcripts.messages import TranscriptHeader, is_below

__all__ = ["admit", "belongs", "project_prefix", "refuse_foreign"]

_MOST_WORKTREES = 1_000
_POINTER_BYTES = 4_096
_POINTS = "gitdir: "


def admit(tx: Tx) -> None:
    """Refuse callers that may not read the person's conversations."""
    by, home = tx.by, tx.facts.default_workspace
    if not by.is_the_persons:
        raise Forbidden(
            "transcripts are the person's own conversations; this token belongs to another agent",
            recovery="ask the person, or a manager; a client on this machine may read them after "
            "`longhouse init`",
        )
    if by.workspaces is not None and home not in by.workspaces:
        raise Forbidden(
            "transcripts belong to this project; this token is limited to other workspaces",
            recovery="use a token that may enter this project's workspace",
        )


def _stay_home(tx: Tx) -> None:
    """Refuse a workspace whose work is done elsewhere; an operator may read everything."""
    if tx.by.role < Role.OPERATOR:
        require_home(tx, "reading transcripts")


def project_prefix(tx: Tx, asked: str | None) -> str:
    """The folder whose sessions are read: the project's, or one that the caller may ask for."""
    admit(tx)
    _stay_home(tx)
    root = tx.facts.of(ThinkingFacts).project_root
    if asked is None:
        return str(root)
    inside = is_below([os.path.normpath(asked)], str(root)) or _in_a_worktree([asked], root)
    if inside or tx.by.role >= Role.OPERATOR:
        return asked
    raise Forbidden(
        f"cwd_prefix: {asked[:200]!r} is outside this project; fix: cwd_prefix={str(root)[:200]}",
        recovery="leave cwd_prefix out; only an operator reads sessions of other projects",
    )


def belongs(tx: Tx, header: TranscriptHeader, prefix: str) -> bool:
    """Whether a session belongs to a folder that the caller may ask for."""
    if tx.by.role >= Role.OPERATOR:
        return is_below(header.hints, prefix)
    return is_below(header.home, os.path.normpath(prefix))


def refuse_foreign(tx: Tx, header: TranscriptHeader, name: str) -> None:
    """Refuse a session that does not belong to this project."""
    _stay_home(tx)
    root = tx.facts.of(ThinkingFacts).project_root
    home = header.home
    if tx.by.role >= Role.OPERATOR or is_below(home, str(root)) or _in_a_worktree(home, root):
        return
    raise Forbidden(
        f"ref.path: {name[:200]} is not a session of this project",
        recovery="copy a ref from docs.transcripts.search; only an operator opens sessions of "
        "other projects",
    )


def _in_a_worktree(paths: Iterable[str], root: Path) -> bool:
    paths = [os.path.normpath(path) for path in paths]
    return any(is_below(paths, tree) for tree in _worktrees(root))


def _worktrees(root: Path) -> Iterator[str]:
    """The main and the linked worktrees of a project's repository.

    Both sides must name each other: what an agent writes into this repository's git directory
    cannot make a folder elsewhere, which it may not write, a worktree.
    """
    dot_git = root / ".git"
    own = _pointer(dot_git)
    common = dot_git
    if own is not None:
        if _pointer(own / "gitdir", prefix="") != dot_git or own.parent.name != "worktrees":
            return
        common = own.parent.parent
        if common.name == ".git":
            yield str(common.parent)
    with suppress(OSError):
        for linked in islice((common / "worktrees").iterdir(), _MOST_WORKTREES):
            there = _pointer(linked / "gitdir", prefix="")
            if there is not None and there.name == ".git" and _pointer(there) == linked:
                yield str(there.parent)


def _pointer(path: Path, prefix: str = _POINTS) -> Path | None:
    """The path in one of git's small files, or None if it is not such a file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        text = os.fsdecode(os.read(handle, _POINTER_BYTES)).strip()
    except OSError:
        return None
    finally:
        os.close(handle)
    if not text.startswith(prefix):
        return None
    return Path(os.path.normpath(path.parent / text.removeprefix(prefix)))
