"""A job in the crew: an identity of its own while it runs, which holds the files that it is given.

What an identity and a reservation are the crew's room knows; here is when a job has them: from its
claim to its end, through every claim. A job whose files somebody else holds waits in the queue, and
both sides are told.
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
"""What the crew's room provides: a `Holdings`."""
TELL_JOB: Final = "crew.tell_job"
"""What the crew's room asks for: `tell_job`."""

ENDS: Final = frozenset(
    {"released", "retrying", "completed", "failed", "canceled", "changes_wait", "requeued"}
)
"""The events after which a job holds nothing."""


class Holder(NamedTuple):
    """A job as the crew sees it; `owner` is the connection that may act as it."""

    job: str
    title: str
    item: str | None
    paths: tuple[str, ...]
    owner: str | None = None


class Holdings(Protocol):
    """The crew's side of a job."""

    def scope(self, tx: Tx, path: str) -> str:
        """The path as the crew writes it, or a refusal."""

    def obstacles(self, tx: Tx, who: Holder) -> list[str]:
        """Who holds what the job is given, a sentence each; they are told of it."""

    def take(self, tx: Tx, who: Holder) -> None:
        """Let the job be somebody, and hold its files."""

    def renew(self, tx: Tx, job: str) -> None:
        """A sign of life of the job."""

    def end(self, tx: Tx, job: str) -> None:
        """Give back what it holds, and let it be nobody."""

    def changed(self, tx: Tx, who: Holder, files: ChangedFiles, *, applied: bool) -> None:
        """Record which of these files the job had not reserved.

        What lies in another's reservation is the job's doing only if it worked `alone`, or if
        its changes were `applied`; what nobody holds was told when its slice ended.
        """

    def held(self, tx: Tx, job: str) -> list[str]:
        """What it holds now."""


def holdings(tx: Tx) -> Holdings:
    made: Holdings = tx.facts.registry.provided[HOLDINGS]()
    return made


def scopes_of(tx: Tx, paths: Sequence[str]) -> list[str]:
    """The files that a job is given, as the crew writes them, each once; or a refusal."""
    scope = holdings(tx).scope
    return list(dict.fromkeys(scope(tx, path) for path in paths))


def held_by(tx: Tx, row: Row) -> list[str]:
    """The files that a job has reserved now."""
    if not row["in_crew"] or row["status"] != "RUNNING":
        return []
    return holdings(tx).held(tx, job_id(row["n"]))


def holder_of(tx: Tx, row: Row, owner: str | None = None) -> Holder:
    """A job with the files that it is given."""
    spec = tx.one(sql.spec_of, n=row["n"]) or {"meta": "{}"}
    meta: dict[str, Any] = msgspec.json.decode(spec["meta"])
    paths = tuple(meta.get("paths", ())) if Need.from_route(row["route"]).paths else ()
    return Holder(job_id(row["n"]), row["title"], row["task_id"], paths, owner)


@room.provides(TELL_JOB)
def tell_job(tx: Tx, job: str, message: str) -> None:
    """Let a job that runs know what happened to what it holds: its agent reads its thread."""
    from longhouse.jobs.records import record

    seq = tx.seqs(1)
    row = tx.one(sql.job_told, n=job_number(job), seq=seq, now=tx.now_ms)
    if row is not None:
        record(tx, row, "incursion", message, seq=seq)
