"""`longhouse down`: stop this store's server, and no other process."""

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
            recovery="wait and repeat, or kill it: longhouse down --force",
        )
    return _stopped(folder, running, "stopped")


def _stopped(folder: Path, running: locate.Running, how: str) -> Shown:
    """What stopped with the server, and what continues without it."""
    from longhouse.presence import runners_here

    here = runners_here(folder)
    lines = [f"{how} (pid {running.pid})"]
    lines.append("it hands out no jobs and starts no runners until the next `longhouse up`")
    lines += [
        f"runner {one.runner_id} (pid {one.pid}) keeps running: finished work waits for the "
        "next server, and each agent is stopped when its lease expires"
        for one in here
    ]
    if here:
        lines.append("to stop it too: longhouse runner stop")
    return Shown(
        {"stopped": True, "pid": running.pid, "runners": [one.runner_id for one in here]}, lines
    )


def _not_answering(folder: Path, running: locate.Running | None, *, force: bool) -> Shown:
    """The record of a server that does not answer: it crashed, or it hangs."""
    if running is None or not locate.serves(running):
        return Shown({"stopped": False, "pid": None}, [f"no server is running for {folder}"])
    if not force:
        raise Conflict(
            f"the server (pid {running.pid}) does not answer",
            recovery="kill it: longhouse down --force",
        )
    launch.rest(folder)
    launch.stop(running, force=True)
    return _stopped(folder, running, "killed")


command = Command(
    "down",
    "Stop this store's server",
    flags=[Flag("force", "kill it at once, even if it does not answer")],
    run=run,
    details="Either way, nothing that was acknowledged is lost.",
)
