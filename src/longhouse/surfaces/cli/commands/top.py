"""`longhouse top`: the background processes, live."""

from __future__ import annotations

import time

from longhouse.surfaces.cli.commands.ps import lines
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag, Shown

PAUSE_S = 1.0


def run(cli: Cli, once: bool = False, agent: str | None = None, job: str | None = None) -> object:
    wanted = {"status": "active", "agent": agent, "job": job}
    found = cli.call("tool.task_list", **wanted)
    if once or cli.as_json:
        return Shown(found, lines(cli, found))
    shown = None
    try:
        while True:
            now = [*lines(cli, found)]
            if now != shown:
                cli.out.clear()
                for text in now:
                    cli.out.line(text)
                cli.out.flush()
                shown = now
            time.sleep(PAUSE_S)
            found = cli.call("tool.task_list", **wanted)
    except KeyboardInterrupt:
        return 0


command = Command(
    "top",
    "Watch the background processes of this workspace",
    flags=[
        Flag("once", "print the list once and exit"),
        Flag("agent", "only processes this agent started", "ID"),
        Flag("job", "only processes of this job", "JOB"),
    ],
    run=run,  # type: ignore[arg-type]
    examples=["longhouse top"],
)
