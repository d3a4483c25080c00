"""Steps: adding, describing, blocking, changing and removing them.

Every change honors the step's lease.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.events import gone_ops, happened, step_ops
from longhouse.work.leases import guard
from longhouse.work.lookup import step_of, task_of, touch, tree_of
from longhouse.work.room import room, sql
from longhouse.work.states import CLOSED
from longhouse.work.tree import MAX_DEPTH, MAX_STEPS, Tree
from longhouse.work.types.changing import Block, Define, Note
from longhouse.work.types.creating import Decompose, Decomposed
from longhouse.work.types.entities import (
    Event,
    NewStep,
    NewSteps,
    Step,
    StepDetail,
    StepMoved,
    StepPlaced,
    StepTarget,
)

__all__ = [
    "StepChange",
    "add_steps",
    "change_step",
    "described",
    "moved",
    "must_be_open",
    "remove_steps",
    "rows_of",
    "step_change",
    "steps_from",
]

_BULLET = re.compile(r"\s*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(?:\[[ xX]?\]\s+)?")


@room.command(
    "tasks.plan.decompose",
    also=(
        "decompose steps tasks.steps.add tasks.step.add tasks.step.create split "
        "tasks.add.steps breakdown subtask subtasks todos tasks.todos.write tasks.todo.write "
        "tasks.task.split"
    ),
    op="plan.decompose",
    writes=True,
    additive=True,
    example=Decompose(
        task="TASK-001",
        steps=[NewStep(title="Measure", success_criteria=["The slow query is named"])],
    ),
)
def decompose(tx: Tx, req: Decompose) -> Decomposed:
    """Add steps to a task; with parent=, below one of its steps."""
    row = task_of(tx, req)
    must_be_open(row)
    task = touch(tx, row, req.expected_revision)
    placed, event = add_steps(tx, task["task_id"], steps_from(req.steps), parent=req.parent)
    return Decomposed(task=task["task_id"], revision=task["revision"], steps=placed, event=event)


def steps_from(given: NewSteps) -> list[NewStep]:
    """The steps described by objects, titles or lines of text.

    A bare title is also the step's success criterion.
    """
    if isinstance(given, str):
        lines = (_BULLET.sub("", line, count=1).strip() for line in given.splitlines())
        given = [line for line in lines if line]
    if not given or any(isinstance(one, str) and not one.strip() for one in given):
        raise InvalidInput('steps: expected a title for each; fix: steps=["Measure", "Fix"]')
    if long := next((one for one in given if isinstance(one, str) and len(one) > 200), None):
        raise InvalidInput(
            f"steps: {long[:40]!r}… is longer than 200 characters; fix: steps=[{{title, tests}}]",
            recovery="use a short title; details go into success_criteria, tests or a note",
        )
    return [
        NewStep(title=one.strip(), success_criteria=[one.strip()]) if isinstance(one, str) else one
        for one in given
    ]


def must_be_open(task: Row) -> None:
    """Refuse a change that would leave a closed task with open steps."""
    if task["status"] not in CLOSED:
        return
    from longhouse.work.types.changing import Complete

    raise Conflict(
        f"task: {task['task_id']} is {task['status']}",
        recovery="reopen it with tasks.complete status=ACTIVE",
        suggest=[Suggestion(Complete(task=task["task_id"], status="ACTIVE"), "reopen it")],
    )


def add_steps(
    tx: Tx, task_id: str, steps: list[NewStep], *, parent: str | None = None
) -> tuple[list[StepPlaced], Event]:
    """Append steps with their substeps; returns the path of each, in reading order."""
    tree = tree_of(tx, task_id)
    above = _parent(tx, tree, task_id, parent) if parent is not None else None
    made: list[tuple[str, str | None, int, NewStep]] = []
    ordinals: dict[str | None, int] = {above: tree.next_ordinal(above)}
    waiting = [(step, above, tree.depth(above)) for step in reversed(steps)]
    count = sum(1 for _ in _all(steps))
    if len(tree.by_id) + count > MAX_STEPS:
        raise InvalidInput(
            f"steps: a task has at most {MAX_STEPS} steps; fix: create another task",
            recovery="create another task with tasks.plan.create kind=task",
        )
    first = tx.count("step", count) - count + 1
    while waiting:
        step, under, depth = waiting.pop()
        if depth >= MAX_DEPTH:
            raise InvalidInput(
                f"steps: nested deeper than {MAX_DEPTH} levels; fix: put them higher up"
            )
        step_id = f"STEP-{first + len(made):08X}"
        made.append((step_id, under, ordinals.get(under, 0), step))
        ordinals[under] = ordinals.get(under, 0) + 1
        waiting.extend((child, step_id, depth + 1) for child in reversed(step.steps))
    tx.many(sql.step_add, [_columns(tx, task_id, *one) for one in made])
    tx.run(sql.task_count_steps, task_id=task_id, total=count, open=count)
    after = tree_of(tx, task_id)
    placed = [StepPlaced(step_id=one[0], path=after.paths[one[0]]) for one in made]
    ops = [op for one in placed for op in step_ops(after.by_id[one.step_id])]
    payload = {"steps": msgspec.to_builtins(placed)}
    return placed, happened(tx, task_id, "steps_added", payload, path=parent, graph=ops)


def _all(steps: list[NewStep]) -> Any:
    for step in steps:
        yield step
        yield from _all(step.steps)


def _parent(tx: Tx, tree: Tree, task_id: str, path: str) -> str:
    found = step_of(tree, task_id, StepTarget(path=path))
    guard(tx, found)
    if found.completed:
        from longhouse.work.types.changing import Progress

        again = Progress(task=task_id, step_id=found.step_id, completed=False)
        raise Conflict(
            f"parent: {path} is already done",
            recovery="reopen it first: tasks.progress completed=false",
            suggest=[Suggestion(again, "reopen it")],
        )
    return found.step_id


def _columns(
    tx: Tx, task_id: str, step_id: str, parent: str | None, ordinal: int, step: NewStep
) -> dict[str, Any]:
    detail = StepDetail(
        success_criteria=step.success_criteria,
        tests=step.tests,
        blockers=step.blockers,
        next_action=step.next_action,
        stop_criteria=step.stop_criteria,
    )
    return {
        "step_id": step_id,
        "task_id": task_id,
        "parent_id": parent,
        "ordinal": ordinal,
        "title": step.title,
        "detail": msgspec.json.encode(detail).decode(),
        "proof_modes": msgspec.json.encode(step.proof).decode(),
        "now": tx.now_ms,
    }


class StepChange(NamedTuple):
    """A step being changed: the task at its new revision, its tree, the step and its path."""

    task: Row
    tree: Tree
    step: Step
    path: str


def step_change(tx: Tx, req: StepTarget[Any]) -> StepChange:
    """Find the step, refuse it if another agent holds it, and increment the task's revision."""
    row = task_of(tx, req)
    tree = tree_of(tx, row["task_id"])
    step = step_of(tree, row["task_id"], req)
    guard(tx, step)
    task = touch(tx, row, req.expected_revision)
    return StepChange(task, tree, step, tree.paths[step.step_id])


def change_step(tx: Tx, step: Step, **fields: Any) -> Step:
    """Store the step with these fields changed."""
    now = msgspec.structs.replace(step, **fields, updated_at_ms=tx.now_ms)
    tx.run(
        sql.step_set,
        step_id=now.step_id,
        title=now.title,
        detail=msgspec.json.encode(now.detail).decode(),
        confirmed=msgspec.json.encode(now.confirmed).decode(),
        proof_modes=msgspec.json.encode(now.proof_modes).decode(),
        completed=int(now.completed),
        blocked=int(now.blocked),
        block_reason=now.block_reason,
        completed_at_ms=now.completed_at_ms,
        now=tx.now_ms,
    )
    if now.completed != step.completed:
        opened = -1 if now.completed else 1
        tx.run(sql.task_count_steps, task_id=step.task_id, total=0, open=opened)
    return now


def described(step: Step) -> dict[str, Any]:
    """What a step says, for the event of a change."""
    said: dict[str, Any] = msgspec.to_builtins(
        {"title": step.title, "detail": step.detail, "proof_modes": step.proof_modes}
    )
    return said


def moved(change: StepChange, step: Step, *events: Event) -> StepMoved:
    return StepMoved(
        task=step.task_id,
        revision=change.task["revision"],
        step=step,
        path=change.path,
        event=events[-1],
        events=list(events) if len(events) > 1 else [],
    )


def rows_of(tx: Tx, task_id: str, which: Collection[str] | None = None) -> dict[str, list[Row]]:
    """The rows of a task's steps, or of some of them, for the event that deletes them."""
    found = {
        "steps": tx.all(sql.steps_of_task, task_id=task_id),
        "proofs": tx.all(sql.proofs_whole_of_task, task_id=task_id),
    }
    return {
        name: [row for row in rows if which is None or row["step_id"] in which]
        for name, rows in found.items()
    }


def remove_steps(tx: Tx, change: StepChange) -> Event:
    """Delete a step and everything below it; the log keeps its history."""
    gone = [*change.tree.below(change.step.step_id), change.step]
    guard(tx, *gone)
    lost = rows_of(tx, change.step.task_id, {step.step_id for step in gone})
    for step in gone:
        for query in (sql.step_proofs_delete, sql.step_lease_delete, sql.step_delete):
            tx.run(query, step_id=step.step_id)
    task_id = change.step.task_id
    opened = sum(not step.completed for step in gone)
    tx.run(sql.task_count_steps, task_id=task_id, total=-len(gone), open=-opened)
    return happened(
        tx,
        task_id,
        "step_deleted",
        {"steps": [step.step_id for step in gone], "before": lost},
        path=change.path,
        graph=gone_ops(gone),
    )


@room.command(
    "tasks.define",
    also="tasks.step.define tasks.step.edit tasks.step.update criteria",
    writes=True,
    example=Define(task="TASK-001", path="s:0", tests=["make test passes"]),
)
def define(tx: Tx, req: Define) -> StepMoved:
    """Replace a step's title, criteria, tests or blockers."""
    given = {
        name: _normal(getattr(req, name))
        for name in ("success_criteria", "tests", "blockers")
        if getattr(req, name) is not None
    }
    if not given and req.title is None:
        raise InvalidInput('tests: expected something to change; fix: tests=["make test"]')
    change = step_change(tx, req)
    detail = msgspec.structs.replace(change.step.detail, **given)
    step = change_step(tx, change.step, title=req.title or change.step.title, detail=detail)
    fields = sorted([*given, *(["title"] if req.title else [])])
    event = happened(
        tx,
        step.task_id,
        "step_defined",
        {"fields": fields, "before": described(change.step)},
        path=change.path,
        step=step,
        graph=step_ops(step),
    )
    return moved(change, step, event)


def _normal(lines: list[str]) -> list[str]:
    """The lines trimmed and deduplicated, without empty ones."""
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


@room.command(
    "tasks.note",
    also="comment tasks.note.add tasks.notes.add tasks.step.note tasks.log.note",
    writes=True,
    additive=True,
    example=Note(task="TASK-001", note="The index helps: 40 ms to 3 ms."),
)
def note(tx: Tx, req: Note) -> StepMoved:
    """Add a note to a step; it is also added to the task's notes."""
    change = step_change(tx, req)
    event = happened(
        tx,
        change.step.task_id,
        "step_noted",
        {"note": req.note[:200]},
        path=change.path,
        step=change.step,
        note=req.note,
    )
    return moved(change, change.step, event)


@room.command(
    "tasks.block",
    also="tasks.step.block unblock:blocked=false tasks.mark.blocked",
    writes=True,
    additive=True,
    example=Block(task="TASK-001", reason="Waiting for access."),
)
def block(tx: Tx, req: Block) -> StepMoved:
    """Mark a step as blocked, with a reason, or as unblocked."""
    change = step_change(tx, req)
    reason = req.reason if req.blocked else None
    step = change_step(tx, change.step, blocked=req.blocked, block_reason=reason)
    kind = "step_blocked" if req.blocked else "step_unblocked"
    event = happened(tx, step.task_id, kind, {"reason": req.reason}, path=change.path, step=step)
    return moved(change, step, event)
