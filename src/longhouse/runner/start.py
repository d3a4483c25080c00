"""Builds a runner from resolved settings; called by the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from longhouse.client import Wire, launch, locate
from longhouse.config import Settings, own_record, project_ids, project_root
from longhouse.executors import Options, built_in, entry_for, find_executors, is_here
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.event_log import EventLog
from longhouse.runner.loop import Runner
from longhouse.runner.plane import Plane
from longhouse.runner.runner_context import RunnerContext
from longhouse.runner.skills import SkillPacks
from longhouse.runner.tool_tasks.starting import RunnerPolicy

__all__ = ["NoAgent", "build"]


class NoAgent(LonghouseError):
    """No agent is installed here: no `codex` or `claude` on PATH, and no executor plug-in."""

    code = "NO_AGENT"
    status = 409
    exit_code = 5
    fix = "install Codex or Claude Code, or name them with --codex-bin or --claude-bin"


def build(
    settings: Settings,
    options: Options,
    log: EventLog,
    *,
    once: bool = False,
    dry_run: bool = False,
    attach: bool = False,
    start_server: Callable[[], object] | None = None,
) -> Runner:
    """A runner for this store's workspace; `start_server` restarts a crashed server."""
    settings.make_dir()
    root, homes = _root(settings, options, attach=attach), settings.place.homes
    find = finder(settings, options.url)
    if options.url is None and start_server is not None and options.server_start_s:
        find = Finder(settings.dir, find, start_server, options.server_start_s, log)
    executors = find_executors(options, log)
    if not dry_run and not any(map(is_here, executors.values())):
        if once:
            raise NoAgent
        log(
            "runner.no_agent",
            why=f"{NoAgent.__doc__} It runs background processes, and takes jobs once there is one",
        )
    plane = Plane(find, settings.workspace, actor=options.runner_id, tell=log)
    context = RunnerContext(
        plane=plane,
        options=options,
        executors=executors,
        log=log,
        skills=SkillPacks(plane, options),
        workspace=settings.workspace,
        root=root,
        projects=tuple(sorted(project_ids(root, own_record(settings.place), homes.listed))),
        home=settings.dir,
        cache=settings.cache,
        entry=entry_for(options, folder=settings.dir, workspace=settings.workspace),
        dry_run=dry_run,
        policy=RunnerPolicy.of(own_profile(settings), options.run_only),
        shares_folder=options.url is None and settings.is_sqlite,
        keep_days=settings.processes_keep_days,
        find=partial(built_in, options),
    )
    return Runner(context, once=once, attach=attach)


def finder(settings: Settings, url: str | None) -> Callable[[], Wire | None]:
    """A function that finds the server; called again whenever the connection is lost."""
    if url is not None:
        return lambda: locate.wire_to(url, settings.token)

    def find() -> Wire | None:
        found = locate.server_of(settings)
        return found[1] if found else None

    return find


class Finder:
    """Finds the server, and starts one if none has answered for a while.

    Otherwise results might wait for the next `longhouse up`. A server stopped by `longhouse down`
    stays down.
    """

    def __init__(
        self,
        folder: Path,
        find: Callable[[], Wire | None],
        start: Callable[[], object],
        after_s: float,
        log: Callable[..., None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._find = find
        self._start = start
        self._after_s = after_s
        self._log = log
        self._clock = clock
        self._missed_at: float | None = None

    def __call__(self) -> Wire | None:
        found = self._find()
        if found is not None or not launch.is_wanted(self._folder):
            self._missed_at = None
            return found
        now = self._clock()
        if self._missed_at is None:
            self._missed_at = now
        if now - self._missed_at < self._after_s:
            return None
        self._missed_at = now
        try:
            self._start()
            self._log("server.started", why=f"none has answered for {self._after_s} s")
        except (LonghouseError, OSError) as error:
            self._log("server.unstarted", why=str(error))
        return self._find()


def own_profile(settings: Settings) -> str | None:
    """The policy profile that was set for the runner itself; without one, the server's applies."""
    return settings.policy if "policy" in settings.origins else None


def _root(settings: Settings, options: Options, *, attach: bool) -> Path:
    """Where agents work: the `root` option, or else the project that the store was made for.

    In another project's store, a person who stands in a repository means that one.
    """
    if options.root:
        return Path(os.path.realpath(options.root))
    here, own = project_root(Path.cwd()), own_record(settings.place)
    visits = settings.place.chosen and (here / ".git").exists()
    if visits and not attach and own and settings.workspace not in (own.workspace, *own.workspaces):
        return here
    return settings.project_root
