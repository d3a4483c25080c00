"""Puts a runner together from resolved settings; the command line calls this."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from longhouse.client import locate
from longhouse.client.wire import Wire
from longhouse.config import DIR_NAME, Settings
from longhouse.runner.event_log import EventLog
from longhouse.runner.executors import find_executors
from longhouse.runner.loop import Runner
from longhouse.runner.options import Options
from longhouse.runner.plane import Plane
from longhouse.runner.runner_context import RunnerContext, entry_for
from longhouse.runner.skills import SkillPacks

__all__ = ["build"]


def build(
    settings: Settings,
    options: Options,
    log: EventLog,
    *,
    once: bool = False,
    dry_run: bool = False,
    attach: bool = False,
) -> Runner:
    """A runner of this store's workspace."""
    plane = Plane(
        finder(settings, options.url), settings.workspace, actor=options.runner_id, tell=log
    )
    context = RunnerContext(
        plane=plane,
        options=options,
        executors=find_executors(options, log),
        log=log,
        skills=SkillPacks(plane, options),
        workspace=settings.workspace,
        root=_root(settings, options),
        home=settings.dir,
        entry=entry_for(
            options, folder=settings.dir, workspace=settings.workspace, token=settings.token
        ),
        dry_run=dry_run,
    )
    return Runner(context, once=once, attach=attach)


def finder(settings: Settings, url: str | None) -> Callable[[], Wire | None]:
    """How to reach the server, anew after it was away."""
    if url is not None:
        return lambda: locate.wire_to(url, settings.token)

    def find() -> Wire | None:
        found = locate.server_of(settings)
        return found[1] if found else None

    return find


def _root(settings: Settings, options: Options) -> Path:
    """Where agents work: where they are told to, else the repository that the store lies in."""
    if options.root:
        return Path(options.root).absolute()
    if settings.dir.name == DIR_NAME:
        return settings.dir.parent
    return settings.project_root
