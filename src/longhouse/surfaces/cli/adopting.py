"""Adopts a store that an earlier version, an archive or another project left, and moves stores.

Only a person does this: `longhouse up`, `init` and `project`. Whatever the store holds may have
been written by others, so nothing of it runs until the person says so: rules are withdrawn, queued
work is held, and only tokens of clients that this user's own configuration knows are kept.
"""

from __future__ import annotations

import fcntl
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from longhouse.client.locate import LOCK_NAME, recorded, serves
from longhouse.config import (
    Index,
    ProjectEntry,
    Settings,
    StorePlace,
    check_folder,
    check_tracked,
    git_id,
    id_file,
    load,
    new_id,
)
from longhouse.config import moving as steps
from longhouse.kernel.errors import Conflict, UnknownId
from longhouse.kernel.private_files import open_private
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.client_tokens import move_tokens

__all__ = ["adopt_folder", "adopt_here", "chosen", "move_to", "settle_store"]


def settle_store(cli: Cli) -> None:
    """Before a person's command makes or starts a store: adopt an old one, or finish a move."""
    place = cli.settings.place
    if place.project is not None and place.project.moving:
        _arrive(cli, place.homes.need_index(), place.project)
    elif place.old is not None:
        adopt_folder(cli, place.old)


def adopt_folder(cli: Cli, source: Path) -> Settings:
    """Adopt the store in this folder for the current project; returns where it is now."""
    place = cli.settings.place
    index = place.homes.need_index()
    check_folder(source)
    check_tracked(source)
    if place.project is not None and not place.chosen:
        raise Conflict(
            f"this project already has the store {place.folder}",
            recovery=f"disconnect it first: longhouse project forget {place.project.id[:8]}",
        )
    project = _prospect(place, source)
    owner = source.stat().st_uid
    with _alone(source):
        _refuse_altered(source / "longhouse.db")
        settings = _arrive(cli, index, steps.begin(index, project, source, steps.ADOPT))
    cli.out.note("note", f"adopted {source}, owned by {_name(owner)}; it is now {settings.dir}")
    return settings


def _refuse_altered(path: Path) -> None:
    from longhouse.store.upkeep.foreign import refuse_altered

    if path.exists():
        refuse_altered(path)


def _prospect(place: StorePlace, source: Path) -> ProjectEntry:
    """What the adopted store will be: beside the others, or where the user put it."""
    store = source if place.chosen else place.folder
    return ProjectEntry(
        id=new_id(),
        root=place.root,
        git_dir=None if place.chosen else place.git_dir,
        store=store,
        workspace=place.workspace,
        cache=place.cache,
        chosen=place.chosen,
    )


def adopt_here(cli: Cli, project: ProjectEntry) -> Settings:
    """Connect the store of a project that is gone to the current repository."""
    place = cli.settings.place
    if project.is_here:
        raise Conflict(
            f"project {project.id[:8]} is still in {project.root}",
            recovery="go there; two repositories cannot share a store this way",
        )
    if place.project is not None:
        raise Conflict(
            f"this project already has the store {place.folder}",
            recovery=f"disconnect it first: longhouse project forget {place.project.id[:8]}",
        )
    moved = project._replace(root=place.root, git_dir=place.git_dir)
    if moved.moving:
        return _arrive(cli, place.homes.need_index(), moved)
    steps.settle(place.homes.need_index(), moved)
    return _again(cli)


def move_to(cli: Cli, target: Path) -> Settings:
    """Move the current project's store to another folder."""
    settings = cli.settings
    project, index = settings.place.project, settings.place.homes.need_index()
    if project is None:
        raise UnknownId(
            f"{settings.dir} is not listed as the store of a project",
            recovery="see `longhouse project list`",
        )
    target = Path(os.path.realpath(target.absolute().parent), target.name)
    with _alone(project.store):
        started = steps.begin(index, project._replace(store=target), project.store, steps.MOVE)
        return _arrive(cli, index, started)


def _arrive(cli: Cli, index: Index, project: ProjectEntry) -> Settings:
    """Finish a move, hold what came with an adopted store, and open it to everyone."""
    before = cli.settings
    source = project.formerly[-1] if project.formerly else project.store
    project = steps.finish(index, project)
    place = before.place._replace(
        folder=project.store, project=project._replace(moving=""), old=None
    )
    _move_tokens(before._replace(dir=source, db=_db_in(source, before)), project.store)
    if project.moving.startswith(steps.ADOPT):
        from longhouse.surfaces.cli.holding import disarm_folder, hold_what_came

        for text in disarm_folder(project.store):
            cli.out.note("note", text)
        # What lies in the folder, whatever database the user has named.
        own, artifacts = project.store / "longhouse.db", project.store / "artifacts"
        if own.exists():
            there = before._replace(
                dir=project.store, db=str(own), artifacts=artifacts, place=place
            )
            for text in hold_what_came(there):
                cli.out.note("note", text)
    steps.settle(index, project)
    return _again(cli)


def _move_tokens(settings: Settings, target: Path) -> None:
    move_tokens(settings, settings._replace(dir=target, db=_db_in(target, settings)))


def _db_in(folder: Path, settings: Settings) -> str:
    """The database once the store is in that folder; one that the user named stays where it is."""
    return settings.db if settings.names_a_store else str(folder / "longhouse.db")


def _again(cli: Cli) -> Settings:
    """The settings, resolved anew after the store moved."""
    cli.settings = load(cli.flags)
    return cli.settings


def chosen(index: Index, wanted: str) -> ProjectEntry:
    """The project whose id begins with `wanted`, or whose root or store it is."""
    known = index.projects().values()
    path = Path(wanted).absolute()
    found = [
        one
        for one in known
        if path in (one.root, one.store) or (len(wanted) >= 4 and one.id.startswith(wanted))
    ]
    if len(found) != 1:
        raise UnknownId(
            f"no project is called {wanted}" if not found else f"{wanted} names several projects",
            recovery="see `longhouse project list`",
        )
    return found[0]


def forget(index: Index, project: ProjectEntry) -> None:
    """Remove a project from the list; its store stays where it is."""
    with _alone(project.store) if project.store.is_dir() else nullcontext():
        if project.git_dir is not None and git_id(project.git_dir) == project.id:
            id_file(project.git_dir).unlink(missing_ok=True)
        with index.change() as listed:
            listed.pop(project.id, None)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep every server out, and refuse while anything lives in the store."""
    from longhouse.presence import runners_here
    from longhouse.runner import running_host

    running = recorded(folder)
    if running is not None and serves(running):
        raise _lives(folder, f"its server runs (pid {running.pid})", "longhouse down")
    if here := runners_here(folder):
        raise _lives(folder, f"its runner {here[0].runner_id} runs", "longhouse runner stop")
    for host in sorted((folder / "tasks").glob("*")):
        if running_host(host) is not None:
            raise _lives(
                folder, f"background processes of {host.name} run", "longhouse ps, then cancel"
            )
    lock = open_private(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise _lives(folder, "a server is starting or stopping", "longhouse down") from None
    finally:
        os.close(lock)


def _lives(folder: Path, what: str, command: str) -> Conflict:
    return Conflict(
        f"the store in {folder} is in use: {what}",
        recovery=f"{command} --dir {folder}, then try again",
    )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
