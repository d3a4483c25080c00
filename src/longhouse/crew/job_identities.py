"""Jobs as members of the crew: `job-007` is the identity of JOB-007 while a runner works on it.

Such an identity has no token and cannot be adopted: it follows its job's claim. It holds the job's
files under the same rules as any other member.
"""

from __future__ import annotations

from typing import Protocol

from longhouse.crew.facts import alive
from longhouse.crew.holdings import scope_of
from longhouse.crew.identity import end_identity
from longhouse.crew.items import source
from longhouse.crew.outside import note_outside, outside_of, tell_holder
from longhouse.crew.protocol import inform
from longhouse.crew.reservations import (
    hold,
    in_the_way,
    note_incursions,
    tell_if_job,
)
from longhouse.crew.room import ENDLESS, room, sql
from longhouse.crew.scopes import scope_in
from longhouse.kernel.changes import ChangedFiles
from longhouse.kernel.clock import rfc3339
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["JobHoldings"]


class WorkingJob(Protocol):
    """A job as the jobs room describes it (`longhouse.jobs.holding.Holder`)."""

    @property
    def job(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def item(self) -> str | None: ...
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def owner(self) -> str | None: ...


TTL_MINUTES = 60
"""How long a reservation outlives the last sign of life from its job's runner."""
MOST_SHOWN = 50
NO_TOKEN = ""
"""A digest that no token has."""


@room.provides("jobs.holdings")
class JobHoldings:
    """What the crew does for the jobs room (`longhouse.jobs.holding.Holdings`)."""

    def scope(self, tx: Tx, path: str) -> str:
        return str(scope_in(tx, path, None))

    def obstacles(self, tx: Tx, who: WorkingJob) -> list[str]:
        found: list[str] = []
        me, item = who.job.lower(), _item(tx, who)
        for path in who.paths:
            scope = scope_in(tx, path, None)
            met = [row for row in in_the_way(tx, me, scope, "exclusive") if _binds(tx, row)]
            if not met:
                continue
            if _appear(tx, who, "stuck") is None:
                return found
            for row, _seq, new in note_incursions(tx, me, item, scope, met):
                if new:
                    _tell_waits(tx, who, item, row)
            row = met[0]
            found.append(
                f"{path}: {scope_of(row)} is held by {row['agent_id']} for {row['bead_id']} "
                f"until {rfc3339(row['expires_at_ms'])}"
            )
        return found

    def take(self, tx: Tx, who: WorkingJob) -> None:
        if _appear(tx, who, "working") is None:
            tx.warn(
                "NAME_TAKEN",
                f"{who.job.lower()} is the name of an agent, so {who.job} cannot hold files",
                "retire that agent and run the job again",
            )
            return
        me, item = who.job.lower(), _item(tx, who)
        mine = {(row["path"], row["below"]) for row in _live(tx, me)}
        for path in who.paths:
            scope = scope_in(tx, path, None)
            if (scope.path, int(scope.below)) not in mine:
                met = in_the_way(tx, me, scope, "exclusive")
                hold(tx, me, scope, "exclusive", TTL_MINUTES, item, met)

    def renew(self, tx: Tx, job: str) -> None:
        me = job.lower()
        tx.run(sql.agent_acts, agent_id=me, now=tx.now_ms)
        tx.run(sql.reservations_renew, agent_id=me, token_digest=NO_TOKEN, now=tx.now_ms)

    def end(self, tx: Tx, job: str) -> None:
        row = tx.one(sql.agent_by_id, agent_id=job.lower())
        if row is not None and row["kind"] == "job" and row["retired_at_ms"] is None:
            end_identity(tx, row["agent_id"])

    def changed(self, tx: Tx, who: WorkingJob, files: ChangedFiles, *, applied: bool) -> None:
        me, item = who.job.lower(), _item(tx, who)

        def is_mine(row: Row) -> bool:
            return row["agent_id"] == me or _is_agent_of(who, row)

        found = outside_of(tx, files, None, is_mine, applied=applied)
        if found or (files.more and not applied):
            _, told = note_outside(tx, me, who.job, item, found, files.more, only_news=applied)
            for row in told:
                how = f"longhouse job show {who.job}"
                tell_holder(tx, me, f"{who.job} ({who.title})", item, row, how)

    def held(self, tx: Tx, job: str) -> list[str]:
        return sorted(str(scope_of(row)) for row in _live(tx, job.lower()))


def _live(tx: Tx, me: str) -> list[Row]:
    page = {"now": tx.now_ms, "before": ENDLESS, "limit": MOST_SHOWN}
    return tx.all(sql.reservations_live_of_agent, agent_id=me, bead_id=None, **page)


def _binds(tx: Tx, row: Row) -> bool:
    """Whether the reservation is in force: its owner is active and it has not expired."""
    return row["expires_at_ms"] > tx.now_ms and alive(tx, row) == "active"


def _is_agent_of(who: WorkingJob, row: Row) -> bool:
    """Whether the job's own agent made this reservation, under another name."""
    return who.owner is not None and row["owner"] == who.owner


def _item(tx: Tx, who: WorkingJob) -> str:
    """The work item that the job reserves files for: its task, else the job's own identity."""
    if who.item is not None and source(tx).get(tx, who.item) is not None:
        return who.item
    return who.job.lower()


def _appear(tx: Tx, who: WorkingJob, status: str) -> Row | None:
    """The job's identity, created or revived; None if an agent has that name."""
    me = who.job.lower()
    before = tx.one(sql.agent_by_id, agent_id=me)
    row = tx.one(
        sql.agent_of_job,
        agent_id=me,
        display_name=who.title,
        status=status,
        token_digest=NO_TOKEN,
        owner=who.owner,
        now=tx.now_ms,
    )
    if row is not None and (before is None or before["retired_at_ms"] is not None):
        tx.append("crew", me, "registered", {"agent": me, "role": "job", "kind": "job"})
    return row


def _tell_waits(tx: Tx, who: WorkingJob, item: str, row: Row) -> None:
    scope = str(scope_of(row))
    body = f"{who.job} ({who.title}) needs files that you hold ({scope}). Release them when you "
    body += "are done; the job then starts automatically within a minute."
    tell_if_job(tx, row, f"{who.job} wants {scope}, which this job holds")
    inform(tx, who.job.lower(), row["agent_id"], item, f"{who.job} waits for {scope}", body)
