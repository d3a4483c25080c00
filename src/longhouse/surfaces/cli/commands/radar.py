"""`longhouse radar`: who works on what and who waits for you, once or live."""

from __future__ import annotations

import time
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Command, Flag, Shown

PAUSE_S = 1.0


def run(cli: Cli, watch: bool = False, **filters: Any) -> Shown | int:
    if not watch:
        if cli.as_json:
            return Shown(cli.call("jobs.radar", **filters))
        return Shown(None, [cli.call("jobs.radar", fmt="lines", **filters)])
    shown = None
    try:
        while True:
            # A claim can lapse without anything being written, so looking is the way to see it.
            now = _look(cli, filters)
            if now != shown:
                cli.out.clear()
                cli.out.line(now)
                cli.out.flush()
                shown = now
            time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        return 0


def _look(cli: Cli, filters: dict[str, Any]) -> str:
    if not cli.as_json:
        return str(cli.call("jobs.radar", fmt="lines", **filters))
    import json

    return json.dumps(cli.call("jobs.radar", **filters), ensure_ascii=False)


command = Command(
    "radar",
    "Show who works on what and which jobs need you",
    flags=[
        Flag("watch", "stay, and show every change, until Ctrl-C"),
        Flag("status", "only jobs of this status", "STATUS"),
        Flag("task", "only jobs of this task", "TASK"),
        Flag("anchor", "only jobs of this anchor", "ANCHOR"),
        Flag("limit", "how many jobs (default: 25)", "N", kind=int),
    ],
    run=run,
    details="? asks you something, ! has an error or lacks proof, ~ has lost its runner.",
    examples=["longhouse radar --watch", "longhouse job reply JOB-001 'Use staging.'"],
)
