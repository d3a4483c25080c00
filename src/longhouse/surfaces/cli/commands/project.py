"""`longhouse project`: which project has its store where."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from longhouse.config import Index, ProjectEntry
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.refs import check_workspace
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.render import table
from longhouse.surfaces.cli.spec import Arg, Command, Shown


def _index() -> Index:
    from longhouse.config import Homes

    return Homes.of().need_index()


def run_list(cli: Cli) -> Shown:
    rows = [_row(project) for project in _index().projects().values()]
    rows.sort(key=lambda row: row["root"])
    columns = ("id", "state", "workspace", "root", "store")
    shown = [{**row, "id": row["id"][:8]} for row in rows]
    return Shown({"projects": rows}, table(shown, columns) if rows else ["no projects yet"])


def _row(project: ProjectEntry) -> dict[str, Any]:
    if project.moving:
        state = "moving"
    elif not project.store.is_dir():
        state = "store gone"
    else:
        state = "here" if project.is_here else "orphan"
    return {**project.shown(), "state": state}


def run_adopt(cli: Cli, what: str) -> Shown:
    from longhouse.surfaces.cli.adopting import adopt_folder, adopt_here, chosen

    named = Path(what).absolute()
    folder = Path(os.path.realpath(named.parent), named.name)
    known = _index().of_store(folder)
    if known is None and folder.is_dir():
        settings = adopt_folder(cli, folder)
    else:
        settings = adopt_here(cli, known or chosen(_index(), what))
    return _where(settings.project_root, settings.dir)


def run_forget(cli: Cli, project: str) -> Shown:
    from longhouse.surfaces.cli.adopting import chosen, forget

    index = _index()
    found = chosen(index, project)
    forget(index, found)
    text = f"{found.root} is no longer listed; its store stays in {found.store}"
    return Shown({"id": found.id, "store": str(found.store)}, [text])


def run_move(cli: Cli, folder: str) -> Shown:
    from longhouse.surfaces.cli.adopting import move_to

    settings = move_to(cli, Path(folder))
    if settings.dir.is_relative_to(settings.project_root):
        cli.out.note("note", "the store is now inside the work tree, where agents can reach it")
    return _where(settings.project_root, settings.dir)


def run_bind(cli: Cli, name: str) -> Shown:
    from longhouse.config import find_store

    # Not through the settings: they refuse a repository that names an unbound workspace.
    index, project = _index(), find_store(cli.flags.get("dir"), Path.cwd()).project
    if project is None:
        raise UnknownId("there is no store here yet", recovery="create one with `longhouse init`")
    bound = (*project.workspaces, check_workspace(name))
    with index.change() as listed:
        listed[project.id] = project._replace(workspaces=tuple(dict.fromkeys(bound)))
    return Shown({"workspace": name}, [f"{name} is bound to {project.root}"])


def _where(root: Path, store: Path) -> Shown:
    return Shown({"root": str(root), "store": str(store)}, [f"the store of {root} is {store}"])


command = Command(
    "project",
    "List your projects and their stores; move, adopt or forget one",
    children=[
        Command("list", "List the projects of this user and where their stores are", run=run_list),
        Command(
            "adopt",
            "Connect a store that has no project to this repository",
            args=[Arg("what", "a project's id from `project list`, or a store's folder")],
            run=run_adopt,
            details="""\
A folder is moved to where stores belong. Nothing in it runs until you say so: its rules are
withdrawn and its queued work is held.""",
            examples=["longhouse project adopt 1f0c9a2e", "longhouse project adopt ./.longhouse"],
        ),
        Command(
            "forget",
            "Remove a project from the list; its store stays where it is",
            args=[Arg("project", "its id from `project list`, its root or its store")],
            run=run_forget,
            examples=["longhouse project forget 1f0c9a2e"],
        ),
        Command(
            "move",
            "Move this project's store to another folder",
            args=[Arg("folder", "the new folder, which must not exist yet")],
            run=run_move,
            details="Refused while a server, a runner or a background process uses the store.",
            examples=["longhouse project move /srv/longhouse/acme"],
        ),
        Command(
            "bind",
            "Let this repository's .longhouse/config.toml name a workspace",
            args=[Arg("name", "the workspace")],
            run=run_bind,
            examples=["longhouse project bind team"],
        ),
    ],
)
