"""Finds the plan, task or step that a call's arguments name, and checks its revision.

An explicit target always wins; without one, the focus applies; without a focus, the call is refused
with suggestions. Nothing here moves the focus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from longhouse.kernel.errors import InvalidInput, RevisionMismatch, Suggestion, UnknownId
from longhouse.kernel.values import Draft, Request
from longhouse.memory import standing
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.room import sql
from longhouse.work.tree import Tree
from longhouse.work.types.entities import Step, StepTarget, Target

__all__ = [
    "entity_of",
    "entity_row",
    "find_task",
    "given_id",
    "id_of",
    "is_plan",
    "plan_row",
    "something_new",
    "step_named",
    "step_of",
    "task_of",
    "task_row",
    "touch",
    "tree_of",
    "where_to_look",
    "where_to_start",
]

_NAMES = ("target", "task", "plan")


def given_id(req: Target[Any]) -> str | None:
    """The id that the call names; naming two is refused."""
    given = [name for name in _NAMES if getattr(req, name) is not None]
    if len(given) > 1:
        kept, dropped = given[0], given[1]
        raise InvalidInput(
            f"{kept}: expected {kept} or {dropped}, not both; fix: {kept}={_id(req, kept)}",
            hints=[
                {
                    "kind": "choose_one",
                    "fields": given,
                    "options": [{"keep": kept, "drop": dropped}, {"keep": dropped, "drop": kept}],
                }
            ],
        )
    return _id(req, given[0]) if given else None


def _id(req: Target[Any], name: str) -> str:
    value = getattr(req, name)
    if isinstance(value, str):
        return value
    if value.kind not in (None, "task" if value.id.startswith("TASK-") else "plan"):
        raise InvalidInput(
            f"target.kind: {value.id} is not a {value.kind}; fix: target={value.id}",
            recovery="leave kind out",
        )
    return str(value.id)


def id_of(tx: Tx, req: Target[Any]) -> str:
    """The id of the plan or task that the call applies to."""
    found = given_id(req) or standing(tx).focus
    if found is None:
        raise InvalidInput(
            "target: expected a task or plan, or a focus; fix: task=TASK-001",
            recovery="pass task=TASK-…, set a focus with tasks.focus.set, or start a task with "
            "tasks.macro.start",
            suggest=where_to_look(tx),
        )
    return found


def where_to_start(tx: Tx) -> list[Suggestion]:
    """Suggest a ready task to focus on, or a new task if none is ready."""
    from longhouse.work.types.focus import SetFocus

    return _about_ready(tx, lambda row: (SetFocus(task=row["task_id"]), f"focus on {_title(row)}"))


def where_to_look(tx: Tx) -> list[Suggestion]:
    """For a call that names no task: look at what is ready, which changes nothing."""
    from longhouse.work.types.views import GetRadar

    def look(row: Row) -> tuple[Request, str]:
        why = f"see {_title(row)!r}; pass task={row['task_id']} or focus on it"
        return GetRadar(task=row["task_id"]), why

    return _about_ready(tx, look)


def _about_ready(tx: Tx, call: Callable[[Row], tuple[Request, str]]) -> list[Suggestion]:
    """A call about each of the first ready tasks, or a new task if none is ready."""
    rows = tx.all(
        sql.tasks_ready_page, after=0, now=tx.now_ms, assignee=None, plan_id=None, limit=2
    )
    made = [
        Suggestion(*call(row), priority="low" if index else "high")
        for index, row in enumerate(rows)
    ]
    return made or something_new(tx)


def _title(row: Row) -> str:
    return str(row["title"])[:60]


def something_new(tx: Tx, priority: str = "high") -> list[Suggestion]:
    """Suggest a new task; the command is the desk's, so it is looked up by name, not imported."""
    start = "tasks.macro.start"
    if start not in tx.facts.registry:
        return []
    begin = Draft(start, {}, ["task_title"])
    return [Suggestion(begin, "start a task", priority=priority, action_id=f"next::{start}")]


def is_plan(row: Row) -> bool:
    """Whether a row is that of a plan, not of a task."""
    return "checklist" in row


def entity_row(tx: Tx, entity: str) -> Row:
    """The row of a plan or task, or UnknownId."""
    return plan_row(tx, entity) if entity.startswith("PLAN-") else task_row(tx, entity)


def entity_of(tx: Tx, req: Target[Any]) -> Row:
    """The row of the plan or task that the call applies to."""
    return entity_row(tx, id_of(tx, req))


def task_of(tx: Tx, req: Target[Any]) -> Row:
    """The row of the task that the call applies to; a plan is refused."""
    entity = id_of(tx, req)
    if entity.startswith("PLAN-"):
        raise InvalidInput(
            f"target: {entity} is a plan, but this command needs a task; fix: task=TASK-001",
            recovery="pass task=TASK-…, or focus on a task",
        )
    return task_row(tx, entity)


def task_row(tx: Tx, task_id: str, field: str = "task") -> Row:
    if row := find_task(tx, task_id):
        return row
    raise _unknown(tx, field, task_id)


def find_task(tx: Tx, task_id: str) -> Row | None:
    """The row of a task, or None."""
    return tx.one(sql.task_by_id, task_id=task_id)


def plan_row(tx: Tx, plan_id: str, field: str = "plan") -> Row:
    if row := tx.one(sql.plan_by_id, plan_id=plan_id):
        return row
    raise _unknown(tx, field, plan_id)


def _unknown(tx: Tx, field: str, entity: str) -> UnknownId:
    from longhouse.work.types.views import GetContext

    return UnknownId(
        f"{field}: there is no {entity}",
        recovery="copy an id from tasks.context",
        suggest=[
            *_in_focus(tx, entity),
            Suggestion(GetContext(), "list plans and tasks"),
        ],
    )


def _in_focus(tx: Tx, besides: str) -> list[Suggestion]:
    """Suggest a snapshot of the work in focus, if something other than `besides` is in focus."""
    from longhouse.work.targets import known_target

    snapshot, focus = "tasks.snapshot", standing(tx).focus
    if focus in (None, besides) or known_target(tx, focus) is None:
        return []
    if snapshot not in tx.facts.registry:
        return []
    return [
        Suggestion(
            Draft(snapshot, {}),
            "see the state of the work in focus",
            action_id="recover.portal.snapshot",
        )
    ]


def touch(tx: Tx, entity: Row, expected: int | None) -> Row:
    """Increment the revision, or refuse if it is not the expected one."""
    from longhouse.work.types.views import GetRadar

    key = "plan_id" if is_plan(entity) else "task_id"
    query = sql.plan_touch if is_plan(entity) else sql.task_touch
    row = tx.one(query, **{key: entity[key]}, expected=expected, now=tx.now_ms)
    if row is None:
        raise RevisionMismatch(
            f"expected_revision: {entity[key]} expected={expected} actual={entity['revision']}",
            suggest=[Suggestion(GetRadar(target=entity[key]), "see its current state")],
        )
    return row


def tree_of(tx: Tx, task_id: str) -> Tree:
    """The steps of a task."""
    return Tree(Step.from_row(row) for row in tx.all(sql.steps_of_task, task_id=task_id))


class NamedStep(NamedTuple):
    """A step with the row of its task, and its path."""

    task: Row
    step: Step
    path: str


def step_named(tx: Tx, req: StepTarget[Any]) -> NamedStep:
    """The step that the call applies to: by id or path, else the first open one of the task."""
    task = task_of(tx, req)
    tree = tree_of(tx, task["task_id"])
    step = step_of(tree, task["task_id"], req)
    return NamedStep(task, step, tree.paths[step.step_id])


def step_of(tree: Tree, task_id: str, req: StepTarget[Any]) -> Step:
    """The step by id or path, else the first open one."""
    from longhouse.work.types.views import GetRadar

    if req.step_id is not None and req.path is not None:
        raise InvalidInput(
            f"step_id: expected step_id or path, not both; fix: step_id={req.step_id}",
            hints=[
                {
                    "kind": "choose_one",
                    "fields": ["step_id", "path"],
                    "options": [
                        {"keep": "step_id", "drop": "path"},
                        {"keep": "path", "drop": "step_id"},
                    ],
                }
            ],
        )
    look = [Suggestion(GetRadar(task=task_id), "list its steps")]
    if req.step_id is None and req.path is None:
        found = tree.first_open()
        if found is None:
            raise InvalidInput(
                f"path: {task_id} has no open step; fix: path=s:0",
                recovery="pass path=s:0 or step_id=STEP-…, or add steps: tasks.plan.decompose",
                suggest=look,
            )
        return found
    by_path = tree.at(req.path) if req.path is not None else None
    found = by_path or tree.by_id.get(req.step_id or "")
    if found is None:
        name = "step_id" if req.step_id else "path"
        raise UnknownId(
            f"{name}: {task_id} has no step {req.step_id or req.path}",
            recovery="copy a path or step_id from tasks.radar",
            suggest=look,
        )
    return found
