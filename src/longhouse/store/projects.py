"""A workspace is a wall where work is done, too: only projects bound to it do any of its work.

The project whose own workspace it is binds it on first use; any other project joins by a person's
`workspace.bind`. Whoever may enter a workspace may still read and write its records from anywhere.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from longhouse.kernel.errors import ProjectGuardMismatch, ProjectNotBound
from longhouse.store.sequence import sql
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.config import OwnProject
    from longhouse.store.engine import Row

__all__ = [
    "bind_project",
    "bound_projects",
    "close_workspace",
    "is_home",
    "require_bound",
    "require_home",
    "settle_project",
]

_DIGEST_OF_ROOT = re.compile(r"repo:[0-9a-f]{16}", re.ASCII)


def bound_projects(tx: Tx, ws: int | None = None) -> list[str]:
    """The ids of the projects that are bound to the workspace."""
    rows = tx.all(sql.workspace_projects, number=tx.ws if ws is None else ws)
    return [row["project"] for row in rows]


def settle_project(tx: Tx) -> bool:
    """Refuse the house's own workspace if other projects have it; on first use, bind it.

    A database in the store's own folder is nobody else's: one that was copied or restored there
    opens, and its work waits until a person binds it.

    Returns whether there is nothing more to settle.
    """
    own: OwnProject | None = tx.facts.own
    if own is None or tx.workspace not in own.workspaces:
        return True
    row = tx.one(sql.workspace_binding)
    if row is None or row["binding"] == "open":
        if row is None or not tx.writes or not _may_bind(row, own):
            return False
        bind_project(tx, tx.ws, own.id, str(own.root), "first use")
        return False  # not before it is committed
    shares: bool = tx.facts.shares_database
    if shares and row["binding"] == "bound" and not own.ids.intersection(bound_projects(tx)):
        name = tx.workspace
        raise ProjectGuardMismatch(
            f"workspace: {name!r} belongs to another project, not to {own.root}",
            recovery=f"use another one with --workspace OTHER; or, if {own.root} is a clone of "
            f"that project, join it once with `longhouse workspace bind {name}`",
        )
    return True


def _may_bind(row: Row, own: OwnProject) -> bool:
    """Whether this project was the first to use the workspace, as far as the store remembers.

    Earlier versions noted a digest of the root.
    """
    before = row["project_guard"]
    if not own.ids:
        return False
    if before is None or not _DIGEST_OF_ROOT.fullmatch(before):
        return True
    return bool(before == "repo:" + hashlib.sha256(os.fsencode(own.root)).hexdigest()[:16])


def bind_project(tx: Tx, ws: int, project: str, root: str, by: str) -> bool:
    """Bind a project to a workspace; False if it was bound already."""
    added = tx.one(
        sql.workspace_project_add, number=ws, project=project, root=root, by=by, now=tx.now_ms
    )
    tx.run(sql.workspace_set_binding, number=ws, binding="bound")
    return added is not None


def close_workspace(tx: Tx, ws: int) -> None:
    """Unbind every project; only a person may bind one again."""
    tx.run(sql.workspace_projects_forget, number=ws)
    tx.run(sql.workspace_set_binding, number=ws, binding="closed")


def is_home(tx: Tx) -> bool:
    """Whether this house's own project is bound to the workspace, or will be on first use."""
    own: OwnProject | None = tx.facts.own
    if own is None:
        return False
    row = tx.one(sql.workspace_binding)
    if row is None or row["binding"] == "open":
        fits = row is None or _may_bind(row, own)
        return fits and bool(own.ids) and tx.workspace in own.workspaces
    return bool(own.ids.intersection(bound_projects(tx)))


def require_home(tx: Tx, what: str) -> None:
    """Refuse what would touch the files of a project that is not bound to the workspace."""
    if not is_home(tx):
        own: OwnProject | None = tx.facts.own
        where = f"the project in {own.root}" if own else "this project"
        raise _not_bound(tx, f"{what} would touch {where}, which is not bound to it")


def require_bound(tx: Tx, projects: Collection[str] | None) -> None:
    """Refuse a runner whose root is none of the workspace's projects.

    A runner that names none is of an earlier version, and works in this house's own project.
    """
    if projects is None:
        if not is_home(tx):
            raise _not_bound(tx, "this runner does not say which project its root is")
        return
    bound = bound_projects(tx)
    if not set(projects).intersection(bound):
        why = (
            "this runner's root is not one of its projects"
            if bound
            else "no project is bound to it"
        )
        raise _not_bound(tx, why, projects)


def _not_bound(tx: Tx, why: str, projects: Collection[str] = ()) -> ProjectNotBound:
    name = tx.workspace
    remote = "".join(f"; for another host: --project {one}" for one in sorted(projects)[:1])
    return ProjectNotBound(
        f"workspace {name!r}: {why}",
        recovery="a person says where its work is done, in that repository: "
        f"`longhouse workspace bind {name}`{remote}",
    )
