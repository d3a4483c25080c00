"""The lint rules for plans and tasks: each finding carries the call that fixes it, if there is one.

A patch is a request value, so it is the same call on every surface and runs as is. Findings about
missing proof have no patch, because a call cannot produce evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longhouse.kernel.values import Draft, Request, Value
from longhouse.store.tx import Tx
from longhouse.work.checkpoints import missing_checkpoints, missing_proof
from longhouse.work.listing import tasks_page
from longhouse.work.radar import ACTIVE_LIMIT, Scene
from longhouse.work.states import CLOSED, RANK
from longhouse.work.types.changing import Block, Complete, EditChecklist, Patch, PatchOp, Verify
from longhouse.work.types.creating import Decompose
from longhouse.work.types.entities import Plan, Step, Task
from longhouse.work.types.lint import Kind, LintIssue, Severity

__all__ = ["PATCH_ORDER", "LintFinding", "findings"]


PATCH_ORDER = (
    "clamp",
    "park",
    "mark_done",
    "set_next_action",
    "require_proof_tests",
    "missing_anchor",
    "seed_steps",
    "seed_success_criteria",
    "seed_tests",
    "confirm_criteria",
    "confirm_tests",
)
"""The patches to prefer when not all fit; all others come after these."""
MAX_ANCHORS = 5
PARK_S = 7 * 24 * 3600


class LintFinding(Value, frozen=True, kw_only=True):
    """An issue, and the call that fixes it; `patch` names what the call does."""

    issue: LintIssue
    patch: str | None = None
    request: Request | Draft | None = None

    @property
    def patch_id(self) -> str:
        scope = self.issue.target.partition("-")[0].lower()
        return f"patch:{scope}:{self.issue.target}:{self.patch}"


def findings(tx: Tx, scene: Scene) -> Iterator[LintFinding]:
    """Everything this plan or task lacks."""
    if isinstance(scene.target, Plan):
        yield from _of_plan(tx, scene, scene.target)
    elif scene.target.status not in CLOSED:
        yield from _of_task(scene, scene.target)


def _of_plan(tx: Tx, scene: Scene, plan: Plan) -> Iterator[LintFinding]:
    if not plan.checklist:
        yield _found(
            "actionless",
            "NO_CHECKLIST",
            plan.id,
            "the plan has no checklist",
            "list the parts of the plan",
            "seed_checklist",
            Draft(EditChecklist, {"plan": plan.id}, ["steps"]),
        )
    if plan.current > len(plan.checklist):
        yield _found(
            "self_contradicting",
            "CHECKLIST_INDEX_OUT_OF_RANGE",
            plan.id,
            f"the checklist is at item {plan.current} of {len(plan.checklist)}",
            "move it to the end",
            "clamp",
            EditChecklist(plan=plan.id, current=len(plan.checklist)),
            "error",
        )
    active = [
        Task.from_row(row, tx.workspace)
        for row in tasks_page(tx, [f"plan:{plan.id}:ACTIVE"], limit=50)
    ]
    for task in [task for task in active if not _anchored(task)][:MAX_ANCHORS]:
        yield _anchor(task, "ACTIVE_TASKS_MISSING_ANCHOR")
    if scene.horizon and scene.horizon.over_active_limit:
        least = max(active, key=lambda task: (RANK[task.priority], -task.updated_at_ms, task.id))
        yield _found(
            "unbounded",
            "ACTIVE_LIMIT_EXCEEDED",
            plan.id,
            f"{scene.horizon.active} tasks are active (target <= {ACTIVE_LIMIT})",
            f"park {least.id} for a week, or finish some of them",
            "park",
            Complete(task=least.id, status="PARKED", parked_for_s=PARK_S),
        )


def _of_task(scene: Scene, task: Task) -> Iterator[LintFinding]:
    if not _anchored(task):
        yield _anchor(task, "MISSING_ANCHOR")
    if not scene.tree.by_id:
        yield _found(
            "actionless",
            "NO_STEPS",
            task.id,
            "the task has no steps",
            "split it into steps",
            "seed_steps",
            Draft(Decompose, {"task": task.id}, ["steps"]),
        )
        return
    open_steps = list(scene.tree.open_steps())
    if task.status == "ACTIVE" and not open_steps:
        yield _found(
            "self_contradicting",
            "ACTIVE_NO_OPEN_STEPS",
            task.id,
            "every step is done, but the task is still active",
            "finish the task",
            "mark_done",
            Complete(task=task.id),
        )
    if open_steps and not any(s.proof_modes.get("tests") == "require" for s in open_steps):
        yield _field(
            open_steps[-1],
            "unproveable",
            "MISSING_PROOF_PLAN",
            "no open step requires proof",
            "require proof of its tests",
            "require_proof_tests",
            "proof_tests_mode",
            "require",
        )
    for step in open_steps:
        yield from _of_words(step, research="research" in task.title.lower())
        yield from _of_gate(scene, step)


def _of_words(step: Step, *, research: bool) -> Iterator[LintFinding]:
    """Details that a step does not state."""
    if not step.detail.success_criteria:
        yield _field(
            step,
            "unverifiable",
            "MISSING_CRITERIA",
            "it has no success criteria",
            "state when it counts as done",
            "seed_success_criteria",
            "success_criteria",
        )
    if not step.detail.tests:
        yield _field(
            step,
            "unverifiable",
            "MISSING_TESTS",
            "it has no tests",
            "state how to test it",
            "seed_tests",
            "tests",
        )
    if not step.detail.next_action:
        yield _field(
            step,
            "actionless",
            "MISSING_NEXT_ACTION",
            "it has no next action",
            "write down the next action",
            "set_next_action",
            "next_action",
        )
    if research and not step.detail.stop_criteria:
        yield _field(
            step,
            "unbounded",
            "RESEARCH_MISSING_STOP_CRITERIA",
            "research without stop criteria",
            "state when to stop",
            "set_stop_criteria",
            "stop_criteria",
        )


def _of_gate(scene: Scene, step: Step) -> Iterator[LintFinding]:
    """What prevents a step from being closed."""
    first = scene.first_open is not None and scene.first_open.step_id == step.step_id
    said = {"criteria": step.detail.success_criteria, "tests": step.detail.tests}
    for kind in missing_checkpoints(step, scene.proofs):
        if kind in said and not (first and said[kind]):
            continue
        yield _found(
            "unverifiable",
            f"MISSING_{kind.upper()}",
            step.step_id,
            f"checkpoint {kind} is not confirmed",
            f"confirm checkpoint {kind}, if it is met",
            f"confirm_{kind}",
            Verify(task=step.task_id, step_id=step.step_id, checkpoints={kind: True}),
        )
    for kind in missing_proof(step, scene.proofs):
        yield _found(
            "unproveable",
            f"MISSING_PROOF_{kind.upper()}",
            step.step_id,
            f"proof of {kind} is required and missing",
            f"attach it: tasks.evidence.capture checkpoint={kind}",
        )
    if step.blocked:
        yield _found(
            "unnavigable",
            "BLOCKED_STEPS",
            step.step_id,
            f"it is blocked: {step.block_reason or 'no reason given'}",
            "unblock it once nothing is in the way",
            "unblock",
            Block(task=step.task_id, step_id=step.step_id, blocked=False),
        )


def _anchored(task: Task) -> bool:
    return any(tag.startswith("a:") for tag in task.tags)


def _anchor(task: Task, code: str) -> LintFinding:
    """Suggest an area tag: the title's prefix before a colon, if it has one."""
    head = task.title.partition(":")[0] if ":" in task.title else ""
    slug = re.sub(r"[^a-z0-9]+", "-", head.lower()).strip("-")[:64]
    op: dict[str, Any] = {"op": "append", "field": "tags"}
    request: Request | Draft = Draft(
        Patch, {"task": task.id, "kind": "task_detail", "ops": [op]}, ["ops[0].value"]
    )
    if slug:
        tag = PatchOp(op="append", field="tags", value=f"a:{slug}")
        request = Patch(task=task.id, kind="task_detail", ops=[tag])
    return _found(
        "unnavigable",
        code,
        task.id,
        "no tag names its area",
        f"tag it with its area, such as a:{slug or 'core'}",
        "missing_anchor",
        request,
    )


def _field(
    step: Step,
    kind: Kind,
    code: str,
    message: str,
    recovery: str,
    patch: str,
    field: str,
    value: object = None,
) -> LintFinding:
    """A field to set; without a value only the people of the task can say what it is."""
    request: Request | Draft
    if value is None:
        op: dict[str, Any] = {"op": "set", "field": field}
        known = {"task": step.task_id, "step_id": step.step_id, "ops": [op]}
        request = Draft(Patch, known, ["ops[0].value"])
    else:
        set_ = PatchOp(op="set", field=field, value=value)
        request = Patch(task=step.task_id, step_id=step.step_id, ops=[set_])
    return _found(kind, code, step.step_id, message, recovery, patch, request)


def _found(
    kind: Kind,
    code: str,
    target: str,
    message: str,
    recovery: str,
    patch: str | None = None,
    request: Request | Draft | None = None,
    severity: Severity = "warning",
) -> LintFinding:
    issue = LintIssue(
        severity=severity, kind=kind, code=code, message=message, recovery=recovery, target=target
    )
    return LintFinding(issue=issue, patch=patch, request=request)
