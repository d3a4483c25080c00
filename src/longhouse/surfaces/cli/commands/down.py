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
    if not launch.stop(running, force=force):
        raise Conflict(
            f"the server (pid {running.pid}) is still finishing its work",
            recovery="wait and repeat, or end it at once: longhouse down --force",
        )
    return Shown({"stopped": True, "pid": running.pid}, [f"stopped (pid {running.pid})"])


def _not_answering(folder: Path, running: locate.Running | None, *, force: bool) -> Shown:
    """A record without an answer: a crash left it, or the server hangs."""
    if running is None or not locate.serves(running):
        return Shown({"stopped": False, "pid": None}, [f"no server runs for {folder}"])
    if not force:
        raise Conflict(
            f"the server (pid {running.pid}) does not answer",
            recovery="end it: longhouse down --force",
        )
    launch.stop(running, force=True)
    return Shown({"stopped": True, "pid": running.pid}, [f"ended (pid {running.pid})"])


command = Command(
    "down",
    "Stop the server of this store",
    flags=[Flag("force", "end it at once, even if it does not answer")],
    run=run,
    details="Nothing that was acknowledged is lost, either way.",
)
