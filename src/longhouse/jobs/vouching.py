"""Who may act for a job or store its results: only the holder of its claim and its agent."""

from __future__ import annotations

import re
from typing import NamedTuple

from longhouse.jobs.room import room, sql
from longhouse.kernel.errors import Forbidden
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.store.tx import sql as frame_sql

__all__ = ["AgentClaim", "claim_of_agent", "vouch_for_job"]

_JOB = re.compile(r"JOB-([0-9]{1,12})\Z")


class AgentClaim(NamedTuple):
    """An active claim: its workspace and its owner."""

    workspace: str
    owner: str


def claim_of_agent(tx: Tx, digest: str) -> AgentClaim | None:
    """The active claim whose agent's token has this digest; None if there are several."""
    rows = tx.all(sql.claim_of_agent, digest=digest, now=tx.now_ms)
    if len(rows) != 1:
        return None
    name = tx.value(frame_sql.workspace_name, number=rows[0]["ws"])
    return AgentClaim(name, rows[0]["claim_owner"])


@room.vouches
def vouch_for_job(tx: Tx, name: str) -> bool:
    """Refuse the name of a job that the caller does not work on; never vouches for an identity.

    After a job finishes, its last claim still counts, since the transcript may arrive late.
    """
    found = _JOB.match(name)
    if found is None or tx.by.leads:
        return False
    row = tx.one(sql.job_one, n=int(found[1]))
    if row is None or row["status"] == "QUEUED" or not _works_on(tx, row):
        raise Forbidden(
            f"{name} is a job that this caller does not hold; only the token of its claim may act "
            "or store results for it",
            recovery="leave out the job's name, or claim the job first with jobs.claim",
        )
    return False


def _works_on(tx: Tx, row: Row) -> bool:
    made_claim: bool = tx.by.owns(row["claim_owner"], row["claim_identity"])
    return made_claim or bool(row["claim_agent"] == tx.by.owner)
