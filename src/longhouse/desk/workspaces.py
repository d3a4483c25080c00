"""`workspace.*`: lists the workspaces, sets this connection's default, and binds projects."""

from __future__ import annotations

from longhouse.desk.room import room
from longhouse.desk.types.system import (
    BindWorkspace,
    BoundProject,
    ListWorkspaces,
    ResetWorkspace,
    UnbindWorkspace,
    UseWorkspace,
    WorkspaceBound,
    WorkspaceChosen,
    WorkspacePage,
    WorkspaceRow,
)
from longhouse.facts import permit_workspace
from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import Conflict, Forbidden, InvalidInput, UnknownId
from longhouse.kernel.registry import Role
from longhouse.store.projects import bind_project, close_workspace
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
    rows = tx.all(sql.workspace_names, limit=10_000 if allowed or req.name else req.limit + 1)
    shown = [
        row
        for row in rows
        if (not allowed or row["name"] in allowed) and req.name in (None, row["name"])
    ]
    is_operator = tx.by.role >= Role.OPERATOR
    page = [
        WorkspaceRow(
            workspace=row["name"],
            seq=row["seq"],
            created_at_ms=row["created_at_ms"],
            projects=_projects(tx, row["ws"]) if is_operator else [],
        )
        for row in shown[: req.limit]
    ]
    return WorkspacePage(workspaces=page, count=len(page), has_more=len(shown) > req.limit)


@room.command(
    "workspace.bind",
    also="link",
    writes=True,
    idempotent=True,
    role=Role.OPERATOR,
    example=BindWorkspace(workspace="acme"),
    needs_workspace=False,
)
def bind_workspace(tx: Tx, req: BindWorkspace) -> WorkspaceBound:
    """Let the work of a workspace be done in a project: its jobs, processes and exports."""
    number = _number(tx, req.workspace, make=True)
    own = tx.facts.own
    project = req.project or (own.id if own else None)
    if project is None:
        raise InvalidInput(
            "project: this server has no project of its own; name one",
            recovery="run `longhouse workspace bind` in the repository",
        )
    is_own = own is not None and project in (own.id, *own.ids)
    root = str(own.root) if is_own else req.root or "on another host"
    is_home = own is not None and own.ids and req.workspace in own.workspaces
    if own and is_home and not is_own and tx.one(sql.workspace_is_open, number=number):
        bind_project(tx, number, own.id, str(own.root), "first use")  # it is not locked out
    changed = bind_project(tx, number, project, root, _who(tx))
    return _told(tx, req.workspace, number, "workspace_bound", project, changed)


@room.command(
    "workspace.unbind",
    also="workspace.leave workspace.unlink",
    writes=True,
    idempotent=True,
    role=Role.OPERATOR,
    example=UnbindWorkspace(workspace="acme"),
    needs_workspace=False,
)
def unbind_workspace(tx: Tx, req: UnbindWorkspace) -> WorkspaceBound:
    """Let no more work of a workspace be done in a project, or in any."""
    number = _number(tx, req.workspace)
    before = [one.project for one in _projects(tx, number)]
    if req.project is not None:
        tx.run(sql.workspace_project_remove, number=number, project=req.project)
    left = [one for one in before if req.project not in (None, one)]
    if not left:
        close_workspace(tx, number)
    changed = left != before
    return _told(tx, req.workspace, number, "workspace_unbound", req.project or "all", changed)


def _number(tx: Tx, name: str, *, make: bool = False) -> int:
    """The row of a workspace that the caller may give a place; `make` creates it."""
    permit_workspace(tx.facts, name, tx.by.workspaces)
    if tx.by.workspaces is not None:
        raise Forbidden(
            "workspace: a token that is limited to workspaces cannot say where work is done",
            recovery="ask the person who runs this server",
        )
    if make:
        tx.run(sql.workspace_add, name=name, guard=None, now=tx.now_ms)
    row = tx.one(sql.workspace_by_name, name=name)
    if row is None:
        raise UnknownId(
            f"workspace: there is no workspace {name!r}", recovery="list them: workspace.list"
        )
    return int(row["ws"])


def _projects(tx: Tx, number: int) -> list[BoundProject]:
    return [BoundProject(**row) for row in tx.all(sql.workspace_projects, number=number)]


def _who(tx: Tx) -> str:
    return tx.actor or tx.by.who or tx.by.owner


def _told(tx: Tx, name: str, number: int, kind: str, project: str, changed: bool) -> WorkspaceBound:
    if changed:
        tx.append("system", name, kind, {"project": project})
    return WorkspaceBound(workspace=name, changed=changed, projects=_projects(tx, number))
