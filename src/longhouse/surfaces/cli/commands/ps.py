"""`longhouse ps`: the background processes of this workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.processes import line_of
from longhouse.surfaces.cli.render import ago, table
from longhouse.surfaces.cli.spec import AS_OF, Command, Flag, Shown

_COLUMNS = ("id", "status", "name", "pid", "ports", "started", "command")


def run(cli: Cli, all: bool = False, **filters: Any) -> Shown:
    if not all:
        filters.setdefault("status", "active")
    found = cli.call("tool.task_list", **filters)
    return Shown(found, lines(cli, found, all=all))


def lines(cli: Cli, found: dict[str, Any], *, all: bool = False) -> Iterator[str]:
    yield from table([_row(task) for task in found["tasks"]], _COLUMNS)
    if not found["tasks"]:
        yield "no background processes" if all else "nothing is running; finished: longhouse ps -a"
    if cursor := found.get("next_cursor"):
        yield cli.out.style(f"more: --cursor {cursor}", "dim")


def _row(task: dict[str, Any]) -> dict[str, Any]:
    status = "held" if task["held"] else task["status"]
    if task["exit_code"] is not None:
        status += f" {task['exit_code']}"
    elif task["signal"] or task["cause"]:
        status += f" ({task['signal'] or task['cause']})"
    if task["queue_position"]:
        status += f" ({task['queue_position']})"
    if task["host"] in ("silent", "frozen"):
        status += f", host {task['host']}"
    return {
        "id": task["task_id"],
        "status": status,
        "name": task["name"] or "-",
        "pid": task["pid"] or "-",
        "ports": ",".join(map(str, task["ports"])) or "-",
        "started": ago(task["started_at_ms"]) if task["started_at_ms"] else "-",
        "command": line_of(task),
    }


command = Command(
    "ps",
    "List the background processes of this workspace",
    flags=[
        Flag("all", "include finished processes", short="a"),
        Flag("status", "only processes with this status", "STATUS"),
        Flag("agent", "only processes this agent started", "ID"),
        Flag("job", "only processes of this job", "JOB"),
        Flag("limit", "how many", "N", kind=int),
        Flag("cursor", "continue after this process", "PROC"),
        AS_OF,
    ],
    run=run,
    calls="tool.task_list",
    examples=["longhouse ps", "longhouse ps --all --job JOB-001"],
)
