"""Who may act for a job or store its results: the holder of its claim, and its agent."""

from __future__ import annotations

import re

from longhouse.jobs.room import room, sql
from longhouse.kernel.errors import Forbidden
from longhouse.store.tx import Tx

__all__ = ["vouch_for_job"]

_JOB = re.compile(r"JOB-([0-9]{1,12})\Z")


@room.vouches
def vouch_for_job(tx: Tx, name: str) -> bool:
    """Refuse the name of a job that the caller does not work on; it is never an identity.

    After its end a job is still that of its last claim, whose transcript may come late.
    """
    found = _JOB.match(name)
    if found is None or tx.by.leads:
        return False
    row = tx.one(sql.job_one, n=int(found[1]))
    held = row is not None and row["status"] != "QUEUED"
    if row is None or not held or tx.by.owner not in (row["claim_owner"], row["claim_agent"]):
        raise Forbidden(
            f"{name} is a job that this caller does not hold; only its claim's token may store or "
            "act for it",
            recovery="leave the name of the job out, or claim the job first: jobs.claim",
        )
    return False
