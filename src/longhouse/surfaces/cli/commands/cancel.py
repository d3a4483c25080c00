"""`longhouse cancel`: stop a background process."""

from __future__ import annotations

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import find_task
from longhouse.surfaces.cli.spec import Arg, Command, Flag, Shown


def run(cli: Cli, task: str, reason: str | None = None, force: bool = False) -> Shown:
    task_id = find_task(cli, task)["task_id"]
    result = cli.call("tool.task_cancel", task_id=task_id, reason=reason, force=force)
    status = result["task"]["status"]
    if status in ("queued", "running"):
        said = f"{task_id} is stopping; it is still {status}"
        if result["task"]["host"] == "silent":
            said += "; its host is silent, so it ends as host_lost within a minute, or add --force"
    elif result["task"]["cause"] == "host_lost":
        said = f"{task_id} is given up: its host is silent (host_lost)"
    else:
        said = f"{task_id} is cancelled" if status == "cancelled" else f"{task_id} already {status}"
    return Shown(result, [said])


command = Command(
    "cancel",
    "Stop a background process",
    args=[Arg("task", "its id or name, such as PROC-001", field="task_id")],
    flags=[
        Flag("reason", "why, for the record", "TEXT"),
        Flag("force", "if its host is silent, do not wait for it"),
    ],
    run=run,
    calls="tool.task_cancel",
    details="Sends TERM and, after a grace period, KILL to the process and everything it started.",
    examples=["longhouse cancel PROC-001", "longhouse cancel dev --reason 'port is needed'"],
)
