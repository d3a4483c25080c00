"""Runners: explicit leases, never inferred from the activity of jobs.

A heartbeat updates the runner's row in place; only changes of state are logged. A runner is offline
exactly when its lease has expired.
"""

from __future__ import annotations

import shlex
from operator import itemgetter
from typing import Any

import msgspec

from longhouse.jobs.records import STREAM, checked_meta, expiry
from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Offer, RunnerCandidate
from longhouse.jobs.types.runners import Heard, RunnerHeartbeat
from longhouse.jobs.values import RunnerLease
from longhouse.kernel.errors import Conflict
from longhouse.store.engine import Row
from longhouse.store.projects import require_bound
from longhouse.store.tx import Question, Tx

__all__ = [
    "RunnerOffers",
    "candidates",
    "heartbeat",
    "present",
    "runner_argv",
    "start_line",
    "who_is_there",
]

FORGET_AFTER_MS = 7 * 24 * 3_600_000
OF_LATE_MS = 60_000
"""Calls in one transaction may differ in time, but never by this much."""
MOST = 200


@room.command(
    "jobs.runner.heartbeat",
    also="jobs.runner.ping jobs.runner.register",
    writes=True,
    additive=True,
    idempotent=True,
    example=RunnerHeartbeat(runner_id="runner-1", status="idle", executors=["codex"]),
)
def heartbeat(tx: Tx, req: RunnerHeartbeat) -> Heard:
    """Renew a runner's lease and report what it can run."""
    if req.projects is not None:
        require_bound(tx, req.projects)
    notice(tx)
    before = tx.one(sql.lease_one, runner_id=req.runner_id)
    offer = {
        name: value
        for name in Offer.__struct_fields__
        if (value := getattr(req, name)) not in (None, [])
        or (name == "supports_artifacts" and value is not None)
    }
    offers = msgspec.json.encode(offer).decode()
    row = tx.one(
        sql.lease_put,
        runner_id=req.runner_id,
        status=req.status,
        active_job_id=req.active_job_id,
        expires=expiry(tx.now_ms, req.lease_ttl_ms),
        offers=offers,
        now=tx.now_ms,
        meta=msgspec.json.encode(checked_meta(req.meta)).decode(),
        owner=tx.by.owner,
        anew=int(_is_anew(tx, before, offers, req.meta)),
    )
    if row is None:
        raise _taken(req.runner_id)
    if before is None:
        tx.run(sql.leases_forget, before=tx.now_ms - FORGET_AFTER_MS)
    _log_change(tx, before, row)
    return Heard(lease=RunnerLease.from_row(row, tx.now_ms))


@room.every(5)
def notice(tx: Tx) -> None:
    """Log the runners whose lease has expired since the last check."""
    for row in sorted(tx.all(sql.leases_lapsed, now=tx.now_ms), key=itemgetter("runner_id")):
        _log(tx, row, "offline")


class RunnerOffers:
    """The offers of the runners that claim in one transaction; the second one reads them all."""

    def __init__(self, runner_id: str, lease: Row | None) -> None:
        self._known = {runner_id: lease}
        self._read = self._all = False

    def runner(self, tx: Tx, runner_id: str) -> RunnerCandidate:
        """The runner with its current offer; without an active lease, the offer is empty."""
        if runner_id not in self._known and not self._read:
            rows = tx.all(sql.leases_active, now=tx.now_ms - OF_LATE_MS, limit=MOST)
            self._known |= {row["runner_id"]: row for row in rows}
            self._read, self._all = True, len(rows) < MOST
        if runner_id not in self._known and not self._all:
            self._known[runner_id] = tx.one(sql.lease_one, runner_id=runner_id)
        lease = self._known.get(runner_id)
        if lease is None or lease["lease_expires_at_ms"] <= tx.now_ms:
            return RunnerCandidate(runner_id=runner_id, offer=Offer())
        if lease["owner"] != tx.by.owner:
            raise _taken(runner_id)
        return RunnerCandidate(
            runner_id=runner_id, offer=_offer(lease["offers"]), since_ms=lease["since_ms"]
        )


def who_is_there(tx: Tx) -> Question:
    """The query for the runners that are online."""
    return tx.ask(sql.leases_active, now=tx.now_ms, limit=MOST)


def present(tx: Tx) -> list[RunnerCandidate]:
    """The runners that are online, read immediately."""
    return candidates(tx.answer(who_is_there(tx)))


def candidates(rows: list[Row]) -> list[RunnerCandidate]:
    """The runners in these rows, as routing sees them."""
    return [
        RunnerCandidate(
            runner_id=row["runner_id"],
            offer=_offer(row["offers"]),
            running=max(row["running"], 1 if row["status"] == "live" else 0),
            since_ms=row["since_ms"],
        )
        for row in rows
    ]


def runner_argv(storage_dir: str, workspace: str) -> list[str]:
    """The arguments to `longhouse` that start a runner on this store."""
    return ["runner", "--dir", storage_dir, "--workspace", workspace]


def start_line(tx: Tx) -> str:
    """The command line that starts a runner for this workspace."""
    return shlex.join(["longhouse", *runner_argv(tx.facts.storage_dir, tx.workspace)])


def _is_anew(tx: Tx, before: Row | None, offers: str, meta: dict[str, Any] | None) -> bool:
    """Whether it restarted or changed its offer, so that jobs it declined are offered again."""
    if before is None or before["lease_expires_at_ms"] <= tx.now_ms:
        return True
    pid = msgspec.json.decode(before["meta"]).get("pid")
    return bool(before["offers"] != offers or pid != (meta or {}).get("pid"))


def _taken(runner_id: str) -> Conflict:
    return Conflict(
        f"runner_id: {runner_id!r} is in use by another token",
        recovery="choose another runner_id",
    )


def _offer(offers: str) -> Offer:
    return msgspec.json.decode(offers, type=Offer)


def _log_change(tx: Tx, before: Row | None, after: Row) -> None:
    if before is None or not before["online"]:
        _log(tx, after, "online")
    elif before["status"] != after["status"]:
        _log(tx, after, after["status"])
    elif before["offers"] != after["offers"]:
        _log(tx, after, "offers")


def _log(tx: Tx, row: Row, kind: str) -> None:
    data: dict[str, Any] = {"status": row["status"]}
    if row["active_job_id"]:
        data["job"] = row["active_job_id"]
    tx.append(STREAM, f"runner:{row['runner_id']}", kind, data)
