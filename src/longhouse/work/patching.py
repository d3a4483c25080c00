"""`tasks.patch`: set, unset, append to or remove from single fields.

The operations of a call are applied together: if one is invalid, the whole call is refused.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Title
from longhouse.store.tx import Tx
from longhouse.work.editing import apply_edit
from longhouse.work.events import happened, step_ops
from longhouse.work.lookup import entity_of, is_plan, touch
from longhouse.work.projections import depends_on
from longhouse.work.room import room
from longhouse.work.states import CHECKPOINTS, Checkpoint, Priority, ProofMode, ReasoningMode
from longhouse.work.steps import change_step, described, step_change
from longhouse.work.types.changing import Assignee, Domain, Patch, Patched, PatchOp
from longhouse.work.types.entities import (
    Line,
    Lines,
    Paragraph,
    Step,
    StepDetail,
    Tags,
    TaskId,
)

__all__ = []


_STEP_FIELDS: dict[str, Any] = {
    "title": Title,
    "success_criteria": Lines,
    "tests": Lines,
    "blockers": Lines,
    "next_action": Line,
    "stop_criteria": Line,
    **{f"proof_{kind}_mode": ProofMode for kind in CHECKPOINTS},
}
_DETAIL_FIELDS: dict[str, Any] = {
    "title": Title,
    "description": Paragraph,
    "context": Paragraph,
    "priority": Priority,
    "domain": Domain,
    "assignee": Assignee,
    "reasoning_mode": ReasoningMode,
    "tags": Tags,
    "depends_on": Annotated[list[TaskId], Meta(max_length=100)],
    "contract": Paragraph,
}
_LISTS = ("success_criteria", "tests", "blockers", "tags", "depends_on")
_KEPT = ("title", "priority", "reasoning_mode")
"""Fields that must have a value."""


@room.command(
    "tasks.patch",
    also="tasks.step.patch",
    writes=True,
    example=Patch(
        task="TASK-001",
        path="s:0",
        ops=[PatchOp(op="set", field="next_action", value="Run the profiler.")],
    ),
)
def patch(tx: Tx, req: Patch) -> Patched:
    """Set, unset, append or remove single values of a step, plan or task."""
    if req.kind == "task_detail":
        return _patch_entity(tx, req)
    change = step_change(tx, req)
    step = change_step(tx, change.step, **_step_fields(change.step, req.ops))
    event = happened(
        tx,
        step.task_id,
        "step_defined",
        {"fields": sorted({op.field for op in req.ops}), "before": described(change.step)},
        path=change.path,
        step=step,
        graph=step_ops(step),
    )
    return Patched(
        id=step.step_id,
        kind="step",
        revision=change.task["revision"],
        step=step,
        path=change.path,
        event=event,
    )


def _patch_entity(tx: Tx, req: Patch) -> Patched:
    if req.step_id is not None or req.path is not None:
        name = "step_id" if req.step_id else "path"
        raise InvalidInput(f"{name}: kind=task_detail does not take a step; fix: kind=step")
    row = touch(tx, entity_of(tx, req), req.expected_revision)
    before = {name: row.get(name) for name in _DETAIL_FIELDS}
    before["tags"] = msgspec.json.decode(row["tags"])
    before["depends_on"] = [] if is_plan(row) else depends_on(tx, row["task_id"])
    after = _patched(before, req.ops, _DETAIL_FIELDS)
    fields = {name: after[name] for name in {op.field for op in req.ops}}
    if "domain" in fields:
        fields["new_domain"] = fields.pop("domain")
    stored, event = apply_edit(tx, row, fields)
    entity = stored["plan_id"] if is_plan(stored) else stored["task_id"]
    return Patched(id=entity, kind="task_detail", revision=stored["revision"], event=event)


def _step_fields(step: Step, ops: list[PatchOp]) -> dict[str, Any]:
    """The changed parts of a step."""
    detail = msgspec.structs.asdict(step.detail)
    modes = {f"proof_{kind}_mode": step.proof_modes.get(kind, "off") for kind in CHECKPOINTS}
    after = _patched({"title": step.title, **detail, **modes}, ops, _STEP_FIELDS)
    asked: dict[Checkpoint, ProofMode | None] = {k: after[f"proof_{k}_mode"] for k in CHECKPOINTS}
    proof = {kind: mode for kind, mode in asked.items() if mode not in (None, "off")}
    made = StepDetail(**{name: after[name] for name in StepDetail.__struct_fields__})
    return {"title": after["title"], "detail": made, "proof_modes": proof}


def _patched(before: dict[str, Any], ops: list[PatchOp], known: dict[str, Any]) -> dict[str, Any]:
    """The fields after these operations, or InvalidInput at the first invalid one."""
    now = dict(before)
    for index, op in enumerate(ops):
        where = f"ops[{index}]"
        if op.field not in known:
            raise InvalidInput(
                f"{where}.field: unknown field {op.field!r}; fix: {where}.field=title",
                recovery=f"fields: {', '.join(known)}",
            )
        if op.op == "unset":
            if op.field in _KEPT:
                raise InvalidInput(f"{where}: {op.field} cannot be empty; fix: {where}.op=set")
            now[op.field] = [] if op.field in _LISTS else None
        elif op.op == "set":
            now[op.field] = _checked(where, op.value, known[op.field])
        elif op.field not in _LISTS:
            raise InvalidInput(f"{where}: {op.field} is not a list; fix: {where}.op=set")
        else:
            now[op.field] = _with(where, now[op.field], op, known[op.field])
    return now


def _with(where: str, before: list[str], op: PatchOp, kind: Any) -> list[str]:
    line = _checked(where, [op.value], kind)[0]
    if op.op == "append":
        return before if line in before else list(_checked(where, [*before, line], kind))
    if line not in before:
        raise InvalidInput(
            f"{where}.value: {op.field} has no {line[:60]!r}; fix: {where}.op=append",
            recovery="copy the exact text that `open` shows for it",
        )
    return [old for old in before if old != line]


def _checked(where: str, value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said = str(error).partition(" - at")[0]
        raise InvalidInput(f"{where}.value: {said}; fix: correct {where}.value") from None
