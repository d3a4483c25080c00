"""`open`: any record by a stable id, resolved by the room that the id belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec

from longhouse.desk.opened import opened_lines
from longhouse.desk.room import room
from longhouse.desk.types.status import GetStatus
from longhouse.desk.types.system import Open
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.opening import opens, resolved
from longhouse.kernel.refs import ref_grammar
from longhouse.kernel.values import Result
from longhouse.store.tx import Tx
from longhouse.thinking import cited_by, query_cards
from longhouse.thinking.types.cards import Card, Citation
from longhouse.thinking.types.reads import QueryCards
from longhouse.work.types.views import EntityOpened

__all__ = [
    "open_ref",
]

MOST_CARDS = 20
_Opened = TypeVar("_Opened", bound=msgspec.Struct)
_QUALIFIED = re.compile(
    r"(?!bead:)(?P<ws>[^\s:]+):(?P<id>(?:TASK|PLAN)-[0-9]{3,15})(?P<at>@[0-9]{1,16})?"
)
_HEX = re.compile(r"[0-9a-f]{8,64}")
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NO_ID = "id: {!r} is not an id that can be opened"
_TEXTS = (("entry", "content", ""), ("card", "text", None), ("message", "body", ""))
_OUTPUTS: tuple[tuple[str, object], ...] = (("parts", []), ("tail", {}))


@room.command(
    "open",
    also="show get read view fetch",
    example=Open(id="notes@1"),
    tier="gold",
    lines=opened_lines,
    trim=[
        Pop("events", leave=3),
        Pop("proofs", leave=3),
        Pop("steps", leave=5),
        Pop("events", leave=1),
        Clip("cards.text", 200),
        Pop("cards", leave=1),
        Drop("prompt"),
        Clip("entry.content", 800),
        Clip("card.text", 800),
        Pop("cited_by", leave=1),
        Drop("card.meta"),
        Clip("events.message", 80),
        Clip("entry.content", 200),
        Clip("card.text", 200),
    ],
)
def open_ref(tx: Tx, req: Open) -> Result:
    """Open any record by id or ref, such as notes@12 or JOB-001."""
    wanted = req.id.strip()
    named = _QUALIFIED.fullmatch(wanted)
    if named and named["ws"] == tx.workspace and not named["at"]:
        wanted = named["id"]
    try:
        opened = resolved(tx, msgspec.structs.replace(req, id=wanted))
    except UnknownId as error:
        raise _meant(tx, wanted) or error from None
    if opened is None:
        raise _no_id(tx, wanted)
    if isinstance(opened, EntityOpened) and req.include_drafts:
        opened = _with_cards(tx, opened)
    if not req.include_content:
        opened = _without_text(opened)
    return _cited(opened, cited_by(tx, wanted))


def _no_id(tx: Tx, wanted: str) -> UnknownId:
    """The error for something that is not an id: names the likely one, or lists the id formats."""
    if meant := _meant(tx, wanted):
        return meant
    message = _NO_ID.format(wanted[:80])
    from longhouse.crew import agents_named
    from longhouse.crew.types.identity import ShowAgent

    if _AGENT.fullmatch(wanted) and agents_named(tx, [wanted]):
        who = Suggestion(ShowAgent(agent=wanted), "show that agent")
        return UnknownId(message, recovery=f"{wanted} is an agent: agents.show", suggest=[who])
    shapes = "; ".join(opener.ref.shape for opener in tx.facts.registry.openers)
    return UnknownId(
        message,
        recovery=f"use {shapes}",
        suggest=[Suggestion(GetStatus(), "see the current state")],
    )


def _meant(tx: Tx, wanted: str) -> UnknownId | None:
    """The error that names the likely id, or the workspace it belongs to; None if neither fits."""
    named = _QUALIFIED.fullmatch(wanted)
    if named and named["ws"] != tx.workspace:
        ref = f"{named['id']}{named['at'] or ''}"
        return UnknownId(
            f"id: {ref} belongs to the workspace {named['ws']!r}, not to {tx.workspace!r}",
            recovery=f"pass workspace={named['ws']} and id={ref}",
            suggest=[Suggestion(GetStatus(), "see the state of this workspace")],
        )
    near = next((one for one in _near(wanted) if opens(tx, one)), None)
    if near is None:
        return None
    return UnknownId(
        _NO_ID.format(wanted[:80]),
        recovery=f"did you mean {near}?",
        suggest=[Suggestion(Open(id=near), f"open {near}")],
    )


def _near(wanted: str) -> Iterator[str]:
    """The ids that `task-1`, `task/TASK-001` or a bare digest may mean."""
    for word in (wanted, *re.split(r"[:/]", wanted)):
        if named := ref_grammar().numbered(word):
            yield named
    if _HEX.fullmatch(wanted):
        yield f"artifact:{wanted}"
    if _AGENT.fullmatch(wanted):
        yield from (f"{kind}:{wanted}" for kind in ("dispatch", "runner", "a"))


class _Audited(EntityOpened, frozen=True, kw_only=True):
    """A plan or task with the cards about it, including drafts."""

    cards: list[Card] = []


def _with_cards(tx: Tx, opened: EntityOpened) -> EntityOpened:
    page = query_cards(tx, QueryCards(target=opened.id, include_drafts=True, limit=MOST_CARDS))
    fields = {name: getattr(opened, name) for name in opened.__struct_fields__}
    return _Audited(**fields, cards=page.cards)


def _without_text(opened: _Opened) -> _Opened:
    """The record without its long texts and outputs."""
    for holder, name, nothing in _TEXTS:
        inside = getattr(opened, holder, None)
        if isinstance(inside, msgspec.Struct) and hasattr(inside, name):
            less = msgspec.structs.replace(inside, **{name: nothing})
            opened = msgspec.structs.replace(opened, **{holder: less})
    blank: dict[str, Any] = {name: none for name, none in _OUTPUTS if hasattr(opened, name)}
    if moment := getattr(opened, "moment", None):
        if moment.message and moment.event:  # the payload repeats the message
            event = msgspec.structs.replace(moment.event, payload={})
            moment = msgspec.structs.replace(moment, event=event)
        blank["moment"] = _without_text(moment)
    if frames := getattr(opened, "frames", None):
        blank["frames"] = [{k: v for k, v in one.items() if k != "chunk"} for one in frames]
    return msgspec.structs.replace(opened, **blank)


def _cited(opened: Result, by: list[Citation]) -> Result:
    """The record with `cited_by`, if anything cites it."""
    if not by:
        return opened
    fields = {name: getattr(opened, name) for name in opened.__struct_fields__}
    return _with_citations(type(opened))(**fields, cited_by=by)


@cache
def _with_citations(kind: type[Result]) -> type[Result]:
    return msgspec.defstruct(  # type: ignore[return-value]
        kind.__name__, [("cited_by", list[Citation])], bases=(kind,), frozen=True, kw_only=True
    )
