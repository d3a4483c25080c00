"""Finds and shows tasks: `tool.task_status`, `tool.task_list`."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.processes.records import Process, existing, named, number_of, ref_of, view_of
from longhouse.processes.room import room, sql
from longhouse.processes.screens import screen_view
from longhouse.processes.types.tasks import ListTasks, TaskList, TaskStatus, ToolTaskStatus
from longhouse.store.tx import Tx

__all__ = ["list_tasks", "task_status"]

ENDLESS = 2**62


def _list_lines(result: dict[str, Any]) -> list[str]:
    rows = [_line(task) for task in result["tasks"]]
    if result.get("next_cursor"):
        rows.append(f"MORE: cursor={result['next_cursor']}")
    return [f"processes count={result['count']}", *rows]


def _line(task: dict[str, Any]) -> str:
    args = task["args"]
    line = args.get("command") or " ".join(map(str, args.get("argv", ()))) or task["tool"]
    code = "" if task["exit_code"] is None else f" exit={task['exit_code']}"
    name = f" {task['name']}" if task["name"] else ""
    return f"{task['task_id']} ({task['status']}){name}{code} | {line[:120]}"


@room.command(
    "tool.task_status",
    also="tool.status tool.task_get tool.task_show tool.show tool.get tool.is_running",
    example=TaskStatus(task_id="PROC-001"),
    trim=[
        Drop("task.leftovers"),
        Drop("task.args"),
        Drop("task.artifacts"),
        Clip("screen.text", 400),
        Drop("screen"),
    ],
    slow=True,
)
def task_status(tx: Tx, req: TaskStatus) -> ToolTaskStatus:
    """Show the state of a background process, by id or name."""
    if (req.task_id is None) == (req.name is None):
        raise InvalidInput(
            "task_id: expected either task_id or name; fix: task_id=PROC-001",
            recovery="list background processes with tool.task_list",
        )
    process = existing(tx, req.task_id) if req.task_id else named(tx, req.name or "")
    screen = screen_view(tx, process) if req.screen else None
    return ToolTaskStatus(task=view_of(tx, process), screen=screen)


@room.command(
    "tool.task_list",
    also="tool.list tool.ps tool.tasks tool.processes ui.background.tasks",
    example=ListTasks(status="running"),
    lines=_list_lines,
    trim=[
        Drop("tasks.leftovers"),
        Drop("tasks.artifacts"),
        Drop("tasks.args"),
        Pop("tasks", leave=1, cursor="task_id"),
    ],
)
def list_tasks(tx: Tx, req: ListTasks) -> TaskList:
    """List background processes, newest first, optionally by status, agent, job or name."""
    rows = _page(tx, req)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    return TaskList(
        tasks=[view_of(tx, Process.from_row(row)) for row in shown],
        count=len(shown),
        has_more=more,
        cursor=req.cursor,
        next_cursor=ref_of(shown[-1]["n"]) if more else None,
    )


def _page(tx: Tx, req: ListTasks) -> list[Any]:
    page = {"before": number_of(req.cursor) if req.cursor else ENDLESS, "limit": req.limit + 1}
    wanted = {"agent": req.agent, "job": req.job, "name": req.name}
    if req.status == "active":
        return tx.all(sql.tasks_active, **wanted, **page)
    if req.status or any(wanted.values()):
        return tx.all(sql.tasks_found, status=req.status, **wanted, **page)
    return tx.all(sql.tasks_newest, **page)
