"""Attaching evidence to a step: commands, links, hashes and refs."""

from __future__ import annotations

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.store.tx import Tx
from longhouse.work.events import happened
from longhouse.work.proof import Evidence, Receipt, evidence_from_line
from longhouse.work.receipts import judged, store_proof
from longhouse.work.room import room
from longhouse.work.states import Checkpoint
from longhouse.work.steps import StepChange, moved, step_change
from longhouse.work.types.changing import MOST, Capture
from longhouse.work.types.entities import Event, StepMoved

__all__ = ["captured"]


@room.command(
    "tasks.evidence.capture",
    also=("evidence proof prove tasks.evidence.add tasks.proof.add attach tasks.step.proof"),
    op="evidence.capture",
    writes=True,
    additive=True,
    example=Capture(task="TASK-001", checks=["CMD: make test (exit 0)"], checkpoint="tests"),
)
def evidence_capture(tx: Tx, req: Capture) -> StepMoved:
    """Attach proof to a step: commands with their exit code, links, hashes, refs that resolve."""
    change = step_change(tx, req)
    event = captured(tx, change, req)
    return moved(change, change.step, event)


def captured(tx: Tx, change: StepChange, req: Capture) -> Event:
    """Attach evidence to the step; returns the event that records it."""
    receipts = _receipts(tx, req, change.step.task_id)
    kinds: list[Checkpoint | None] = (
        [req.checkpoint]
        if isinstance(req.checkpoint, str)
        else list(dict.fromkeys(req.checkpoint))
        if req.checkpoint
        else [None]
    )
    said = "\n".join(_said(receipt) for receipt in receipts)
    event = happened(
        tx,
        change.step.task_id,
        "evidence_captured",
        {
            "checkpoint": [kind for kind in kinds if kind],
            "receipts": [_short(receipt) for receipt in receipts],
        },
        path=change.path,
        step=change.step,
        note=f"Evidence captured\n{said}",
    )
    store_proof(tx, change.step, receipts, kinds, event.seq)
    if weak := [receipt for receipt in receipts if not receipt.proves]:
        tx.warn(
            "PROOF_WEAK",
            f"{len(weak)} of {len(receipts)} prove nothing, first {_said(weak[0])[:60]!r}",
            "say how it ended: CMD: make test (exit 0)",
        )
    if kinds == [None]:
        tx.warn(
            "PROOF_UNLINKED",
            "the evidence is stored, but linked to no checkpoint",
            "pass checkpoint=tests",
        )
    return event


def _receipts(tx: Tx, req: Capture, owner: str) -> list[Receipt]:
    given: list[tuple[str, Evidence]] = [
        (f"{name}[{index}]", item)
        for name in ("items", "artifacts")
        for index, item in enumerate(getattr(req, name))
    ]
    for index, line in enumerate(req.checks):
        item = evidence_from_line(line)
        if item is not None:
            # A pasted line that does not match its tag is stored as a note.
            if not item.well_formed:
                item = Evidence(kind="note", text=item.text)
            given.append((f"checks[{index}]", item))
    given += [
        (f"attachments[{index}]", Evidence(kind="link", text=link))
        for index, link in enumerate(req.attachments)
        if link.strip()
    ]
    if not given:
        raise InvalidInput(
            'checks: expected something to attach; fix: checks=["CMD: make test (exit 0)"]',
            recovery="pass items, checks or attachments that are not placeholders",
        )
    if len(given) > MOST:
        raise InvalidInput(f"items: expected at most {MOST} in all; fix: call again for the rest")
    return [judged(tx, where, item, owner) for where, item in given]


def _said(receipt: Receipt) -> str:
    """The receipt as a line that parses back to the same receipt."""
    code = f" (exit {receipt.exit_code})" if receipt.exit_code is not None else ""
    output = f" | {receipt.artifact}" if receipt.artifact else ""
    return f"{receipt.kind.upper()}: {receipt.text}{code}{output}"


def _short(receipt: Receipt) -> dict[str, object]:
    made: dict[str, object] = msgspec.to_builtins(receipt)
    return {**made, "text": receipt.text[:200]}
