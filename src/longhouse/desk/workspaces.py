"""`workspace.*`: lists the workspaces and sets this connection's default."""

from __future__ import annotations

from longhouse.desk.room import room
from longhouse.desk.types.system import (
    ListWorkspaces,
    ResetWorkspace,
    UseWorkspace,
    WorkspaceChosen,
    WorkspacePage,
    WorkspaceRow,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import Conflict
from longhouse.kernel.workspaces import permit_workspace
from longhouse.store.tx import Tx, sql

__all__ = []


@room.command(
    "workspace.use",
    also="select switch set open",
    op="use",
    example=UseWorkspace(workspace="acme"),
    needs_workspace=False,
)
def use_workspace(tx: Tx, req: UseWorkspace) -> WorkspaceChosen:
    """Make a workspace the default for this connection."""
    name = req.workspace
    permit_workspace(tx.facts, name, tx.by.workspaces)
    if tx.session is None or not tx.session.kept:
        raise Conflict(
            "workspace: this connection has no session that could remember a default",
            recovery=f"pass workspace={req.workspace} with each call",
        )
    previous = tx.session.workspace
    tx.session.workspace = name
    return _chosen(tx, previous)


@room.command(
    "workspace.reset",
    also="clear default",
    op="reset",
    example=ResetWorkspace(),
    needs_workspace=False,
)
def reset_workspace(tx: Tx, req: ResetWorkspace) -> WorkspaceChosen:
    """Return to the configured workspace."""
    previous = tx.session.workspace if tx.session else None
    if tx.session:
        tx.session.workspace = None
    return _chosen(tx, previous, cleared=previous is not None)


def _chosen(tx: Tx, previous: str | None, *, cleared: bool = False) -> WorkspaceChosen:
    facts = tx.facts
    override = tx.session.workspace if tx.session else None
    default = (tx.session.home if tx.session else None) or facts.default_workspace
    return WorkspaceChosen(
        workspace=override or default,
        previous=previous or default,
        default_workspace=default,
        workspace_override=override,
        workspace_mode="allowlist"
        if facts.workspace_allowlist
        else "explicit"
        if override
        else "auto",
        override_cleared=cleared,
    )


@room.command(
    "workspace.list",
    also="ls all workspaces.list",
    example=ListWorkspaces(),
    needs_workspace=False,
    trim=[Pop("workspaces")],
)
def list_workspaces(tx: Tx, req: ListWorkspaces) -> WorkspacePage:
    """List the workspaces in this store that the caller may see."""
    facts = tx.facts
    allowed = facts.workspace_allowlist
    if facts.workspace_lock and not allowed:
        allowed = (facts.default_workspace,)
    if tx.by.workspaces is not None:
        limit = tx.by.workspaces
        allowed = tuple(name for name in limit if not allowed or name in allowed) or limit[:1]
    rows = tx.all(sql.workspace_names, limit=10_000 if allowed else req.limit + 1)
    shown = [row for row in rows if not allowed or row["name"] in allowed]
    page = [
        WorkspaceRow(workspace=row["name"], seq=row["seq"], created_at_ms=row["created_at_ms"])
        for row in shown[: req.limit]
    ]
    return WorkspacePage(workspaces=page, count=len(page), has_more=len(shown) > req.limit)
