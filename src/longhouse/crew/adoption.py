"""Continuing an earlier identity: only with evidence, and always with a RESUME event.

Evidence is uncommitted work in the claimed scope, or an active work item of that identity. The
new session gets a new token and the old one stops working.
"""

from __future__ import annotations

from typing import NamedTuple

from longhouse.crew.agents import agent_from, alive, digest, existing, new_token
from longhouse.crew.errors import AdoptionRejected, AgentNotFound
from longhouse.crew.facts import CrewFacts
from longhouse.crew.items import source
from longhouse.crew.protocol import Resume, protocol_event, record
from longhouse.crew.room import room, sql
from longhouse.crew.scopes import FileScope, normalise, overlap, scope_in
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
from longhouse.store.tx import Tx

__all__ = []

MOST_SCOPES = 100
MOST_LINKED = 10


class Evidence(NamedTuple):
    """Why a session may continue an identity."""

    reason: Reason
    summary: str
    items: list[str]


@room.command(
    "agents.adopt",
    writes=True,
    reveals=["agent_token"],
    example=Adopt(agent="amber-otter", scope="src/*", uncommitted=["src/parser.py"]),
)
def adopt(tx: Tx, req: Adopt) -> Adopted:
    """Continue an earlier identity, with evidence: uncommitted or active work of its own."""
    before = existing(tx, req.agent)
    name = before["agent_id"]
    if before["retired_at_ms"] is not None:
        raise AgentNotFound(
            f"agent: {name} has retired", recovery="take a new identity with agents.register"
        )
    claimed = [scope_in(tx, req.scope, req.root)] if req.scope else _held(tx, name)
    found = _evidence(tx, req, name, claimed)
    if found is None and req.interactive and req.confirm:
        found = Evidence("in_progress_ownership", "a person confirmed it; no record shows it", [])
    if found is None:
        raise _rejected(name, interactive=req.interactive)
    if alive(tx, before) == "active":
        tx.warn(
            "WAS_ACTIVE",
            f"{name} gave a sign of life only just now; its earlier token works no more",
            "if another session still runs as it, let that one register a new identity",
        )
    token = new_token(tx)
    row = tx.one(
        sql.agent_adopt, agent_id=name, token_digest=digest(token), rig=req.rig, now=tx.now_ms
    )
    assert row is not None
    tx.actor = name
    payload = Resume(
        resume_reason=found.reason,
        prior_session_agent=name,
        adopted_agent=name,
        evidence=found.summary,
    )
    event = protocol_event(
        tx,
        "RESUME",
        payload,
        bead_id=found.items[0] if found.items else None,
        from_agent=name,
        to_agent=name,
        scope=str(claimed[0]) if claimed else None,
    )
    return Adopted(
        agent=agent_from(tx, row),
        agent_token=token,
        reason=found.reason,
        recommendation=f"adopted: {found.summary}",
        event=record(tx, event),
    )


def _rejected(name: str, *, interactive: bool) -> LonghouseError:
    return AdoptionRejected(
        f"agent: nothing shows that this session continues {name!r}: no uncommitted change in "
        "its scope, and no active work item of its own",
        recovery="register a new identity, or show what is uncommitted: scope= and uncommitted=[…]"
        + ("; or confirm=true" if interactive else ""),
        suggest=[Suggestion(Register(), "take an identity with a name that is free")],
    )


def _evidence(
    tx: Tx, req: Adopt | Recommend, name: str, claimed: list[FileScope]
) -> Evidence | None:
    """What speaks for it; uncommitted work is looked at first."""
    owned = [item.id for item in source(tx).in_progress_of(tx, name)]
    if getattr(req, "scope", None) is not None:
        owned = [item for item in owned if _relevant(tx, name, item, claimed)]
    shown = f" ({', '.join(owned[:MOST_LINKED])})" if owned else ""
    root = tx.facts.of(CrewFacts).project_root
    for path in req.uncommitted:
        changed = normalise(path, root=root, seen_from=req.root)
        for scope in claimed:
            if overlap(changed, scope) != "disjoint":
                return Evidence(
                    "uncommitted_scope", f"uncommitted changes in {scope}: {changed}{shown}", owned
                )
    if not owned:
        return None
    count = f"{len(owned)} active work item{'' if len(owned) == 1 else 's'}"
    return Evidence("in_progress_ownership", f"{name} has {count}{shown}", owned)


def _relevant(tx: Tx, name: str, item_id: str, claimed: list[FileScope]) -> bool:
    """An item is relevant when a scope reserved for it overlaps, or none was ever reserved."""
    recorded = [
        FileScope(path=row["path"], below=bool(row["below"]))
        for row in tx.all(
            sql.reservations_recorded, agent_id=name, bead_id=item_id, limit=MOST_SCOPES
        )
    ]
    return not recorded or any(overlap(a, b) != "disjoint" for a in recorded for b in claimed)


def _held(tx: Tx, name: str) -> list[FileScope]:
    """What the identity has reserved and not given back: its scope, where none is claimed."""
    rows = tx.all(sql.reservations_held, agent_id=name, limit=MOST_SCOPES)
    return [FileScope(path=row["path"], below=bool(row["below"])) for row in rows]


@room.command(
    "agents.recommend",
    trim=[Pop("candidates", leave=1)],
    example=Recommend(known=["amber-otter"], uncommitted=["src/parser.py"]),
)
def recommend(tx: Tx, req: Recommend) -> Recommended:
    """Whether a new session should register, or choose between earlier identities to adopt."""
    found = []
    for name in sorted({name.strip() for name in req.known}):
        row = tx.one(sql.agent_by_id, agent_id=name)
        if row is None or row["retired_at_ms"] is not None:
            continue
        if evidence := _evidence(tx, req, name, _held(tx, name)):
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
