"""`tasks.snapshot`: the state of the work in focus and what to do next, in two lines.

It does not move the focus or start anything; with `delta` it marks changes as seen. `ref=` and the
next command survive any budget.
"""

from __future__ import annotations

from typing import Any

from longhouse.crew import inbox_of
from longhouse.desk.changes import look
from longhouse.desk.room import room
from longhouse.desk.status import around_lines, asking
from longhouse.desk.surroundings import active_job, holders
from longhouse.desk.types.macros import GetSnapshot, Snapshot
from longhouse.jobs import runners_present
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.lines import cell
from longhouse.memory import standing
from longhouse.store.tx import Tx
from longhouse.work import Scene, given_id, handoff_of, horizon_of, id_of, next_call, scene_of
from longhouse.work.types.entities import Task

__all__ = [
    "next_words",
]


def snapshot_lines(result: dict[str, Any]) -> list[str]:
    """One line of state; the command to paste follows from the actions."""
    target = result["target"]
    parts = [f"focus {target['id']} — {cell(target['title'], 100)}"]
    if area := next((tag for tag in target.get("tags", ()) if tag.startswith("a:")), None):
        parts.append(f"where={area}")
    parts += around_lines(result)
    if horizon := result.get("horizon"):
        parts.append(_horizon(horizon))
    if held := [one for one in result.get("held", ()) if not one.get("mine")]:
        parts.append(f"held {cell(held[0]['what'], 60)} by {held[0]['by']}")
    if inbox := result.get("inbox"):
        parts.append(f"inbox unread={inbox['unread']} due={inbox['due']}")
    state = " | ".join([*parts, f"ref={result['ref']}", result["next"]])
    return [state, *_delta_lines(result.get("delta"))]


def _delta_lines(delta: dict[str, Any] | None) -> list[str]:
    """What others did, one line each; then where to continue."""
    if delta is None:
        return []
    rows = [
        " | ".join(
            part for part in (one["what"], one.get("ref"), f"by {one.get('by') or '-'}") if part
        )
        for one in delta.get("changes", ())
    ]
    more = [f"MORE: since={delta['until']}"] if delta["has_more"] else []
    return [f"delta since={delta['since']} count={delta['count']}", *rows, *more]


def _horizon(horizon: dict[str, Any]) -> str:
    over = "!" if horizon["over_active_limit"] else ""
    rest = " ".join(f"{k}={horizon[k]}" for k in ("backlog", "parked", "stale", "done", "total"))
    return f"horizon active={horizon['active']}{over} {rest}"


@room.command(
    "tasks.snapshot",
    also=(
        "show get open read info describe where status steps subtasks tasks.task.details details "
        "tasks.plan.show tasks.plan.get"
    ),
    tier="gold",
    example=GetSnapshot(task="TASK-001"),
    lines=snapshot_lines,
    writes_with=("delta",),
    trim=[
        Pop("delta.changes", leave=5),
        Clip("radar.why", 256),
        Drop("target.contract_data"),
        Drop("target.description"),
        Drop("target.context"),
        Drop("target.contract"),
        Drop("target.checklist"),
        Pop("handoff.risks", leave=1),
        Pop("radar.blockers", leave=1),
        Pop("delta.changes"),
        Pop("held", leave=1),
        Drop("horizon"),
        Drop("reasoning_ref"),
        Pop("handoff.risks"),
        Pop("radar.blockers"),
    ],
)
def get_snapshot(tx: Tx, req: GetSnapshot) -> Snapshot:
    """Show the state of the work in focus, its active job, and the next command."""
    me = asking(tx, req)
    scene = scene_of(tx, id_of(tx, req))
    if call := next_call(tx, scene):
        tx.suggestions.append(call)
    target = scene.target
    job = active_job(tx, target.id) if isinstance(target, Task) else None
    return Snapshot(
        requested=given_id(req),
        focus=standing(tx).focus,
        ref=target.id,
        next=next_words(scene),
        target=target,
        reasoning_ref=scene.reasoning_ref,
        radar=scene.radar,
        step_focus=scene.step_focus,
        job=job,
        runner=runners_present(tx) if job else None,
        held=holders(tx, me, target.id, scene.step_focus),
        inbox=inbox_of(tx, me) if me else None,
        horizon=horizon_of(tx, target.plan_id) if isinstance(target, Task) else scene.horizon,
        handoff=handoff_of(scene, 5),
        delta=look(tx, req.since, moves=tx.writes) if req.delta else None,
    )


def next_words(scene: Scene) -> str:
    """`next gate s:1 needs(tests) proof(tests) do(…) (…)`, `next finish`, `next …` or `done`."""
    step = scene.step_focus
    if scene.target.status in ("DONE", "CANCELED"):
        return "done"
    if step is None:
        said = scene.radar.next[0]
        return "next finish" if said.startswith("Finish") else f"next {cell(said, 80)}"
    parts = [f"next gate {step.path}"]
    if step.missing:
        parts.append(f"needs({' '.join(step.missing)})")
    if step.proof_missing:
        parts.append(f"proof({' '.join(step.proof_missing)})")
    if step.next_action:
        parts.append(f"do({cell(step.next_action, 56)})")
    if step.lease:
        parts.append(f"held({step.lease.holder})")
    return " ".join([*parts, f"({cell(step.title, 40)})"])
