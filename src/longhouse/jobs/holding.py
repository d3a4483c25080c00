"""A job in the crew: while it runs, it has its own identity, which holds its files.

The crew room implements identities and reservations; this module decides when a job has them: from
its first claim until it finishes or returns to the queue, across reclaims. A job whose files are
held by someone else waits in the queue, and both sides are notified.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Need
from longhouse.jobs.values import job_id, job_number
from longhouse.kernel.changes import ChangedFiles
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = [
    "ENDS",
    "HOLDINGS",
    "TELL_JOB",
    "Holder",
    "Holdings",
    "held_by",
    "holder_of",
    "holdings",
    "tell_job",
]

HOLDINGS: Final = "jobs.holdings"
"""Provided by the crew room: a `Holdings`."""
TELL_JOB: Final = "crew.tell_job"
"""Provided to the crew room: `tell_job`."""

ENDS: Final = frozenset(
    {
        "released",
        "retrying",
        "completed",
        "failed",
        "canceled",
        "changes_wait",
        "requeued",
        "held",
    }
)
"""The events after which a job holds nothing."""


class Holder(NamedTuple):
    """A job as the crew sees it; `owner` is the token that may act as the job."""

    job: str
    title: str
    item: str | None
    paths: tuple[str, ...]
    owner: str | None = None


class Holdings(Protocol):
    """What the crew does for jobs."""

    def scope(self, tx: Tx, path: str) -> str:
        """The path in the crew's normal form, or a refusal."""

    def obstacles(self, tx: Tx, who: Holder) -> list[str]:
        """Who holds the job's paths, one sentence each; notifies the holders."""

    def take(self, tx: Tx, who: Holder) -> None:
        """Give the job an identity and reserve its files."""

    def renew(self, tx: Tx, job: str) -> None:
        """Record a sign of life from the job."""

    def end(self, tx: Tx, job: str) -> None:
        """Release the job's files and end its identity."""

    def changed(self, tx: Tx, who: Holder, files: ChangedFiles, *, applied: bool) -> None:
        """Record which of these files the job had not reserved.

        Changes inside another member's reservation are attributed to the job only if it worked
        `alone` or its changes were `applied`. When they are `applied`, files that no one holds are
        not reported again: that happened when the slice finished.
        """

    def held(self, tx: Tx, job: str) -> list[str]:
        """The paths it holds now."""


def holdings(tx: Tx) -> Holdings:
    made: Holdings = tx.facts.registry.provided[HOLDINGS]()
    return made


def scopes_of(tx: Tx, paths: Sequence[str]) -> list[str]:
    """A job's paths in the crew's normal form, without duplicates; or a refusal."""
    scope = holdings(tx).scope
    return list(dict.fromkeys(scope(tx, path) for path in paths))


def held_by(tx: Tx, row: Row) -> list[str]:
    """The paths that a job holds now."""
    if not row["in_crew"] or row["status"] != "RUNNING":
        return []
    return holdings(tx).held(tx, job_id(row["n"]))


def holder_of(tx: Tx, row: Row, owner: str | None = None) -> Holder:
    """A job with its paths, as the crew sees it."""
    spec = tx.one(sql.spec_of, n=row["n"]) or {"meta": "{}"}
    meta: dict[str, Any] = msgspec.json.decode(spec["meta"])
    paths = tuple(meta.get("paths", ())) if Need.from_route(row["route"]).paths else ()
    return Holder(job_id(row["n"]), row["title"], row["task_id"], paths, owner)


@room.provides(TELL_JOB)
def tell_job(tx: Tx, job: str, message: str) -> None:
    """Record in a running job's thread, which its agent reads, what happened to its files."""
    from longhouse.jobs.records import record

    seq = tx.seqs(1)
    row = tx.one(sql.job_told, n=job_number(job), seq=seq, now=tx.now_ms)
    if row is not None:
        record(tx, row, "incursion", message, seq=seq)
