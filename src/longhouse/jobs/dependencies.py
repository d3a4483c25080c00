"""`after`: a job becomes claimable only when every job it depends on is DONE.

A job can depend only on jobs that already exist, so cycles are impossible. One that depends on a
failed or canceled job stays queued and needs attention until that job runs again.
"""

from __future__ import annotations

from collections.abc import Iterable

from longhouse.jobs.records import existing, record
from longhouse.jobs.room import sql
from longhouse.jobs.values import job_id, job_number
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Value
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["Dependencies", "await_jobs", "dependencies_of", "tell_dependents"]

_LOST = ("FAILED", "CANCELED")


class Dependencies(Value, frozen=True, kw_only=True):
    """The jobs that a job depends on, and their state."""

    numbers: tuple[int, ...] = ()
    waits: int = 0
    lost: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Dependencies:
        rows = list(rows)
        return cls(
            numbers=tuple(row["n"] for row in rows),
            waits=sum(row["status"] != "DONE" for row in rows),
            lost=tuple(job_id(row["n"]) for row in rows if row["status"] in _LOST),
        )

    def write(self, tx: Tx, n: int) -> None:
        """Store them for a new job, which is blocked at once if one has already failed."""
        tx.many(sql.after_add, [{"n": n, "after_n": number} for number in self.numbers])
        if self.lost:
            _tell(tx, n, self, "blocked", _lost_message(self))


def await_jobs(tx: Tx, job: str, after: Iterable[str]) -> Dependencies:
    """Check the dependencies of a new job."""
    wanted = sorted(set(after), key=job_number)
    if job in wanted:
        raise InvalidInput(
            f"after: {job} would wait for itself", recovery="name jobs that already exist"
        )
    return Dependencies.of(existing(tx, dependency) for dependency in wanted)


def dependencies_of(tx: Tx, n: int) -> Dependencies:
    return Dependencies.of(tx.all(sql.after_of, n=n))


def tell_dependents(tx: Tx, row: Row) -> None:
    """Update the jobs that depend on a job which has finished or was requeued."""
    if not row.get("followed", True) or row.get("changes"):
        return
    for dependent in tx.all(sql.after_this, n=row["n"]):
        n = dependent["n"]
        found = tx.one(sql.job_one, n=n)
        if found is None or found["status"] != "QUEUED":
            continue
        deps = dependencies_of(tx, n)
        if row["status"] in _LOST:
            _tell(tx, n, deps, "blocked", _lost_message(deps))
        elif row["status"] == "QUEUED":
            _tell(tx, n, deps, "waiting", f"{job_id(row['n'])} was requeued")
        elif deps.waits == found["waits"]:
            continue  # another dependency that finished in this commit has already updated it
        elif deps.waits == 0:
            _tell(tx, n, deps, "ready", "all its dependencies are done")
        else:
            tx.run(sql.after_count, n=n, waits=deps.waits)


def _tell(tx: Tx, n: int, deps: Dependencies, kind: str, message: str) -> None:
    seq = tx.seqs(1)
    error_seq = seq if deps.lost else 0
    tx.run(sql.after_told, n=n, waits=deps.waits, error_seq=error_seq, seq=seq, now=tx.now_ms)
    row = tx.one(sql.job_one, n=n)
    assert row is not None
    record(tx, row, kind, message, seq=seq, error=bool(deps.lost))


def _lost_message(deps: Dependencies) -> str:
    return f"depends on {', '.join(deps.lost)}, which did not finish as DONE"
