"""`longhouse job apply`: applies a job's pending changes to the work tree, or drops them.

They are in the job's worktree, on the machine that ran it. The work tree gets all of the changes or
none, and a run that stopped between the files and the record can simply be repeated.
"""

from __future__ import annotations

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Shown

__all__ = ["apply"]


def apply(cli: Cli, job: str, drop: bool = False, merged: bool = False) -> Shown:
    """`merged` if the person has already merged them by hand."""
    from longhouse.runner.worktrees import Worktree

    if drop and merged:
        raise InvalidInput(
            "--merged: cannot be combined with --drop",
            recovery=f"longhouse job apply {job} --merged",
        )
    found = cli.call("jobs.open", job=job, max_events=0)["job"]
    settings = cli.settings
    at = settings.dir / "worktrees" / settings.workspace
    worktree = Worktree(settings.project_root, at, found["id"], store=settings.dir)
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
    said = f"the changes of {job} are dropped" if drop else f"the changes of {job} are applied"
    changed = None
    if here and not (drop or merged):
        if why := worktree.bring_home(worktree.patch()):
            raise Conflict(
                f"nothing was changed: {why}",
                recovery=f"undo, commit or stash the conflicting changes in {worktree.home}, then "
                f"repeat; or merge by hand from {worktree.path}, then: longhouse job "
                f"apply {job} --merged; or drop them: longhouse job apply {job} --drop",
            )
        said = f"the changes of {job} are applied to {worktree.home}"
        changed = worktree.changed(settings.project_root)
    if waits is not None:
        outcome = "dropped" if drop else "applied"
        told = {"changed": changed} if changed else {}
        found = cli.call("jobs.apply", job=job, outcome=outcome, **told)["job"]
    if here:
        worktree.remove()
    return Shown(found, [f"{said}; it is {found['status']}"])
