"""The one call that moves a plan, a task or a step forward."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import clip
from longhouse.kernel.values import Draft
from longhouse.store.tx import Tx
from longhouse.work.checkpoints import Proofs, is_shown, missing_checkpoints, missing_proof
from longhouse.work.projections import counts
from longhouse.work.radar import Scene
from longhouse.work.room import sql
from longhouse.work.states import ALWAYS_REQUIRED
from longhouse.work.types.entities import Plan, Step, Task
from longhouse.work.types.views import GetRadar

__all__ = ["close_suggestion", "next_call"]


def next_call(tx: Tx, scene: Scene) -> Suggestion | None:
    """The one call that moves a plan or task forward, if it can run as given."""
    from longhouse.work.types.changing import Complete
    from longhouse.work.types.leases import GetLease

    target = scene.target
    if target.status in ("DONE", "CANCELED"):
        return None
    if not isinstance(target, Task):
        return _next_of_plan(tx, target)
    if not scene.tree.by_id:
        return Suggestion(
            Draft("tasks.plan.decompose", {"task": target.id}, ["steps"]), "add a first step"
        )
    if scene.first_open is None:
        return Suggestion(Complete(task=target.id), "finish the task")
    held = scene.step_focus.lease if scene.step_focus else None
    if held is not None and held.holder != tx.actor:
        look = GetLease(task=target.id, step_id=scene.first_open.step_id)
        return Suggestion(look, f"{held.holder} holds the next step")
    return close_suggestion(tx, scene.first_open, scene.proofs)


def _next_of_plan(tx: Tx, plan: Plan) -> Suggestion:
    """Work on a ready task; else do the next checklist item; else finish the plan."""
    from longhouse.work.types.changing import Complete
    from longhouse.work.types.focus import SetFocus

    page = {"after": 0, "now": tx.now_ms, "assignee": None, "plan_id": plan.id, "limit": 1}
    for row in tx.all(sql.tasks_ready_page, **page):
        ready = SetFocus(task=row["task_id"])
        return Suggestion(ready, f"work on {row['title'][:60]!r}", priority="medium")
    if plan.current < len(plan.checklist):
        item = plan.checklist[plan.current]
        why = f"do {item[:80]!r}; once done: tasks.plan plan={plan.id} advance=true"
        return Suggestion(GetRadar(plan=plan.id), why, priority="medium")
    by = counts(tx, plan.id)
    if sum(by.values()) == by.get("DONE", 0) + by.get("CANCELED", 0) and (by or plan.checklist):
        return Suggestion(Complete(plan=plan.id), "finish the plan", priority="low")
    return Suggestion(GetRadar(plan=plan.id), "see what it still needs", priority="low")


def close_suggestion(tx: Tx, step: Step, proofs: Proofs) -> Suggestion:
    """The call that moves a step forward: closing it once something proves that it is done, before
    that reading what it needs. Following it blindly never closes an unproved step."""
    from longhouse.work.types.changing import CloseStep

    if missing_proof(step, proofs) or not is_shown(step, proofs):
        done_when = "; ".join(step.detail.success_criteria) or step.title
        criteria = f" (done when: {clip(done_when, 60)!r})" if done_when != step.title else ""
        return Suggestion(
            GetRadar(task=step.task_id),
            f"do {clip(step.title, 40)!r}{criteria}, then close it with proof: "
            f"tasks.macro.close.step task={step.task_id} proof=…",
        )
    wanted = dict.fromkeys([*step.confirmed, *missing_checkpoints(step, proofs)], True)
    named: Any = "gate" if set(wanted) == set(ALWAYS_REQUIRED) else wanted
    return Suggestion(
        CloseStep(task=step.task_id, step_id=step.step_id, checkpoints=named),
        "confirm the remaining checkpoints and close it, if they are met",
    )
