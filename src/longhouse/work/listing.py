"""Lists: plans and tasks page by page, and the tasks that are ready.

A page costs the same no matter how many tasks there are, because it is read from an index of
traits. Cursors are ids: a page continues after the plan or task that its cursor names.
"""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.lines import cell
from longhouse.memory import normal_tags
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.lookup import task_row
from longhouse.work.projections import counts, ready_at
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Plan, Task
from longhouse.work.types.views import Context, GetContext, ListPagination, ListReady, Ready

__all__ = [
    "task_line",
    "tasks_page",
]

MOST_TRAITS = 7


def _context_lines(result: dict[str, Any]) -> list[str]:
    total, by = result["counts"], result["by_status"]["tasks"]
    states = " ".join(f"{name.lower()}={by[name]}" for name in by)
    head = f"context plans={total['plans']} tasks={total['tasks']} {states}"
    rows = [f"{p['id']} ({p['status']}) {cell(p['title'], 80)}" for p in result["plans"]]
    rows += [task_line(task) for task in result["tasks"]]
    pages = (("plans", result["plans_pagination"]), ("tasks", result["tasks_pagination"]))
    more = [f"{name}_cursor={page['next_cursor']}" for name, page in pages if page["has_more"]]
    return [head, *rows, *([f"MORE: {' '.join(more)}"] if more else [])]


def task_line(task: dict[str, Any]) -> str:
    """`TASK-001 (ACTIVE) title | plan=PLAN-001 | steps=1/3`, plus assignee and waits_for if set."""
    done = task["steps_total"] - task["steps_open"]
    parts = [
        f"{task['id']} ({task['status']}) {cell(task['title'], 80)}",
        f"plan={task['plan_id']}",
        f"steps={done}/{task['steps_total']}",
    ]
    if task.get("assignee"):
        parts.append(f"assignee={task['assignee']}")
    if task.get("waits_for"):
        parts.append(f"waits_for={task['waits_for']}")
    return " | ".join(parts)


_SHORTER = [
    Drop("plans.description"),
    Drop("plans.context"),
    Drop("plans.contract_data"),
    Drop("tasks.description"),
    Drop("tasks.context"),
    Drop("plans.checklist"),
]


@room.command(
    "tasks.context",
    also=(
        "list ls all query search tasks.plan.list plans plans.list find mine my filter board kanban"
    ),
    example=GetContext(tasks_limit=20),
    lines=_context_lines,
    trim=[
        *_SHORTER,
        Pop("plans", leave=3, cursor="id"),
        Pop("tasks", leave=1, cursor="id"),
        Pop("plans", cursor="id"),
        Pop("tasks", cursor="id"),
    ],
)
def get_context(tx: Tx, req: GetContext) -> Context:
    """List the workspace's open plans and tasks, page by page, with counts by state."""
    plans = _plans(tx, req) if req.plans_limit else []
    tasks = _tasks(tx, req) if req.tasks_limit else []
    by = {kind: counts(tx, kind) for kind in ("plans", "tasks")}
    return Context(
        counts={kind: sum(states.values()) for kind, states in by.items()},
        by_status=by,
        plans=[Plan.from_row(row, tx.workspace) for row in plans[: req.plans_limit]],
        tasks=[Task.from_row(row, tx.workspace) for row in tasks[: req.tasks_limit]],
        plans_pagination=_pagination(plans, "plan_id", req.plans_cursor, req.plans_limit),
        tasks_pagination=_pagination(tasks, "task_id", req.tasks_cursor, req.tasks_limit),
    )


def _plans(tx: Tx, req: GetContext) -> list[Row]:
    page = {"after": _number(req.plans_cursor), "limit": req.plans_limit + 1}
    if req.plans_status:
        return tx.all(sql.plans_status_page, status=req.plans_status, **page)
    return tx.all(sql.plans_page if req.include_all else sql.plans_open_page, **page)


def _tasks(tx: Tx, req: GetContext) -> list[Row]:
    if req.unproved:
        for name in ("tasks_status", "assignee", "domain", "tags"):
            if getattr(req, name):
                raise InvalidInput(
                    f"{name}: cannot be combined with unproved; fix: leave {name} out",
                    recovery="combine unproved only with tasks_parent",
                )
        return tx.all(
            sql.tasks_unproved_page,
            trait=f"plan:{req.tasks_parent}:DONE" if req.tasks_parent else "status:DONE",
            after=_number(req.tasks_cursor),
            limit=req.tasks_limit + 1,
        )
    state = req.tasks_status or (None if req.include_all else "open")
    traits = [f"tag:{tag}" for tag in normal_tags(req.tags, "tags")]
    if req.assignee:
        traits.append(f"assignee:{req.assignee}")
    if req.domain:
        traits.append(f"domain:{req.domain}")
    if req.tasks_parent:
        traits.append(f"plan:{req.tasks_parent}" + (f":{state}" if state else ""))
    elif state:
        traits.append("open" if state == "open" else f"status:{state}")
    return tasks_page(tx, traits, after=_number(req.tasks_cursor), limit=req.tasks_limit + 1)


def tasks_page(tx: Tx, traits: list[str], *, after: int = 0, limit: int) -> list[Row]:
    """Tasks that have all of these traits, in order of creation."""
    if not traits:
        return tx.all(sql.tasks_page, after=after, limit=limit)
    asked = dict.fromkeys([f"t{n}" for n in range(MOST_TRAITS)])
    asked.update({f"t{n}": trait for n, trait in enumerate(traits)})
    return tx.all(sql.tasks_with_traits, after=after, limit=limit, **asked)


def _number(cursor: str | None) -> int:
    return int(cursor.partition("-")[2]) if cursor else 0


def _pagination(rows: list[Row], key: str, cursor: str | None, limit: int) -> ListPagination:
    more = bool(limit) and len(rows) > limit
    return ListPagination(
        cursor=cursor,
        next_cursor=rows[limit - 1][key] if more else None,
        has_more=more,
        limit=limit,
        count=min(len(rows), limit),
    )


def _ready_lines(result: dict[str, Any]) -> list[str]:
    more = [f"MORE: cursor={result['next_cursor']}"] if result["has_more"] else []
    return [f"ready count={result['count']}", *map(task_line, result["tasks"]), *more]


@room.command(
    "tasks.ready",
    also="available todo backlog tasks.open.tasks",
    example=ListReady(),
    lines=_ready_lines,
    trim=[Drop("tasks.description"), Drop("tasks.context"), Pop("tasks", leave=1, cursor="id")],
)
def list_ready(tx: Tx, req: ListReady) -> Ready:
    """List tasks to work on now: open, not parked, waiting for no other task; most urgent first."""
    after = 0
    if req.cursor:
        row = task_row(tx, req.cursor, "cursor")
        after = ready_at({**row, "status": "TODO", "waits_for": 0}) or 0
    rows = tx.all(
        sql.tasks_ready_page,
        after=after,
        now=tx.now_ms,
        assignee=req.assignee,
        plan_id=req.plan,
        limit=req.limit + 1,
    )
    page = _pagination(rows, "task_id", req.cursor, req.limit)
    return Ready(
        tasks=[Task.from_row(row, tx.workspace) for row in rows[: req.limit]],
        count=page.count,
        has_more=page.has_more,
        next_cursor=page.next_cursor,
    )
