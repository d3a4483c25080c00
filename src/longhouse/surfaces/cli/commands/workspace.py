"""`longhouse workspace`: the workspaces of this store, and where their work is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longhouse.config import Index, OwnProject, find_store, own_project, own_record, project_root
from longhouse.kernel.errors import StoreUnusable
from longhouse.kernel.refs import check_workspace
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run_list(cli: Cli) -> Shown:
    found = cli.call("workspace.list", limit=200)
    rows = [
        {
            "workspace": row["workspace"],
            "events": row["seq"],
            "work is done in": ", ".join(_places(row)) or "no project",
        }
        for row in found["workspaces"]
    ]
    columns = ("workspace", "events", "work is done in")
    return Shown(found, table(rows, columns) if rows else ["no workspaces yet"])


def run_bind(cli: Cli, name: str, project: str | None = None) -> Shown:
    check_workspace(name)
    cli.need_a_store()
    cli.settings.make_dir()
    given: dict[str, Any] = {"project": project}
    if project is None:
        here = _project_here(cli)
        given = {"project": here.id, "root": str(here.root)}
        _let_name(here, name)
    bound = cli.call("workspace.bind", workspace=name, **given)
    return _told(bound)


def run_unbind(cli: Cli, name: str, project: str | None = None) -> Shown:
    return _told(cli.call("workspace.unbind", workspace=name, project=project))


def _project_here(cli: Cli) -> OwnProject:
    """The project of the current folder, which need not be the one the store was made for.

    One that has no id yet is registered, as `longhouse init` would.
    """
    place = cli.settings.place
    own = own_project(place)
    root = project_root(Path.cwd().resolve())
    if own is not None and (own.root == root or not (root / ".git").exists()):
        return own
    other = find_store(None, root)
    if own_record(other) is None:
        other.make()
    here = own_project(other)
    if here is None:
        raise StoreUnusable(
            f"{root} could not be registered as a project",
            recovery="run `longhouse init` there first",
        )
    return here


def _let_name(here: OwnProject, name: str) -> None:
    """Let the settings in the repository name the workspace, too."""
    index: Index | None = here.listed
    if index is None or here.id not in index.projects():
        return
    with index.change() as listed:
        entry = listed[here.id]
        if name not in (entry.workspace, *entry.workspaces):
            listed[here.id] = entry._replace(workspaces=(*entry.workspaces, name))


def _told(bound: dict[str, Any]) -> Shown:
    places = ", ".join(_places(bound))
    text = f"the work of {bound['workspace']} is done in {places or 'no project'}"
    return Shown(bound, [text])


def _places(row: dict[str, Any]) -> list[str]:
    return [f"{one['root']} ({one['project'][:8]})" for one in row.get("projects", ())]


_PROJECT = Flag("project", "the id of a project on another host", "ID")

command = Command(
    "workspace",
    "List the workspaces of this store, and say where their work is done",
    children=[
        Command("list", "List the workspaces and the projects bound to them", run=run_list),
        Command(
            "bind",
            "Let the work of a workspace be done in this repository",
            args=[Arg("name", "the workspace")],
            flags=[_PROJECT],
            run=run_bind,
            details="""\
Jobs, processes and exports of a workspace touch only projects that are bound to it. A project's own
workspace is bound on first use; another clone or host joins once with this command.""",
            examples=["longhouse workspace bind team"],
        ),
        Command(
            "unbind",
            "Let no more work of a workspace be done in a project, or in any",
            args=[Arg("name", "the workspace")],
            flags=[_PROJECT],
            run=run_unbind,
            examples=["longhouse workspace unbind team"],
        ),
    ],
)
