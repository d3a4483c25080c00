"""Continuing an earlier identity: who may, on what evidence, and always with a RESUME event.

An identity that is active is continued only by whoever holds its token, or by a caller that leads.
For a silent one, an active work item of its own is evidence enough; the server sees that for
itself. Uncommitted work in its scope is seen only where the files are, so the server takes that
from callers that lead alone: the command line and runners, which have looked. The RESUME event
says why the adoption passed and under which token it was checked. The new session gets a new
token and the old one stops working.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.crew.agents import (
    agent_from,
    alive,
    binds_to,
    digest,
    existing,
    holds,
    new_token,
    reissue,
)
from longhouse.crew.errors import AdoptionRejected, AgentNotFound, AgentTokenRequired
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
"""At how many files and folders reservations are looked for: 500 files share most of theirs."""


class HeldPaths(NamedTuple):
    """What an identity reserved, and for which work item."""

    scope: FileScope
    bead_id: str | None = None


class AdoptionEvidence(NamedTuple):
    """Why a session may continue an identity; `bead_id` is the work item it goes on with."""

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
    """Continue an earlier identity: with its token, or while it is silent with work unfinished."""
    before = existing(tx, req.agent)
    name = before["agent_id"]
    if before["retired_at_ms"] is not None:
        raise AgentNotFound(
            f"agent: {name} has retired", recovery="take a new identity with agents.register"
        )
    if before["kind"] == "job":
        raise AdoptionRejected(
            f"agent: {name} is a job, which goes on with whoever claims it",
            recovery=f"run the job again: jobs.requeue job={name.upper()}",
        )
    found = _reason(tx, req, before)
    if alive(tx, before) == "active" and found.reason != "prior_token":
        tx.warn(
            "WAS_ACTIVE",
            f"{name} gave a sign of life only just now; its earlier token was revoked",
            "if another session still runs as it, let that one register a new identity",
        )
    token = new_token(tx)
    row = tx.one(
        sql.agent_adopt,
        agent_id=name,
        token_digest=digest(token),
        owner=binds_to(tx),
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
    """Why the caller may continue the identity, or AdoptionRejected."""
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
            f"agent: {name!r} is active; only its own token, or a manager, continues it",
            recovery="pass its agent_token, ask a manager, or register a new identity",
            suggest=[Suggestion(Register(), "take an identity with a name that is free")],
        )
    seen = req.uncommitted if own or tx.by.leads else []
    evidence = _evidence(tx, name, claimed, held, seen, req.root, only_relevant=bool(req.scope))
    if evidence is not None:
        return evidence._replace(scope=scope)
    if own:
        return AdoptionEvidence("prior_token", "the session holds the token of it", known, scope)
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
        recovery += f"; uncommitted work is checked by `longhouse agent adopt --agent {name}`"
    elif req.interactive and tx.by.leads:
        recovery += "; or confirm=true"
    return AdoptionRejected(
        f"agent: nothing shows that this session continues {name!r}: no uncommitted change in "
        "its scope"
        + (" (a list that an agent sends is no evidence)" if unseen else "")
        + ", and no active work item of its own",
        recovery=recovery,
        suggest=[Suggestion(Register(), "take an identity with a name that is free")],
    )


def _evidence(
    tx: Tx,
    name: str,
    claimed: list[HeldPaths],
    held: list[HeldPaths],
    uncommitted: list[str],
    checkout: str | None,
    *,
    only_relevant: bool,
) -> AdoptionEvidence | None:
    """What speaks for it; uncommitted work is looked at first."""
    owned = [item.id for item in source(tx).in_progress_of(tx, name)]
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


def _relevant(tx: Tx, name: str, item_id: str, claimed: list[HeldPaths]) -> bool:
    """An item is relevant when a scope reserved for it overlaps, or none was ever reserved."""
    recorded = [
        FileScope(path=row["path"], below=bool(row["below"]))
        for row in tx.all(
            sql.reservations_recorded, agent_id=name, bead_id=item_id, limit=MOST_SCOPES
        )
    ]
    return not recorded or any(overlap(a, b.scope) != "disjoint" for a in recorded for b in claimed)


def _held(tx: Tx, name: str) -> list[HeldPaths]:
    """What the identity has reserved and not given back, newest first, even if its time ran out."""
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
    """Whether a new session should register, or choose between earlier identities to adopt.

    Beside the names that the caller knows, those count that reserved what is uncommitted here: a
    session may have lost its name with its token.
    """
    found = []
    for name in sorted({name.strip() for name in req.known} | _lost(tx, req)):
        row = tx.one(sql.agent_by_id, agent_id=name)
        if row is None or row["retired_at_ms"] is not None or row["kind"] == "job":
            continue
        held = _held(tx, name)
        evidence = _evidence(tx, name, held, held, req.uncommitted, req.root, only_relevant=False)
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
        reason = f"whoever has unfinished work here is still active: {names}"
    else:
        reason = "no earlier identity has unfinished work here"
    return Recommended(action="register", reason=reason, candidates=found)


def _lost(tx: Tx, req: Recommend) -> set[str]:
    """Who reserved what is uncommitted here, whether or not the caller knows their name."""
    changed = [scope_in(tx, path, req.root, literal=True) for path in req.uncommitted]
    above = {path for scope in changed for path in ancestors(scope.path)}
    return {
        row["agent_id"]
        for part in binds(sorted(above)[:MOST_PLACES])
        for row in tx.all(sql.reservations_over, **part, limit=MOST_SCOPES)
    }
