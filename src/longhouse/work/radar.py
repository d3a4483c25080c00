"""Radar: a plan or task at a glance, with its purpose, checks, next action and blockers.

Read-only: it never moves the focus and never writes.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.memory import reasoning_ref
from longhouse.memory.types.documents import ReasoningRef
from longhouse.store.tx import Tx
from longhouse.work.checkpoints import Proofs, missing_checkpoints, missing_proof, proofs_of
from longhouse.work.leases import lease_of
from longhouse.work.lookup import entity_row, is_plan, tree_of
from longhouse.work.projections import counts, waits_for
from longhouse.work.room import sql
from longhouse.work.states import CHECKPOINTS, CLOSED
from longhouse.work.tree import Tree
from longhouse.work.types.entities import Entity, Plan, Step, Task
from longhouse.work.types.views import Horizon, StepFocus, StepRow, TaskRadar

__all__ = [
    "ACTIVE_LIMIT",
    "Scene",
    "horizon_of",
    "scene_of",
    "steps_of",
]

ACTIVE_LIMIT = 3
STALE_MS = 14 * 24 * 3600 * 1000
MOST_STALE = 1_000
MAX_BLOCKERS = 10


class Scene(NamedTuple):
    """A plan or task with everything its views are built from."""

    target: Entity
    radar: TaskRadar
    reasoning_ref: ReasoningRef
    tree: Tree
    proofs: Proofs
    first_open: Step | None = None
    step_focus: StepFocus | None = None
    horizon: Horizon | None = None

    @property
    def id(self) -> str:
        return self.target.id


def scene_of(tx: Tx, entity: str) -> Scene:
    """A plan or task with its steps, proofs and horizon; UnknownId if there is none."""
    row = entity_row(tx, entity)
    if is_plan(row):
        return _plan_scene(tx, Plan.from_row(row, tx.workspace))
    return _task_scene(tx, Task.from_row(row, tx.workspace))


def steps_of(scene: Scene) -> list[StepRow]:
    """The steps of a task in reading order, with what each still needs."""
    return [
        StepRow(
            step_id=step.step_id,
            path=scene.tree.paths[step.step_id],
            title=step.title,
            completed=step.completed,
            blocked=step.blocked,
            missing=[] if step.completed else list(missing_checkpoints(step, scene.proofs)),
            proof_missing=[] if step.completed else list(missing_proof(step, scene.proofs)),
        )
        for step in scene.tree.reading_order()
    ]


def _task_scene(tx: Tx, task: Task) -> Scene:
    tree, proofs = tree_of(tx, task.id), proofs_of(tx, task.id)
    open_steps = list(tree.open_steps())
    first = open_steps[0] if open_steps else None
    lacking = [kind for step in open_steps for kind in missing_checkpoints(step, proofs)]
    unproved = [kind for step in open_steps for kind in missing_proof(step, proofs)]
    verify = [f"Missing {k} checkpoints: {lacking.count(k)}" for k in CHECKPOINTS if k in lacking]
    verify += [f"Missing {k} proof: {unproved.count(k)}" for k in CHECKPOINTS if k in unproved]
    waiting = [f"Waits for {other}" for other in waits_for(tx, task.id)] if task.waits_for else []
    blockers = [*waiting, *(text for step in open_steps for text in step.hindrances)]
    radar = TaskRadar(
        now=f"Task {task.id}: {task.title}",
        why=task.description,
        verify=verify,
        next=_next(task, tree, first, proofs),
        blockers=blockers[:MAX_BLOCKERS],
    )
    return Scene(
        task,
        radar,
        reasoning_ref(task.id),
        tree,
        proofs,
        first,
        _step_focus(tx, tree, first, proofs) if first else None,
    )


def _step_focus(tx: Tx, tree: Tree, step: Step, proofs: Proofs) -> StepFocus:
    return StepFocus(
        step_id=step.step_id,
        path=tree.paths[step.step_id],
        title=step.title,
        success_criteria=step.detail.success_criteria,
        tests=step.detail.tests,
        blockers=step.hindrances,
        next_action=step.detail.next_action,
        missing=list(missing_checkpoints(step, proofs)),
        proof_missing=list(missing_proof(step, proofs)),
        lease=lease_of(tx, step.step_id),
    )


def _next(task: Task, tree: Tree, first: Step | None, proofs: Proofs) -> list[str]:
    if task.status in CLOSED:
        return []
    if not tree.by_id:
        return ["Add steps to this task"]
    if first is None:
        return ["Finish task"]
    path = tree.paths[first.step_id]
    if missing_checkpoints(first, proofs):
        return [f"Confirm checkpoints for {path}"]
    return [f"Close next step {path}"]


def _plan_scene(tx: Tx, plan: Plan) -> Scene:
    horizon = horizon_of(tx, plan.id)
    verify = []
    if horizon.over_active_limit:
        verify.append(f"Active horizon too large: {horizon.active} (target <= {ACTIVE_LIMIT})")
    if plan.status in CLOSED:
        following = []
    elif plan.current < len(plan.checklist):
        following = [plan.checklist[plan.current]]
    else:
        following = ["Finish plan" if plan.checklist else "Add a checklist to this plan"]
    radar = TaskRadar(
        now=f"Plan {plan.id}: {plan.title}",
        why=plan.contract or plan.description,
        verify=verify,
        next=following,
        blockers=[],
    )
    return Scene(plan, radar, reasoning_ref(plan.id), Tree(()), {}, horizon=horizon)


def horizon_of(tx: Tx, plan_id: str) -> Horizon:
    """A plan's tasks by state, from stored counts."""
    by = counts(tx, plan_id)
    due = int(tx.value(sql.parked_due, plan_id=plan_id, now=tx.now_ms) or 0)
    stale = tx.value(
        sql.stale_count, plan_id=plan_id, before=tx.now_ms - STALE_MS, limit=MOST_STALE
    )
    active = by.get("ACTIVE", 0)
    return Horizon(
        active=active,
        backlog=by.get("TODO", 0) + due,
        parked=by.get("PARKED", 0) - due,
        stale=int(stale or 0),
        done=by.get("DONE", 0),
        total=sum(by.values()),
        next_wake=tx.value(sql.parked_next, plan_id=plan_id, now=tx.now_ms),
        active_limit=ACTIVE_LIMIT,
        over_active_limit=active > ACTIVE_LIMIT,
    )
