"""Storing anchors: finding one by id or alias, creating it and changing it.

An id is never an alias, and an alias is never an id; a rename swaps the two in one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.thinking.room import sql
from longhouse.thinking.types.anchors import Anchor, AnchorDraft

__all__ = ["ANCHOR_TAG", "Known", "anchor_named", "put_anchor", "register_missing", "resolve"]

ANCHOR_TAG = re.compile(r"a:[a-z0-9][a-z0-9-]{0,63}\Z")
MOST_ANCHORS = 5_000


class Known(NamedTuple):
    """An anchor, and the alias it was looked up by, if any."""

    anchor: Anchor | None
    alias: str | None


def resolve(tx: Tx, name: str) -> Known:
    """The anchor with that id or alias."""
    name = name.lower()
    if row := tx.one(sql.anchor_one, anchor_id=name):
        return Known(_anchor(tx, row), None)
    meant = tx.value(sql.alias_of, alias=name)
    row = tx.one(sql.anchor_one, anchor_id=meant) if meant else None
    return Known(_anchor(tx, row) if row else None, name if row else None)


def anchor_named(tx: Tx, name: str) -> Anchor | None:
    """The anchor with that id or alias; an alias adds a warning."""
    known = resolve(tx, name)
    if known.alias and known.anchor:
        tx.warn(
            "ANCHOR_ALIAS_RESOLVED",
            f"{known.alias} is an alias of {known.anchor.id}",
            f"use {known.anchor.id}",
        )
    return known.anchor


def _anchor(tx: Tx, row: Row) -> Anchor:
    aliases = tx.all(sql.aliases_of, anchor_id=row["anchor_id"])
    return anchor_from(row, [alias["alias"] for alias in aliases])


def anchor_from(row: Row, aliases: list[str]) -> Anchor:
    return Anchor(
        id=row["anchor_id"],
        title=row["title"],
        kind=row["kind"],
        status=row["status"],
        description=row["description"],
        refs=msgspec.json.decode(row["refs"]),
        aliases=aliases,
        parent_id=row["parent_id"],
        depends_on=msgspec.json.decode(row["depends_on"]),
        created_at_ms=row["created_at_ms"],
        updated_at_ms=row["updated_at_ms"],
        registered=True,
    )


def put_anchor(tx: Tx, draft: AnchorDraft, *, field: str = "anchor") -> tuple[Anchor, bool]:
    """Create or change an anchor; fields the draft omits stay. Returns it and whether it is new."""
    name = draft.id.lower()
    known = resolve(tx, name)
    before = known.anchor
    anchor_id = before.id if before else name
    if before is None and (draft.title is None or draft.kind is None):
        missing = "title" if draft.title is None else "kind"
        sample = {"title": '"Storage"', "kind": "component"}[missing]
        raise InvalidInput(
            f"{missing}: a new anchor needs a title and a kind; fix: {missing}={sample}",
            recovery="kinds: boundary, component, contract, data, test-surface, ops",
        )
    if before is None and tx.value(sql.anchors_counted) >= MOST_ANCHORS:
        raise Conflict(
            f"{field}: there are already {MOST_ANCHORS} anchors",
            recovery="merge some with think.anchor.merge: anchors name parts, not files",
        )
    made = Anchor(
        id=anchor_id,
        title=draft.title or (before.title if before else name),
        kind=draft.kind or (before.kind if before else "component"),
        status=draft.status or (before.status if before else "active"),
        description=draft.description if draft.description is not None else _said(before),
        refs=draft.refs if draft.refs is not None else (before.refs if before else []),
        aliases=before.aliases if before else [],
        parent_id=_lower(draft.parent_id, before.parent_id if before else None),
        depends_on=_ids(draft.depends_on, before.depends_on if before else []),
        created_at_ms=before.created_at_ms if before else tx.now_ms,
        updated_at_ms=before.updated_at_ms if before else tx.now_ms,
        registered=True,
    )
    _check_relations(tx, made, field)
    aliases = [alias.lower() for alias in draft.aliases or ()]
    _check_aliases(tx, anchor_id, aliases, field)
    fresh = [alias for alias in aliases if alias not in made.aliases]
    if made != before or fresh:
        made = msgspec.structs.replace(
            made, updated_at_ms=tx.now_ms, aliases=sorted({*made.aliases, *fresh})
        )
        store_anchor(tx, made, "anchor_updated" if before else "anchor_created")
        for alias in fresh:
            tx.run(sql.alias_put, alias=alias, anchor_id=anchor_id)
    return made, before is None


def store_anchor(tx: Tx, anchor: Anchor, kind: str) -> None:
    """Write an anchor's row and event."""
    seq = tx.append("thinking", anchor.id, kind, {"title": anchor.title, "kind": anchor.kind})
    tx.run(
        sql.anchor_put,
        anchor_id=anchor.id,
        title=anchor.title,
        kind=anchor.kind,
        status=anchor.status,
        description=anchor.description,
        refs=_json(anchor.refs),
        parent_id=anchor.parent_id,
        depends_on=_json(anchor.depends_on),
        created_seq=seq,
        created_at_ms=anchor.created_at_ms,
        updated_at_ms=anchor.updated_at_ms,
    )


def register_missing(tx: Tx, tags: Iterable[str]) -> None:
    """Create the anchors among a canonical card's tags that do not exist yet."""
    for tag in sorted(tags):
        if not ANCHOR_TAG.match(tag) or resolve(tx, tag).anchor is not None:
            continue
        if tx.value(sql.anchors_counted) >= MOST_ANCHORS:
            return
        title = tag.removeprefix("a:").replace("-", " ").capitalize()
        put_anchor(tx, AnchorDraft(id=tag, title=title, kind="component"))


def _said(before: Anchor | None) -> str | None:
    return before.description if before else None


def _lower(given: str | None, before: str | None) -> str | None:
    return before if given is None else given.lower()


def _ids(given: list[str] | None, before: list[str]) -> list[str]:
    return before if given is None else sorted({name.lower() for name in given})


def _check_relations(tx: Tx, anchor: Anchor, field: str) -> None:
    """Refuse an anchor that is its own ancestor or depends on itself."""
    if anchor.id in anchor.depends_on:
        raise InvalidInput(
            f"{field}.depends_on: {anchor.id} cannot depend on itself", recovery="leave it out"
        )
    seen, at = {anchor.id}, anchor.parent_id
    while at is not None:
        above = resolve(tx, at).anchor
        name = above.id if above else at
        if name in seen:
            raise InvalidInput(
                f"{field}.parent_id: {anchor.parent_id} is below {anchor.id}",
                recovery="choose a parent that is not below it, or leave parent_id out",
            )
        seen.add(name)
        at = above.parent_id if above else None


def _check_aliases(tx: Tx, anchor_id: str, aliases: list[str], field: str) -> None:
    for alias in aliases:
        if alias == anchor_id:
            raise InvalidInput(
                f"{field}.aliases: {alias} is the anchor's own id", recovery="leave it out"
            )
        if tx.one(sql.anchor_one, anchor_id=alias):
            raise Conflict(
                f"{field}.aliases: {alias} is itself an anchor",
                recovery=f"choose another alias, or merge it: think.anchor.merge into={anchor_id} "
                f"from=[{alias}]",
            )
        owner = tx.value(sql.alias_of, alias=alias)
        if owner not in (None, anchor_id):
            raise Conflict(
                f"{field}.aliases: {alias} is already an alias of {owner}",
                recovery="choose another alias",
            )


def _json(values: list[str]) -> str:
    return msgspec.json.encode(values).decode()
