"""Folds a job's events into its state and attention, so `verify` can compare them with its row."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longhouse.jobs.records import STREAM
from longhouse.jobs.room import room, sql
from longhouse.jobs.values import job_id
from longhouse.kernel.values import Value
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["Folded", "differences", "fold"]

_PAGE = 500
_CLAIMS = ("claimed", "reclaimed")
_TOLD = ("blocked", "waiting", "ready")


class Folded(Value, frozen=True, kw_only=True):
    """The state of a job according to its events."""

    status: str = ""
    revision: int = 0
    runner_id: str | None = None
    last_seq: int = 0
    last_claim_seq: int = 0
    last_question_seq: int = 0
    last_manager_seq: int = 0
    last_proof_gate_seq: int = 0
    last_proof_seq: int = 0
    last_error_seq: int = 0


def fold(events: Iterable[LogRow], start: Folded | None = None) -> Folded:
    """Apply events, oldest first."""
    state = start or Folded()
    for event in events:
        state = _apply(state, event)
    return state


def _apply(state: Folded, event: LogRow) -> Folded:
    data, seq = event.data, event.seq
    changes: dict[str, object] = {
        "status": data["status"],
        "revision": data["revision"],
        "runner_id": data.get("runner_id"),
        "last_seq": seq,
    }
    if event.kind in ("question", "manager", "proof_gate", "error"):
        changes[f"last_{event.kind}_seq"] = seq
    if data.get("proof"):
        changes["last_proof_seq"] = seq
    if event.kind in _CLAIMS:
        changes["last_claim_seq"] = seq
    elif event.kind in ("retrying", "changes_wait", "held") or (
        event.kind == "released" and data.get("error")
    ):
        changes["last_error_seq"] = seq
    elif event.kind in _TOLD:
        changes["last_error_seq"] = seq if data.get("error") else 0
    elif event.kind == "requeued":
        changes.update(last_claim_seq=0, last_error_seq=seq if data.get("error") else 0)
    return msgspec.structs.replace(state, **changes)


@room.check("each job matches its events")
def differences(tx: Tx) -> list[str]:
    """The jobs of this workspace whose row differs from their events, each with the fields."""
    found = []
    before = 2**62
    while rows := tx.all(sql.jobs_newest, before=before, limit=_PAGE):
        before = rows[-1]["n"]
        for row in rows:
            told = fold(_events(tx, job_id(row["n"])))
            wrong = [name for name in Folded.__struct_fields__ if row[name] != getattr(told, name)]
            if wrong:
                found.append(f"{job_id(row['n'])}: {', '.join(wrong)}")
    return found


def _events(tx: Tx, job: str) -> Iterable[LogRow]:
    after = 0
    while rows := tx.all(log_sql.log_of_subject_after, subject=job, after=after, limit=_PAGE):
        after = rows[-1]["seq"]
        yield from (LogRow.from_row(row) for row in rows if row["stream"] == STREAM)
