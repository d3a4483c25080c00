"""`longhouse down`: stop the server of this store, and no other process."""

from __future__ import annotations

from pathlib import Path

from longhouse.client import launch, locate
from longhouse.kernel.errors import Conflict
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag, Shown


def run(cli: Cli, force: bool = False) -> Shown:
    folder = cli.settings.dir
    running = launch.alive(folder)
    if running is None:
        return _not_answering(folder, locate.recorded(folder), force=force)
    launch.rest(folder)
    if not launch.stop(running, force=force):
        raise Conflict(
            f"the server (pid {running.pid}) is still finishing its work",
            recovery="wait and repeat, or end it at once: longhouse down --force",
        )
    return _stopped(folder, running, "stopped")


def _stopped(folder: Path, running: locate.Running, how: str) -> Shown:
    """What has stopped with the server, and what goes on without it."""
    from longhouse.runner.presence import runners_here

    here = runners_here(folder)
    lines = [f"{how} (pid {running.pid})"]
    lines.append("until the next `longhouse up` no job is handed out and no runner is started")
    lines += [
        f"runner {one.runner_id} (pid {one.pid}) goes on: what its agents finish waits for the "
        "next server, and each agent is ended when its lease runs out"
        for one in here
    ]
    if here:
        lines.append("stop it as well: longhouse runner stop")
    return Shown(
        {"stopped": True, "pid": running.pid, "runners": [one.runner_id for one in here]}, lines
    )


def _not_answering(folder: Path, running: locate.Running | None, *, force: bool) -> Shown:
    """A record without an answer: a crash left it, or the server hangs."""
    if running is None or not locate.serves(running):
        return Shown({"stopped": False, "pid": None}, [f"no server runs for {folder}"])
    if not force:
        raise Conflict(
            f"the server (pid {running.pid}) does not answer",
            recovery="end it: longhouse down --force",
        )
    launch.rest(folder)
    launch.stop(running, force=True)
    return _stopped(folder, running, "ended")


command = Command(
    "down",
    "Stop the server of this store",
    flags=[Flag("force", "end it at once, even if it does not answer")],
    run=run,
    details="Nothing that was acknowledged is lost, either way.",
)
