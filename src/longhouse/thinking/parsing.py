"""Parses a card given as an object, JSON text, `key: value` lines or plain text.

Nothing a caller wrote is dropped: unknown keys are kept under `meta`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.inputs import check_json
from longhouse.kernel.values import Json, Value
from longhouse.memory import normal_tags
from longhouse.thinking.types.cards import CardId
from longhouse.thinking.vocabulary import check_status, check_type

__all__ = ["GivenCard", "parse_card"]

_KEYS = ("id", "card_id", "type", "title", "text", "status", "tags", "refs", "meta")
_EDGES = ("supports", "blocks")
_PAIR = re.compile(r"([A-Za-z][\w.-]{0,63}):(?:[ \t]+(.*)|[ \t]*)\Z")
_Words = list[Annotated[str, Meta(min_length=1, max_length=300)]]


class GivenCard(NamedTuple):
    """A card as given by the caller; None for fields left out."""

    id: str | None
    type: str | None
    title: str | None
    text: str | None
    status: str | None
    tags: list[str] | None
    refs: list[str] | None
    meta: Json | None
    supports: list[str]
    blocks: list[str]


class _Shape(Value, frozen=True, kw_only=True):
    id: CardId | None = None
    type: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    title: Annotated[str, Meta(max_length=1000)] | None = None
    text: Annotated[str, Meta(max_length=200_000)] | None = None
    status: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    tags: _Words | str | None = None
    refs: _Words | str | None = None
    meta: Json | None = None
    supports: _Words | str | None = None
    blocks: _Words | str | None = None


def parse_card(card: Json | str, *, field: str = "card", forced: str | None = None) -> GivenCard:
    """The draft in a caller's card; `forced` overrides its type."""
    given = _fields(card) if isinstance(card, str) else dict(card)
    if "card_id" in given:
        card_id = given.pop("card_id")
        given.setdefault("id", card_id)
    known = {key: given.pop(key) for key in (*_KEYS, *_EDGES) if key in given}
    inner = known.get("meta")
    if isinstance(inner, dict) and "refs" in inner:  # reads return refs under meta
        known["meta"] = {key: value for key, value in inner.items() if key != "refs"}
        known.setdefault("refs", inner["refs"])
    known = {key: value for key, value in known.items() if value is not None}
    try:
        shape = msgspec.convert(known, _Shape)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        place = f"{field}.{where.rstrip('`')}" if where else field
        raise InvalidInput(
            f"{place}: {what[:1].lower()}{what[1:]}; fix: {field}="
            '{"type": "note", "title": "what it is about"}',
            recovery="get an empty card from think.reasoning.seed",
        ) from None
    meta = {**given, **(shape.meta or {})} if given or shape.meta is not None else None
    kind = check_type(shape.type, f"{field}.type") if shape.type is not None else None
    if forced is not None:
        kind = forced
    tags = _words(shape.tags)
    return GivenCard(
        id=shape.id,
        type=kind,
        title=_clean(shape.title),
        text=_clean(shape.text),
        status=None if shape.status is None else check_status(shape.status, f"{field}.status"),
        tags=None if tags is None else normal_tags(tags, f"{field}.tags"),
        refs=_words(shape.refs),
        meta=meta,
        supports=_words(shape.supports) or [],
        blocks=_words(shape.blocks) or [],
    )


def _clean(text: str | None) -> str | None:
    return text.strip() or None if text is not None else None


def _words(given: list[str] | str | None) -> list[str] | None:
    """A list of words, also from a text like `a, b`."""
    if given is None:
        return None
    parts = re.split(r"[,\s]+", given.strip("[] ")) if isinstance(given, str) else given
    return [part.strip() for part in parts if part.strip()]


def _fields(text: str) -> Json:
    """The fields in a card given as text."""
    if text.lstrip().startswith("{"):
        made = _decoded(text)
        if isinstance(made, dict):
            return made
    lines = text.strip().splitlines()
    first = _PAIR.match(lines[0].strip()) if lines else None
    if first is None or first[1].lower() not in (*_KEYS, *_EDGES):
        return {"text": text}
    found: dict[str, Any] = {}
    last = ""
    for line in lines:
        pair = _PAIR.match(line.strip())
        if pair and pair[1].lower() not in found:
            last = pair[1].lower()
            found[last] = (pair[2] or "").strip()
        else:
            found[last] = f"{found[last]}\n{line}".strip()
    if "meta" in found:
        made = _decoded(found["meta"])
        found["meta"] = made if isinstance(made, dict) else {"meta": found["meta"]}
    return found


def _decoded(text: str) -> Any:
    """The JSON in a text, checked like any argument; None if it is not JSON."""
    try:
        made = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    check_json({"card": made})
    return made
