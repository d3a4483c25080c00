"""Who may answer and cancel a job: a manager, and whoever created it.

The creator is known by its token or by the identity that it proved, never by a name it typed.
"""

from __future__ import annotations

from longhouse.jobs.records import existing
from longhouse.jobs.values import job_id
from longhouse.kernel.errors import Forbidden
from longhouse.kernel.standing import PERSON
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["leaders_of", "may_end", "may_lead", "must_lead"]


def may_lead(tx: Tx, row: Row) -> bool:
    """Whether the caller may answer and cancel this job."""
    if tx.by.leads:
        return True
    # An agent that uses the person's own token has not created what the person did.
    if row["creator"] == tx.by.owner and tx.by.owner not in ("", PERSON):
        return True
    return tx.by.named and row["creator_agent"] == tx.by.who


def may_end(tx: Tx, job: str) -> bool:
    """Whether the caller may cancel that job."""
    return may_lead(tx, existing(tx, job))


def leaders_of(row: Row) -> str:
    """Whom to ask if one may not."""
    made = row["creator_agent"]
    return f"{made}, who created it, or a manager" if made else "a manager, or whoever created it"


def must_lead(tx: Tx, row: Row, what: str) -> None:
    if not may_lead(tx, row):
        job = job_id(row["n"])
        to = row["creator_agent"] or "a manager"
        raise Forbidden(
            f"job: {job} was created by another caller: only {leaders_of(row)} may {what} it",
            recovery=f"ask {to}, for example with agents.send; if you created it, register with "
            "agents.register and pass agent_id, so that you are known in your next session too",
        ).asking(row["creator_agent"] or "role:manager")
