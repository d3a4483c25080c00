"""`longhouse signal`: send a signal to a program running in a terminal."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import carried_out, find_task
from longhouse.surfaces.cli.spec import Arg, Command, Shown


def run(cli: Cli, task: str, name: str) -> Shown:
    found = find_task(cli, task)
    frame = carried_out(cli, found, "tool.task_signal", signal=name)
    return Shown(frame, [f"{found['task_id']} was sent {frame.get('signal', name)}"])


command = Command(
    "signal",
    "Send a signal to a program running in a terminal",
    args=[
        Arg("task", "its id or name, such as PROC-001", field="task_id"),
        Arg("name", "such as INT, TERM or USR1", field="signal"),
    ],
    run=run,
    calls="tool.task_signal",
    details="The signal goes to the terminal's foreground process. To stop a program without a "
    "terminal, use `longhouse cancel`.",
    examples=["longhouse signal PROC-001 INT"],
)
