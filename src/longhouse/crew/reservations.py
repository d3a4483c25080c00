"""Reserving and releasing files: decided at write time, under the workspace's lock.

An exclusive reservation conflicts with every overlapping one of another agent, a shared one only
with exclusive ones. If the other owner is active, the request is refused and an INCURSION recorded.
If the owner is silent or the reservation has expired, `takeover_stale` takes it over, and the
earlier reservation is archived as expired.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Literal

from longhouse.crew.agents import acting
from longhouse.crew.errors import (
    ReleaseForbidden,
    ReservationConflict,
    ReservationNotFound,
    ReservationStaleFound,
    ScopeTooWide,
)
from longhouse.crew.facts import alive
from longhouse.crew.holdings import reservation_from, scope_of
from longhouse.crew.identity import TOKEN
from longhouse.crew.items import linked_item
from longhouse.crew.liveness import Liveness
from longhouse.crew.messages import touch
from longhouse.crew.protocol import Incursion, protocol_event, record
from longhouse.crew.room import ENDED, ENDLESS, binds, room, sql
from longhouse.crew.scopes import FileScope, ancestors, overlap, scope_in
from longhouse.crew.types.entities import (
    Reservation,
)
from longhouse.crew.types.mail import Send
from longhouse.crew.types.reservations import (
    GetCrewStatus,
    Release,
    Released,
    Renew,
    Renewed,
    Reserve,
    Reserved,
)
from longhouse.kernel.budget import Pop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.values import Draft
from longhouse.store.engine import Row
from longhouse.store.tx import LogEvent, Refused, Tx

__all__ = [
    "hold",
    "in_the_way",
    "note_incursions",
    "release_for",
    "tell_if_job",
]

MINUTE_MS = 60_000
MOST_TAKEN = 200
"""The most reservations that one takeover may end."""
MOST_RECORDED = 20
"""The most incursions that one refusal records."""
HINTS: dict[Liveness, str] = {
    "active": "ask {owner} to release it, or wait",
    "stale": "{owner} is silent: take it over with takeover_stale=true",
    "evicted": "{owner} is gone: take it over with takeover_stale=true",
}


@room.command(
    "agents.reserve",
    also=(
        "lock claim hold files.reserve reservations.create agents.file.reservation.paths "
        "agents.reserve.paths files.lock"
    ),
    writes=True,
    additive=True,
    trim=[Pop("incursions"), Pop("taken_over")],
    example=Reserve(
        agent="amber-otter", agent_token=TOKEN, scope="src/parser/*", bead_id="TASK-001"
    ),
)
def reserve(tx: Tx, req: Reserve) -> Reserved | Refused:
    """Reserve files before you edit them; refused while another active agent holds them."""
    me = acting(tx, req.agent, req.agent_token)["agent_id"]
    scope = scope_in(tx, req.scope, req.root)
    bead_id = linked_item(tx, req.bead_id)
    others = in_the_way(tx, me, scope, req.mode)
    if refusal := _refusal(tx, req, others):
        met = others[:MOST_RECORDED]
        return Refused(
            refusal, (), lambda later: _tell(later, req, refusal, me, bead_id, scope, met)
        )
    return hold(tx, me, scope, req.mode, req.ttl_minutes, bead_id, others)


def hold(
    tx: Tx,
    me: str,
    scope: FileScope,
    mode: Literal["exclusive", "shared"],
    ttl_minutes: int,
    bead_id: str,
    others: list[Row],
) -> Reserved:
    """Reserve a scope, taking over the reservations of `others`."""
    incursions = [record(tx, _incursion(tx, bead_id, me, scope, row)) for row in others]
    taken = [_end(tx, row, "expired", taken_over_by=me) for row in others]
    mine = [
        _end(tx, row, "released")
        for row in tx.all(sql.reservations_at, path=scope.path, below=int(scope.below))
        if row["agent_id"] == me
    ]
    expires = tx.now_ms + ttl_minutes * MINUTE_MS
    data = {
        "agent": me,
        "scope": str(scope),
        "mode": mode,
        "expires_at_ms": expires,
        "replaced": [one.seq for one in mine],
        "taken_over": [
            {"seq": row["seq"], "agent": row["agent_id"], "liveness": alive(tx, row)}
            for row in others
        ],
    }
    seq = tx.append("crew", bead_id, "reserved", data)
    touch(tx, bead_id, me)
    made = tx.one(
        sql.reservation_add,
        seq=seq,
        path=scope.path,
        below=int(scope.below),
        mode=mode,
        agent_id=me,
        bead_id=bead_id,
        now=tx.now_ms,
        expires=expires,
        ttl_ms=ttl_minutes * MINUTE_MS,
    )
    assert made is not None
    return Reserved(
        reservation=reservation_from(made, "active"), taken_over=taken, incursions=incursions
    )


def in_the_way(tx: Tx, me: str, scope: FileScope, mode: str) -> list[Row]:
    """The conflicting reservations of other agents, those in force first.

    They are found by index: at the scope, at each folder above it, and below it.
    """
    below = scope.path.rstrip("/") + "/"
    portions = list(binds(ancestors(scope.path)))
    found: dict[int, Row] = {}
    for number, portion in enumerate(portions):
        # Paths below the scope are queried only once; "0" is the character after "/".
        stretch = (below, below[:-1] + "0") if number == 0 else ("", "")
        rows = tx.all(
            sql.reservations_in_the_way,
            **portion,
            first=stretch[0],
            past=stretch[1],
            agent_id=me,
            mode=mode,
            now=tx.now_ms,
            limit=MOST_TAKEN + 1,
        )
        found |= {row["seq"]: row for row in rows}
    rows = [row for row in found.values() if not _own_job(tx, row)]
    if len(portions) > 1:
        rows.sort(key=lambda r: (r["expires_at_ms"] <= tx.now_ms, -r["last_seen_at_ms"], r["seq"]))
    return rows


def _own_job(tx: Tx, row: Row) -> bool:
    """Whether the job that the caller works on holds it, which is not a conflict."""
    if not row["agent_id"].startswith("job-") or tx.by.leads:
        return False
    holder = tx.one(sql.agent_by_id, agent_id=row["agent_id"])
    return holder is not None and holder["kind"] == "job" and holder["owner"] == tx.by.owner


def _refusal(tx: Tx, req: Reserve, others: list[Row]) -> LonghouseError | None:
    """Why the reservation is refused: an active owner first, then a silent one."""
    for row in others:
        if alive(tx, row) == "active" and row["expires_at_ms"] > tx.now_ms:
            owner = row["agent_id"]
            return ReservationConflict(
                f"scope: {scope_of(row)} is held by {owner} (active) for {row['bead_id']} until "
                f"{rfc3339(row['expires_at_ms'])}",
                recovery=f"work elsewhere, wait, or ask {owner} with agents.send",
                suggest=_ask(req, row),
            )
    if others and not req.takeover_stale:
        row = others[0]
        why = alive(tx, row) if row["expires_at_ms"] > tx.now_ms else "expired"
        return ReservationStaleFound(
            f"scope: {scope_of(row)} was reserved by {row['agent_id']} ({why}) for {row['bead_id']}"
        )
    if len(others) > MOST_TAKEN:
        return ScopeTooWide(f"scope: overlaps more than {MOST_TAKEN} reservations")
    return None


def _ask(req: Reserve, held: Row) -> list[Suggestion]:
    """Ask the holder, in words that only the caller can say; or see until when it is held."""
    given = {"agent": req.agent, "to": held["agent_id"], "bead_id": req.bead_id}
    known = {name: item for name, item in given.items() if item is not None}
    missing = ["subject", "body", *(["agent_token"] if req.agent_token else [])]
    ask = f"ask {held['agent_id']} about {scope_of(held)}"
    return [
        Suggestion(Draft(Send, known, missing), ask),
        Suggestion(GetCrewStatus(), "see who holds what, and until when", priority="medium"),
    ]


def _tell(
    tx: Tx,
    req: Reserve,
    refusal: LonghouseError,
    me: str,
    bead_id: str,
    scope: FileScope,
    met: list[Row],
) -> None:
    """Record a refusal: the sign of life, and one INCURSION per conflicting reservation."""
    acting(tx, me, req.agent_token)
    hints = []
    for row, seq, new in note_incursions(tx, me, bead_id, scope, met):
        if new:
            tell_if_job(tx, row, f"{me} wants {scope_of(row)}, which this job holds")
        hints.append(
            {
                "kind": "incursion",
                "ref": f"{bead_id}@{seq}",
                "owner": row["agent_id"],
                "reservation": f"res_{row['seq']}",
            }
        )
    refusal.hints = tuple(hints)
    touch(tx, bead_id, me)


def note_incursions(
    tx: Tx, me: str, bead_id: str, scope: FileScope, met: list[Row], hint: str | None = None
) -> list[tuple[Row, int, bool]]:
    """Each conflicting reservation with the seq of its INCURSION, and whether that is new.

    Repeating the request while nothing has changed reuses the recorded INCURSION. `hint` replaces
    the usual advice to ask the owner or to wait.
    """
    want: dict[str, Any] = {
        "agent_id": me,
        "path": scope.path,
        "below": int(scope.below),
        "bead_id": bead_id,
    }
    told = {row["reservation_seq"]: row for row in tx.all(sql.incursions_standing, **want)}
    noted = []
    for row in met:
        state = "over" if row["expires_at_ms"] <= tx.now_ms else alive(tx, row)
        before = told.get(row["seq"])
        if before and before["owner_state"] == state:
            noted.append((row, before["seq"], False))
            continue
        event = _incursion(tx, bead_id, me, scope, row, hint)
        seq = tx.append(event.stream, event.subject, event.kind, event.data)
        put = {"reservation_seq": row["seq"], "owner_state": state, "seq": seq}
        tx.run(sql.incursion_put, **want, **put)
        noted.append((row, seq, True))
    return noted


def tell_if_job(tx: Tx, row: Row, message: str) -> None:
    """If a job owns this reservation, add the message to the job's thread."""
    name = row["agent_id"]
    owner = tx.one(sql.agent_by_id, agent_id=name)
    if owner is not None and owner["kind"] == "job":
        tx.facts.registry.provided["crew.tell_job"](tx, name.upper(), message)


def _incursion(
    tx: Tx, bead_id: str, me: str, scope: FileScope, row: Row, hint: str | None = None
) -> LogEvent:
    state, owner = alive(tx, row), row["agent_id"]
    if hint is None:
        hint = HINTS[state].format(owner=owner)
    if row["expires_at_ms"] <= tx.now_ms:
        hint = "it has expired: take it over with takeover_stale=true"
    payload = Incursion(
        incursion_kind="exact" if overlap(scope, scope_of(row)) == "exact" else "partial",
        owner_agent=owner,
        incoming_agent=me,
        owner_liveness=state,
        resolution_hint=hint,
    )
    return protocol_event(
        tx, "INCURSION", payload, bead_id=bead_id, from_agent=me, to_agent=owner, scope=str(scope)
    )


def _end(
    tx: Tx, row: Row, state: Literal["released", "expired"], *, taken_over_by: str | None = None
) -> Reservation:
    ended = tx.one(
        sql.reservation_end,
        seq=row["seq"],
        state=state,
        taken_over_by=taken_over_by,
        released_at_ms=tx.now_ms if state == "released" else None,
    )
    assert ended is not None
    tx.count(ENDED[state])
    return reservation_from(ended)


def release_for(tx: Tx, bead_id: str) -> None:
    """Release every reservation made for a work item that is being deleted."""
    page: dict[str, Any] = {
        "bead_id": bead_id,
        "now": tx.now_ms,
        "before": ENDLESS,
        "limit": MOST_ENDED,
    }
    for row in tx.all(sql.reservations_live_of_bead, **page):
        _end(tx, row, "released")
        data = {"agent": row["agent_id"], "scope": str(scope_of(row)), "reservation": row["seq"]}
        tx.append("crew", bead_id, "released", data)


MOST_ENDED = 10_000


@room.command(
    "agents.release",
    also=(
        "unreserve unlock free files.release files.unlock agents.release.file.reservations "
        "agents.release.lock agents.lock.release"
    ),
    writes=True,
    example=Release(agent="amber-otter", agent_token=TOKEN, scope="src/parser/*"),
)
def release(tx: Tx, req: Release) -> Released:
    """Release a reservation; only its owner can."""
    me = acting(tx, req.agent, req.agent_token)["agent_id"]
    scope = scope_in(tx, req.scope, req.root)
    held = tx.all(sql.reservations_at, path=scope.path, below=int(scope.below))
    mine = next((row for row in held if row["agent_id"] == me), None)
    if mine is not None:
        ended = _end(tx, mine, "released")
        data = {"agent": me, "scope": str(scope), "reservation": mine["seq"]}
        tx.append("crew", mine["bead_id"], "released", data)
        touch(tx, mine["bead_id"], me)
        return Released(reservation=ended)
    if held:
        owner = held[0]["agent_id"]
        raise ReleaseForbidden(
            f"scope: {scope} is held by {owner}, not by {me}",
            recovery=f"ask {owner} with agents.send",
        )
    raise ReservationNotFound(f"scope: {me} holds no reservation of {scope}")


@room.command(
    "agents.renew",
    writes=True,
    additive=True,
    idempotent=True,
    trim=[Pop("reservations", leave=1)],
    example=Renew(agent="amber-otter", agent_token=TOKEN),
)
def renew(tx: Tx, req: Renew) -> Renewed:
    """Extend your reservations: one scope, or all of them."""
    me = acting(tx, req.agent, req.agent_token)["agent_id"]
    scope = scope_in(tx, req.scope, req.root) if req.scope else None
    rows = tx.all(
        sql.reservations_extend,
        agent_id=me,
        path=scope.path if scope else None,
        below=int(scope.below) if scope else 0,
        ttl_ms=req.ttl_minutes * MINUTE_MS if req.ttl_minutes else None,
        now=tx.now_ms,
    )
    if not rows:
        raise ReservationNotFound(
            f"scope: {me} holds no reservation" + (f" of {scope}" if scope else "")
        )
    kept = [reservation_from(row, "active") for row in sorted(rows, key=itemgetter("seq"))]
    return Renewed(reservations=kept, count=len(kept))
