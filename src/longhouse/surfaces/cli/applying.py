"""`longhouse job apply`: lands a job's pending changes on `longhouse/landed`, or drops them.

They are in the job's worktree, on the machine that ran it. The branch gets all of the changes or
none, a clean work tree follows, and a run that stopped in between can simply be repeated. Files
that would arm a later session need an explicit word, which only a manager may give.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from longhouse.kernel.errors import Conflict, InvalidInput, ProjectNotBound
from longhouse.kernel.terminal import tame
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Shown

if TYPE_CHECKING:
    from pathlib import Path

    from longhouse.runner import Worktree

__all__ = ["apply"]

WORD = "--including-configuration"


def apply(
    cli: Cli,
    job: str,
    drop: bool = False,
    merged: bool = False,
    including_configuration: bool = False,
) -> Shown:
    """`merged` if the person has already merged them by hand."""
    from longhouse.runner import worktree_of

    if drop and merged:
        raise InvalidInput(
            "--merged: cannot be combined with --drop",
            recovery=f"longhouse job apply {job} --merged",
        )
    found = cli.call("jobs.open", job=job, max_events=0)["job"]
    settings, root = cli.settings, _root(cli)
    places = (root, settings.cache, settings.workspace, found["id"])
    worktree = worktree_of(*places, store=settings.dir)
    waits, here = found.get("changes"), worktree.is_here
    if waits is None and not (here and found["status"] in ("FAILED", "CANCELED")):
        raise Conflict(
            f"{job} is {found['status']} and has no pending changes",
            recovery=f"see its state: longhouse job show {job}",
        )
    if not here and not (drop or merged):
        raise Conflict(
            f"the worktree of {job} is not on this machine: {waits}",
            recovery="run this on that machine; or open the patch that the job lists under refs, "
            f"apply it to your work tree, and: longhouse job apply {job} --merged",
        )
    if here and drop and (commit := worktree.has_landed()):
        raise Conflict(
            f"the changes of {job} are landed already, as {commit[:12]}",
            recovery=f"longhouse job apply {job} records that; to undo them: git revert {commit}",
        )
    said = f"the changes of {job} are dropped" if drop else f"the changes of {job} are applied"
    told: dict[str, Any] = {}
    if here and not (drop or merged):
        outcome = _land(cli, worktree, found, including_configuration)
        said = outcome.told()
        told["reason"] = said[:400]
        if changed := worktree.changed(root):
            told["changed"] = changed
    if waits is not None:
        outcome_word = "dropped" if drop else "applied"
        found = cli.call("jobs.apply", job=job, outcome=outcome_word, **told)["job"]
    if here:
        worktree.remove()
    return Shown(found, [f"{said.rstrip('.')}; it is {found['status']}"])


def _root(cli: Cli) -> Path:
    """The repository on this host where the work of the workspace is done."""
    from longhouse.config import own_project

    settings = cli.settings
    own, name = own_project(settings.place), settings.workspace
    rows = cli.call("workspace.list", name=name)["workspaces"]
    bound = [one["project"] for row in rows for one in row.get("projects", ())]
    if own is None or (root := own.root_of(bound)) is None:
        raise ProjectNotBound(
            f"workspace {name!r}: its work is done in no repository on this machine",
            recovery=f"in the repository where it is: longhouse workspace bind {name}",
        )
    return root


def _land(cli: Cli, worktree: Worktree, found: dict[str, Any], word: bool) -> Any:
    from longhouse.runner import CommitMessage

    job = found["id"]
    worktree.patch()
    if armed := worktree.armed():
        _ask_for_the_word(cli, worktree, found, armed, given=word)
    message = worktree.is_due or CommitMessage(
        *(found["title"], found.get("summary") or "", cli.settings.workspace, job, "agent"),
        int(time.time()),
    )
    outcome = worktree.land(message)
    if outcome.held:
        raise Conflict(
            f"nothing was changed: {outcome.held}",
            recovery=f"remove what is in the way in {worktree.home}, then repeat; or merge by hand "
            f"from {worktree.path}, then: longhouse job apply {job} --merged; or drop them: "
            f"longhouse job apply {job} --drop",
        )
    return outcome


def _ask_for_the_word(
    cli: Cli, worktree: Worktree, found: dict[str, Any], armed: dict[str, str], *, given: bool
) -> None:
    """Show what would arm a later session; the word is recorded on the job, by a manager only."""
    job = found["id"]
    if not given:
        shown = [f"{path}: {why}" for path, why in armed.items()]
        for line in (*shown, "", *worktree.shown(armed).splitlines()):
            sys.stderr.write(tame(line) + "\n")
        raise Conflict(
            f"nothing was changed: {job} changes what a later session would run or follow: "
            f"{', '.join(armed)}",
            recovery=f"read the diff; if you want it: longhouse job apply {job} {WORD}; "
            f"or drop the changes: longhouse job apply {job} --drop",
        )
    if found.get("changes") is None:
        raise Conflict(
            f"{job} is {found['status']}: configuration is taken only from a job that is done",
            recovery=f"take the files by hand from {worktree.path}",
        )
    names = ", ".join(armed)
    cli.call("jobs.message", job=job, message=f"Configuration accepted: {names}"[:4000])
