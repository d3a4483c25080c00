"""Adoption, which continues an earlier identity: who may, and on what evidence.

An active identity can be adopted only with its own token, or by a manager. For a silent one, an
active work item assigned to it is evidence, which the server checks itself; but anyone may assign
one, and a tracker's file is only text. So for others than managers it counts only if the identity
itself took the item up: reserved files for it, spoke about it or changed it. Uncommitted work is
visible only where the files are, so that evidence counts only from managers: the command line and
runners, which have checked. A RESUME event always records why
the adoption was allowed and which token vouched for it. The new session gets a new token, and the
old one stops working.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.crew.agents import (
    agent_from,
    binds_to,
    digest,
    existing,
    holds,
    new_token,
    on_connection,
    reissue,
)
from longhouse.crew.errors import AdoptionRejected, AgentNotFound, AgentTokenRequired
from longhouse.crew.facts import alive
from longhouse.crew.items import source
from longhouse.crew.protocol import ResumePayload, protocol_event, record
from longhouse.crew.room import binds, room, sql
from longhouse.crew.scopes import FileScope, ancestors, overlap, scope_in
from longhouse.crew.types.entities import Reason
from longhouse.crew.types.identity import Register
from longhouse.crew.types.reservations import (
    Adopt,
    Adopted,
    Candidate,
    Recommend,
    Recommended,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.standing import PERSON
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = []

MOST_SCOPES = 100
MOST_LINKED = 10
MOST_PLACES = 800
"""How many files and folders are searched for reservations; 500 files share most folders."""


class HeldPaths(NamedTuple):
    """A scope that an identity reserved, and for which work item."""

    scope: FileScope
    bead_id: str | None = None


class AdoptionEvidence(NamedTuple):
    """Why a session may continue an identity; `bead_id` is the work item to continue."""

    reason: Reason
    summary: str
    bead_id: str | None = None
    scope: FileScope | None = None


@room.command(
    "agents.adopt",
    also="recover takeover",
    writes=True,
    reveals=["agent_token"],
    reissue=reissue,
    example=Adopt(agent="amber-otter", scope="src/*", uncommitted=["src/parser.py"]),
)
def adopt(tx: Tx, req: Adopt) -> Adopted:
    """Continue an earlier identity: with its token, or if it is silent with unfinished work."""
    before = existing(tx, req.agent)
    name = before["agent_id"]
    if before["retired_at_ms"] is not None:
        raise AgentNotFound(
            f"agent: {name} has retired", recovery="register a new identity with agents.register"
        )
    if before["kind"] == "job":
        raise AdoptionRejected(
            f"agent: {name} is a job, which cannot be adopted",
            recovery=f"run the job again: jobs.requeue job={name.upper()}",
        )
    found = _reason(tx, req, before)
    if alive(tx, before) == "active" and found.reason != "prior_token":
        tx.warn(
            "WAS_ACTIVE",
            f"{name} was active until just now; its earlier token was revoked",
            f"if another session still runs as {name}, it should register a new identity",
        )
    token = new_token(tx)
    row = tx.one(
        sql.agent_adopt,
        agent_id=name,
        token_digest=digest(token),
        owner=binds_to(tx),
        connection=on_connection(tx, name),
        rig=req.rig,
        now=tx.now_ms,
    )
    assert row is not None
    tx.actor = name
    payload = ResumePayload(
        resume_reason=found.reason,
        prior_session_agent=name,
        adopted_agent=name,
        evidence=found.summary,
        checked_by=tx.by.owner,
    )
    event = protocol_event(
        tx,
        "RESUME",
        payload,
        bead_id=found.bead_id,
        from_agent=name,
        to_agent=name,
        scope=str(found.scope) if found.scope else None,
    )
    return Adopted(
        agent=agent_from(tx, row),
        agent_token=token,
        reason=found.reason,
        recommendation=f"adopted: {found.summary}",
        event=record(tx, event),
    )


def _reason(tx: Tx, req: Adopt, before: Row) -> AdoptionEvidence:
    """Why the caller may continue the identity; raises AdoptionRejected if it may not."""
    name = before["agent_id"]
    held = _held(tx, name)
    claimed = [HeldPaths(scope_in(tx, req.scope, req.root))] if req.scope else held
    known = next((one.bead_id for one in held if one.bead_id), None)
    scope = claimed[0].scope if claimed else None
    if req.agent_token is not None and not holds(before, req.agent_token):
        raise AgentTokenRequired(f"agent_token: not the token of {name}")
    own = req.agent_token is not None
    if alive(tx, before) == "active" and not own and not tx.by.leads:
        raise AdoptionRejected(
            f"agent: {name!r} is active; only its own token or a manager may continue it",
            recovery="pass its agent_token, ask a manager, or register a new identity",
            suggest=[Suggestion(Register(), "register under a free name")],
        )
    seen = req.uncommitted if own or tx.by.leads else []
    evidence = _evidence(tx, before, claimed, held, seen, req.root, only_relevant=bool(req.scope))
    if evidence is not None:
        return evidence._replace(scope=scope)
    if own:
        return AdoptionEvidence("prior_token", "the session holds its token", known, scope)
    if req.interactive and req.confirm and tx.by.leads:
        role = tx.by.role.name.lower()
        who = "a person" if tx.by.owner == PERSON else f"the {role} {tx.by.owner}"
        summary = f"{who} confirmed it; no record shows unfinished work"
        return AdoptionEvidence("confirmed", summary, known, scope)
    raise _rejected(tx, req, name)


def _rejected(tx: Tx, req: Adopt, name: str) -> LonghouseError:
    unseen = bool(req.uncommitted) and not tx.by.leads
    recovery = "pass its agent_token, or register a new identity"
    if unseen:
        recovery += f"; to check uncommitted work, run `longhouse agent adopt --agent {name}`"
    elif req.interactive and tx.by.leads:
        recovery += "; or confirm=true"
    return AdoptionRejected(
        f"agent: no evidence that this session continues {name!r}: no uncommitted changes in "
        "its scope"
        + (" (a list sent by an agent is not evidence)" if unseen else "")
        + ", and no active work item assigned to it that it took up itself",
        recovery=recovery,
        suggest=[Suggestion(Register(), "register under a free name")],
    )


def _evidence(
    tx: Tx,
    before: Row,
    claimed: list[HeldPaths],
    held: list[HeldPaths],
    uncommitted: list[str],
    checkout: str | None,
    *,
    only_relevant: bool,
) -> AdoptionEvidence | None:
    """The evidence for an adoption, uncommitted work first; None if there is none."""
    name = before["agent_id"]
    owned = [item.id for item in source(tx).in_progress_of(tx, name)]
    if not tx.by.leads:
        owned = [item for item in owned if _took_up(tx, before, item)]
    if only_relevant:
        owned = [item for item in owned if _relevant(tx, name, item, claimed)]
    shown = f" ({', '.join(owned[:MOST_LINKED])})" if owned else ""
    for path in uncommitted:
        changed = scope_in(tx, path, checkout, literal=True)
        for one in claimed:
            if overlap(changed, one.scope) != "disjoint":
                item = one.bead_id or next(
                    (h.bead_id for h in held if overlap(changed, h.scope) != "disjoint"),
                    owned[0] if owned else None,
                )
                summary = f"uncommitted changes in {one.scope}: {changed}{shown}"
                return AdoptionEvidence("uncommitted_scope", summary, item)
    if not owned:
        return None
    count = f"{len(owned)} active work item{'' if len(owned) == 1 else 's'}"
    return AdoptionEvidence("in_progress_ownership", f"{name} has {count}{shown}", owned[0])


def _took_up(tx: Tx, before: Row, item_id: str) -> bool:
    """Whether the identity itself took the item up as it is now; nobody else can write in its name.

    What was written before it registered does not count, since its name was then only a label; nor
    does what it did before somebody else assigned or moved the item: that may be a bait.
    """
    name, since = before["agent_id"], before["created_at_ms"]
    return tx.one(sql.acted_on, agent_id=name, item=item_id, since=since) is not None


def _relevant(tx: Tx, name: str, item_id: str, claimed: list[HeldPaths]) -> bool:
    """An item is relevant if a scope reserved for it overlaps, or none was ever reserved."""
    recorded = [
        FileScope(path=row["path"], below=bool(row["below"]))
        for row in tx.all(
            sql.reservations_recorded, agent_id=name, bead_id=item_id, limit=MOST_SCOPES
        )
    ]
    return not recorded or any(overlap(a, b.scope) != "disjoint" for a in recorded for b in claimed)


def _held(tx: Tx, name: str) -> list[HeldPaths]:
    """The identity's unreleased reservations, newest first, even those that expired."""
    rows = tx.all(sql.reservations_held, agent_id=name, limit=MOST_SCOPES)
    return [
        HeldPaths(FileScope(path=r["path"], below=bool(r["below"])), r["bead_id"]) for r in rows
    ]


@room.command(
    "agents.recommend",
    also="suggest whoami identify",
    trim=[Pop("candidates", leave=1)],
    example=Recommend(known=["amber-otter"], uncommitted=["src/parser.py"]),
)
def recommend(tx: Tx, req: Recommend) -> Recommended:
    """Recommend registering, or choosing an earlier identity to adopt.

    Besides the names that the caller knows, this considers identities that reserved files which are
    uncommitted here: a session may have lost its name along with its token.
    """
    found = []
    for name in sorted({name.strip() for name in req.known} | _lost(tx, req)):
        row = tx.one(sql.agent_by_id, agent_id=name)
        if row is None or row["retired_at_ms"] is not None or row["kind"] == "job":
            continue
        held = _held(tx, name)
        evidence = _evidence(tx, row, held, held, req.uncommitted, req.root, only_relevant=False)
        if evidence:
            found.append(
                Candidate(
                    agent_id=name,
                    liveness=alive(tx, row),
                    resume_reason=evidence.reason,
                    evidence=evidence.summary,
                )
            )
    silent = [one for one in found if one.liveness != "active"]
    if silent:
        names = ", ".join(f"{one.agent_id} ({one.evidence})" for one in silent[:3])
        return Recommended(
            action="choose", reason=f"silent with unfinished work: {names}", candidates=found
        )
    if found:
        names = ", ".join(one.agent_id for one in found[:3])
        reason = f"the identities with unfinished work here are still active: {names}"
    else:
        reason = "no earlier identity has unfinished work here"
    return Recommended(action="register", reason=reason, candidates=found)


def _lost(tx: Tx, req: Recommend) -> set[str]:
    """The identities that reserved files which are uncommitted here."""
    changed = [scope_in(tx, path, req.root, literal=True) for path in req.uncommitted]
    above = {path for scope in changed for path in ancestors(scope.path)}
    return {
        row["agent_id"]
        for part in binds(sorted(above)[:MOST_PLACES])
        for row in tx.all(sql.reservations_over, **part, limit=MOST_SCOPES)
    }
