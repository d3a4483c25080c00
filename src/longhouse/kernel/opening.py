"""Opens a ref, or checks that it can be opened; used by `open`, proof gates and citations.

A room declares the shapes of its ids with `Room.opens`, and only that room decides what exists.
Shapes may overlap (`TASK-001@40` may be an event of the task or a message about it); the first room
that has the record answers.
"""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import UnknownId
from longhouse.kernel.refs import ref_grammar
from longhouse.kernel.values import Request

__all__ = ["Look", "opens", "proves", "resolved"]


class Look(Request, frozen=True, kw_only=True):
    """The request passed to an opener when only the existence of the record matters."""

    id: str
    limit: int = 1
    include_drafts: bool = False
    include_content: bool = False


def opens(tx: Any, ref: str) -> bool | None:
    """Whether the ref opens; None if no room in this house has ids of that shape."""
    found = _found(tx, ref)
    return None if found is None else bool(found)


def proves(tx: Any, ref: str) -> bool:
    """Whether the ref opens as proof of work; a process counts only if it succeeded."""
    found = ref_grammar().may_prove(ref) and _found(tx, ref)
    return bool(found) and bool(getattr(found, "receipt", {"proves": True})["proves"])


def resolved(tx: Any, request: Any) -> Any:
    """What `request.id` opens as; None if no room has ids of that shape.

    Raises UnknownId if a room has ids of that shape, but none has the record.
    """
    refusals: list[UnknownId] = []
    for opener in tx.facts.registry.openers:
        if match := opener.pattern.match(request.id):
            try:
                return opener.resolve(tx, request, match)
            except UnknownId as error:
                refusals.append(error)
    if refusals:
        raise refusals[0]
    return None


def _found(tx: Any, ref: str) -> Any:
    """What the ref opens as; False if there is no such record, None if the shape is unknown."""
    notes, offers = len(tx.warnings), len(tx.suggestions)
    try:
        return resolved(tx, Look(id=ref))
    except UnknownId:
        return False
    finally:
        del tx.warnings[notes:], tx.suggestions[offers:]
