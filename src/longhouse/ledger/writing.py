"""`jobs.subagent.start`, `.renew` and `.finish`, called by the program that dispatches.

Each may be repeated: a repetition changes nothing, and a call that contradicts the record is
refused. A row and its log event are written together; a renewal is not an event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict, Suggestion, UnknownId
from longhouse.ledger.room import room, sql
from longhouse.ledger.types import (
    FinishSubagent,
    ListSubagents,
    Params,
    RenewSubagents,
    StartSubagent,
    Subagent,
    SubagentRecorded,
    SubagentsRenewed,
    ToolCount,
    ref_of,
)
from longhouse.ledger.upkeep import LONGEST_MS, STREAM, note_interruptions
from longhouse.store.artifacts import artifacts_of
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["START_EXAMPLE", "finish", "renew", "start"]

_TTL_MS = (1_000, LONGEST_MS)
_ID = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
START_EXAMPLE = StartSubagent(
    dispatch_id=_ID,
    depth=1,
    params=Params(
        mode="ad_hoc", prompt_ns="docs", prompt_key="reader", instructions="Sum up the README."
    ),
)


@room.command(
    "jobs.subagent.start",
    writes=True,
    additive=True,
    idempotent=True,
    example=START_EXAMPLE,
)
def start(tx: Tx, req: StartSubagent) -> SubagentRecorded:
    """Record a subagent before it starts; it counts as running until its lease expires."""
    note_interruptions(tx)
    given = _given(req)
    if row := tx.one(sql.subagent_of, dispatch_id=req.dispatch_id):
        if any(row[name] != value for name, value in given.items()):
            raise _otherwise(row, "started")
        return _recorded(tx, row, changed=False)
    snapshot = None
    if req.snapshot is not None:
        kept, _ = artifacts_of(tx).put(
            tx,
            req.snapshot.encode(),
            name=f"snapshot of {req.dispatch_id}.json",
            media_type="application/json",
            owner=None,
            expires_at_ms=None,
        )
        snapshot = kept.digest
    n = tx.count("subagents")
    data = {"status": "running", "dispatch_id": req.dispatch_id, "depth": req.depth}
    data |= {"parent_id": req.parent_id} if req.parent_id else {}
    seq = tx.append(STREAM, ref_of(n), "started", data)
    row = tx.one(
        sql.subagent_add,
        n=n,
        snapshot=snapshot,
        now=tx.now_ms,
        expires=_expiry(tx, req.lease_ttl_ms),
        seq=seq,
        **given,
    )
    assert row is not None
    return _recorded(tx, row, changed=True)


@room.command(
    "jobs.subagent.renew",
    writes=True,
    additive=True,
    idempotent=True,
    example=RenewSubagents(dispatch_ids=[_ID]),
)
def renew(tx: Tx, req: RenewSubagents) -> SubagentsRenewed:
    """Renew the leases of subagents; one presumed interrupted is running again."""
    expires = _expiry(tx, req.lease_ttl_ms)
    told: dict[str, list[str]] = {"renewed": [], "ended": [], "unknown": []}
    for dispatch_id in dict.fromkeys(req.dispatch_ids):
        told[_renewed(tx, dispatch_id, expires)].append(dispatch_id)
    return SubagentsRenewed(**told, lease_expires_at_ms=expires)


@room.command(
    "jobs.subagent.finish",
    writes=True,
    idempotent=True,
    example=FinishSubagent(
        dispatch_id=_ID,
        outcome="completed",
        message="It is about rivers.",
        tools=[ToolCount(name="read_file", calls=2)],
    ),
)
def finish(tx: Tx, req: FinishSubagent) -> SubagentRecorded:
    """Record how a subagent ended; this overrides an interruption presumed from its lease."""
    ending = _ending(req)
    row = tx.one(
        sql.subagent_end,
        dispatch_id=req.dispatch_id,
        now=tx.now_ms,
        seq=tx.last_seq() + 1,
        **ending,
    )
    if row is not None:
        data = {"status": req.outcome, "usage": msgspec.to_builtins(req.usage)}
        data |= {"error_type": req.error_type} if req.error_type else {}
        tx.append(STREAM, ref_of(row["n"]), "finished", data)
        return _recorded(tx, row, changed=True)
    row = tx.one(sql.subagent_of, dispatch_id=req.dispatch_id)
    if row is None:
        raise UnknownId(
            f"dispatch_id: there is no record of dispatch {req.dispatch_id!r}",
            recovery="record it first with jobs.subagent.start",
            suggest=[Suggestion(ListSubagents(), "list the recorded subagents")],
        )
    if any(row[name] != value for name, value in ending.items()):
        raise _otherwise(row, "ended")
    return _recorded(tx, row, changed=False)


def _renewed(tx: Tx, dispatch_id: str, expires: int) -> str:
    """Renew one lease; says which list of the result the dispatch belongs in."""
    lease = {"dispatch_id": dispatch_id, "expires": expires}
    if tx.one(sql.subagent_renew, **lease):
        return "renewed"
    if row := tx.one(sql.subagent_resume, seq=tx.last_seq() + 1, **lease):
        tx.append(STREAM, ref_of(row["n"]), "resumed", {"status": "running"})
        return "renewed"
    return "ended" if tx.one(sql.subagent_of, dispatch_id=dispatch_id) else "unknown"


def _expiry(tx: Tx, ttl_ms: int) -> int:
    low, high = _TTL_MS
    return tx.now_ms + min(max(ttl_ms, low), high)


def _given(req: StartSubagent) -> dict[str, Any]:
    """The columns that only the start sets."""
    return {
        "dispatch_id": req.dispatch_id,
        "parent_id": req.parent_id,
        "session_id": req.session_id,
        "depth": req.depth,
        "params": _json(req.params),
        "snapshot_digest": req.snapshot_digest,
    }


def _ending(req: FinishSubagent) -> dict[str, Any]:
    """The columns that the end sets."""
    return {
        "status": req.outcome,
        "message": req.message,
        "error_type": req.error_type,
        "tools": _json(req.tools),
        "usage": _json(req.usage),
        "artifacts": _json(req.artifacts),
        "missing_artifacts": _json(req.missing_artifacts),
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _recorded(tx: Tx, row: Row, *, changed: bool) -> SubagentRecorded:
    subagent = Subagent.from_row(row, tx.now_ms)
    return SubagentRecorded(ref=subagent.ref, subagent=subagent, changed=changed)


def _otherwise(row: Row, how: str) -> Conflict:
    return Conflict(
        f"dispatch_id: {row['dispatch_id']!r} is already recorded as {ref_of(row['n'])}, which "
        f"{how} differently ({row['status']})",
        recovery=f"give every dispatch its own id; read the record with open id={ref_of(row['n'])}",
        suggest=[Suggestion(ListSubagents(), "list the recorded subagents")],
    )
