"""Closing a step: confirmed checkpoints, and proof where it is required.

    confirm → required checkpoints confirmed? → required proof linked? → strict gate? → done

`criteria` and `tests` are always required. The others are required if proof is linked to them, the
step requires their proof, or the call names them. Only a receipt that proves something satisfies
`require`. Children close before their parent; reopening a step reopens its parents. A step of a
strict task also needs a claim that was tested and argued against (the desk's `tasks.gate`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput, LonghouseError, Suggestion
from longhouse.store.tx import Tx
from longhouse.work.checkpoints import (
    Proofs,
    missing_checkpoints,
    missing_proof,
    proofs_of,
)
from longhouse.work.errors import CheckpointsNotConfirmed, ProofRequired, ReasoningRequired
from longhouse.work.events import happened, step_ops
from longhouse.work.evidence import captured
from longhouse.work.leases import guard
from longhouse.work.next_step import close_suggestion
from longhouse.work.room import room
from longhouse.work.states import ALWAYS_REQUIRED, CHECKPOINTS, Checkpoint
from longhouse.work.steps import StepChange, change_step, moved, must_be_open, step_change
from longhouse.work.types.changing import (
    Capture,
    Checkpoints,
    CloseStep,
    Done,
    Progress,
    StepDone,
    Verify,
)
from longhouse.work.types.entities import Event, Step, StepMoved

__all__ = [
    "closed",
    "strict_gate",
]


@room.command(
    "tasks.verify",
    also="tasks.step.verify confirm checkpoints check",
    writes=True,
    example=Verify(task="TASK-001", checkpoints="gate"),
)
def verify(tx: Tx, req: Verify) -> StepMoved:
    """Confirm checkpoints of a step, or withdraw a confirmation."""
    change = step_change(tx, req)
    step, event = _confirm(tx, change, _asked(req.checkpoints))
    return moved(change, step, event)


@room.command(
    "tasks.done",
    also=(
        "tasks.step.done tasks.step.complete tasks.step.finish tasks.check.off tick "
        "tasks.step.check tasks.step.mark.done tasks.step.mark.complete"
    ),
    writes=True,
    example=Done(task="TASK-001"),
)
def done(tx: Tx, req: Done) -> StepMoved:
    """Close a step whose checkpoints are confirmed and whose required proof is linked."""
    change = step_change(tx, req)
    step, event = _close(tx, change, change.step)
    return moved(change, step, event)


@room.command(
    "tasks.step.close",
    also="tasks.close.step tasks.step.end",
    op="step.close",
    writes=True,
    example=CloseStep(task="TASK-001", checkpoints="gate"),
)
def close_step(tx: Tx, req: CloseStep) -> StepDone:
    """Confirm checkpoints, attach proof and close the step, in one transaction."""
    made = closed(tx, req)
    events = made.events or [made.event]
    brief = StepDone(
        task=made.task,
        revision=made.revision,
        path=made.path,
        title=made.step.title,
        confirmed=made.step.confirmed,
        refs=[event.ref for event in events],
    )
    full = req.view == "full"
    return msgspec.structs.replace(brief, step=made.step, events=events) if full else brief


def closed(tx: Tx, req: CloseStep, *, overridden: bool = False) -> StepMoved:
    """Close a step; `overridden` skips the strict gate, for callers that recorded the reason."""
    lines = req.proof.splitlines() if isinstance(req.proof, str) else req.proof
    if req.checkpoints is None and not lines:
        raise InvalidInput(
            "checkpoints: expected checkpoints or proof (missing); "
            'fix: proof="CMD: make test (exit 0)"',
            recovery='pass proof="CMD: <what you ran> (exit 0)", or checkpoints=gate',
        )
    change = step_change(tx, req)
    _must_be_closable(tx, change)
    asked = _asked(req.checkpoints or "gate")
    events = []
    if lines:
        shown = [kind for kind in asked if change.step.proof_modes.get(kind, "off") != "off"]
        wanted = shown or [kind for kind in ("tests", *asked) if asked.get(kind)][:1]
        events = [captured(tx, change, Capture(checks=lines, checkpoint=wanted))]
    step, verified = _confirm(tx, change, asked)
    done, event = _close(tx, change, step, named=asked, overridden=overridden)
    return moved(change, done, *events, verified, event)


@room.command(
    "tasks.progress",
    also="tasks.step.reopen tasks.step.progress force",
    writes=True,
    example=Progress(task="TASK-001", path="s:0", completed=False),
)
def progress(tx: Tx, req: Progress) -> StepMoved:
    """Close or reopen a step; force=true skips the gates and needs a reason, which is recorded."""
    if req.force and (req.reason is None or not req.reason.strip()):
        raise InvalidInput(
            "reason: expected why the gates are skipped (missing); fix: reason=Proof is in the PR",
            recovery="pass reason=…, or close it with tasks.step.close",
        )
    change = step_change(tx, req)
    if not req.completed:
        return _reopen(tx, change, req.reason)
    if not req.force:
        step, event = _close(tx, change, change.step, reason=req.reason)
        return moved(change, step, event)
    _must_be_closable(tx, change)
    proofs = proofs_of(tx, change.step.task_id)
    skipped: dict[str, Any] = {
        "checkpoints": missing_checkpoints(change.step, proofs),
        "proof": missing_proof(change.step, proofs),
    }
    if argued := strict_gate(tx, change)[0]:
        skipped["reasoning"] = argued
    step = change_step(tx, change.step, completed=True, completed_at_ms=tx.now_ms)
    event = happened(
        tx,
        step.task_id,
        "step_done",
        {"forced": True, "reason": req.reason, "skipped": skipped},
        path=change.path,
        step=step,
        graph=step_ops(step),
        note=f"Closed by force: {req.reason}",
    )
    tx.warn("GATES_FORCED", f"{change.path} was closed without its gates; the reason is recorded")
    return moved(change, step, event)


def _reopen(tx: Tx, change: StepChange, reason: str | None) -> StepMoved:
    must_be_open(change.task)
    above = [step for step in change.tree.above(change.step) if step.completed]
    guard(tx, *above)
    events, reopened = [], change.step
    for step in (*reversed(above), change.step):
        reopened = change_step(tx, step, completed=False, completed_at_ms=None, confirmed=[])
        events.append(
            happened(
                tx,
                step.task_id,
                "step_reopened",
                {"reason": reason},
                path=change.tree.paths[step.step_id],
                step=step,
                graph=step_ops(reopened),
            )
        )
    return moved(change, reopened, *events)


def _asked(checkpoints: Checkpoints) -> dict[Checkpoint, bool]:
    if checkpoints == "gate":
        return dict.fromkeys(ALWAYS_REQUIRED, True)
    if checkpoints == "all":
        return dict.fromkeys(CHECKPOINTS, True)
    assert isinstance(checkpoints, dict)
    return {k: v if isinstance(v, bool) else v.confirmed for k, v in checkpoints.items()}


def _confirm(tx: Tx, change: StepChange, asked: dict[Checkpoint, bool]) -> tuple[Step, Event]:
    if not asked:
        raise InvalidInput("checkpoints: expected at least one; fix: checkpoints=gate")
    now = [k for k in CHECKPOINTS if asked.get(k, k in change.step.confirmed)]
    step = change_step(tx, change.step, confirmed=now)
    event = happened(
        tx, step.task_id, "step_verified", {"confirmed": now}, path=change.path, step=step
    )
    return step, event


def _must_be_closable(tx: Tx, change: StepChange) -> None:
    """Refuse a step that is already done or has open steps below it."""
    step, task_id = change.step, change.step.task_id
    if step.completed:
        must_be_open(change.task)
        again = Progress(task=task_id, step_id=step.step_id, completed=False)
        raise Conflict(
            f"step: {change.path} is already done",
            recovery="reopen it with tasks.progress completed=false",
            suggest=[Suggestion(again, "reopen it", priority="low")],
        )
    below = [one for one in change.tree.below(step.step_id) if not one.completed]
    if below:
        paths = ", ".join(change.tree.paths[one.step_id] for one in below[:5])
        raise CheckpointsNotConfirmed(
            f"step: {change.path} has {len(below)} open steps below it: {paths}",
            recovery="close them first",
            suggest=[close_suggestion(tx, below[0], proofs_of(tx, task_id))],
        )


def _close(
    tx: Tx,
    change: StepChange,
    step: Step,
    *,
    named: Any = (),
    reason: str | None = None,
    overridden: bool = False,
) -> tuple[Step, Event]:
    _must_be_closable(tx, change)
    proofs = proofs_of(tx, step.task_id)
    if missing := missing_checkpoints(step, proofs, named):
        raise _refusal(
            CheckpointsNotConfirmed,
            tx,
            step,
            proofs,
            f"step: {change.path} is missing {', '.join(missing)}",
            f"confirm them: tasks.step.close checkpoints="
            f"{{{', '.join(f'{kind}: true' for kind in missing)}}}",
        )
    if missing := missing_proof(step, proofs):
        raise _refusal(
            ProofRequired,
            tx,
            step,
            proofs,
            f"step: {change.path} has no proof of {', '.join(missing)}",
            None,
        )
    verdict, offers = ([], []) if overridden else strict_gate(tx, change)
    if verdict:
        raise ReasoningRequired(f"step: {change.path}: {'; '.join(verdict)}", suggest=offers)
    if weak := missing_proof(step, proofs, "warn"):
        tx.warn(
            "PROOF_WEAK",
            f"{change.path} was closed without proof of {', '.join(weak)}",
            "attach it with tasks.evidence.capture",
        )
    closed = change_step(tx, step, completed=True, completed_at_ms=tx.now_ms)
    payload = {"confirmed": closed.confirmed, **({"reason": reason} if reason else {})}
    event = happened(
        tx,
        step.task_id,
        "step_done",
        payload,
        path=change.path,
        step=closed,
        graph=step_ops(closed),
    )
    return closed, event


def strict_gate(tx: Tx, change: StepChange) -> tuple[list[str], list[Suggestion]]:
    """What the strict gate finds missing, and calls that help; empty for tasks that are not strict.

    The gate reads cards, so it is a command of a higher room: looked up by name, not imported.
    """
    registry = tx.facts.registry
    if change.task["reasoning_mode"] != "strict" or "tasks.gate" not in registry:
        return [], []
    command, offered = registry.get("tasks.gate"), len(tx.suggestions)
    request = command.request(task=change.step.task_id, step_id=change.step.step_id)
    missing = [f"{one.code} {one.message}" for one in command.handler(tx, request).missing]
    offers = tx.suggestions[offered:]
    del tx.suggestions[offered:]
    return missing, offers


def _refusal(
    kind: type[LonghouseError], tx: Tx, step: Step, proofs: Proofs, message: str, fix: str | None
) -> LonghouseError:
    return kind(message, recovery=fix, suggest=[close_suggestion(tx, step, proofs)])
