"""Receipts on steps: checked against what exists, then stored with the event that added them.

Only a receipt that proves something satisfies `require`. Output goes into the artifact store
under its digest, so evidence is never cut or lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.kernel.opening import Look, resolved
from longhouse.store.artifacts import artifacts_of
from longhouse.store.tx import Tx
from longhouse.work.proof import RESOLVED, SHAPES, Evidence, Receipt
from longhouse.work.room import room, sql
from longhouse.work.states import Checkpoint
from longhouse.work.types.entities import Step

__all__ = ["judged", "steps_shown_by", "store_proof"]


def judged(tx: Tx, where: str, item: Evidence, owner: str) -> Receipt:
    """The receipt for a piece of evidence; evidence that does not match its kind is refused."""
    text = item.text.strip()
    if not text:
        raise InvalidInput(f"{where}.text: expected text; fix: {where}.text=make test")
    if not item.well_formed:
        shape = SHAPES[item.kind][1]
        raise InvalidInput(
            f"{where}.text: expected a {item.kind} like {shape}; fix: {where}.kind=note",
            recovery="fix it, or pass it as kind=note, which proves nothing",
        )
    artifact = None
    if item.output is not None:
        stored, _ = artifacts_of(tx).put(
            tx,
            item.output.encode(),
            name=f"{item.kind} output",
            media_type="text/plain",
            owner=owner,
        )
        artifact = f"artifact:{stored.digest}"
    proves = {"cmd": item.exit_code == 0, "note": False}.get(item.kind, True)
    said: dict[str, Any] = {"exit_code": item.exit_code, "proves": proves}
    if item.kind in RESOLVED:
        said |= _resolved(tx, where, text, item.kind)
    return Receipt(kind=item.kind, text=text, artifact=artifact, **said)


def _resolved(tx: Tx, where: str, text: str, kind: str) -> dict[str, Any]:
    """Look up the record as `open` would; a job or process proves something once it succeeded."""
    try:
        found = resolved(tx, Look(id=text))
    except LonghouseError as error:
        raise InvalidInput(
            f"{where}.text: {text[:80]!r} does not resolve: {error.message}",
            recovery="attach a ref that `open` can show",
        ) from None
    if found is None:
        raise InvalidInput(
            f"{where}.text: {text[:80]!r} is not a {kind} that `open` can show; "
            f"fix: {where}.kind=note",
            recovery="paste a ref like notes@12 or JOB-001",
        )
    own: dict[str, Any] | None = getattr(found, "receipt", None)
    return own or {"proves": _succeeded(msgspec.to_builtins(found))}


def _succeeded(found: dict[str, Any]) -> bool:
    ran = found.get("job") or found.get("task")
    return not isinstance(ran, dict) or ran.get("status") == "DONE"


def store_proof(
    tx: Tx, step: Step, receipts: Sequence[Receipt], kinds: Iterable[Checkpoint | None], seq: int
) -> None:
    """Store each receipt for each of its checkpoints."""
    wanted = [(receipt, kind) for receipt in receipts for kind in kinds]
    tx.many(
        sql.proof_add,
        [
            {
                "seq": seq,
                "number": number,
                "step_id": step.step_id,
                "checkpoint": kind,
                "kind": receipt.kind,
                "proves": int(receipt.proves),
                "receipt": msgspec.json.encode(receipt).decode(),
                "artifact": (receipt.artifact or "").removeprefix("artifact:") or None,
                "ref": receipt.text if receipt.kind in RESOLVED else None,
            }
            for number, (receipt, kind) in enumerate(wanted)
        ],
    )


def steps_shown_by(tx: Tx, ref: str) -> list[dict[str, Any]]:
    """The steps that a record serves as proof for: `{ref, title, status}`, newest first."""
    return [
        {
            "ref": f"{row['task_id']}@{row['seq']}",
            "title": row["title"],
            "status": "done" if row["completed"] else "open",
        }
        for row in tx.all(sql.proofs_by_ref, ref=ref)
    ]


@room.holds_artifacts
def held_artifacts(tx: Tx) -> Iterator[str]:
    """The artifacts that receipts point at, and the processes whose output they cite."""
    for row in tx.all(sql.artifacts_held):
        yield row["artifact"]
    for row in tx.all(sql.processes_cited):
        yield row["ref"]
