"""Entries of notes and traces for packs, filtered by step and draft visibility."""

from __future__ import annotations

from typing import Any

from longhouse.memory import page_of, view_of
from longhouse.memory.types.documents import Entry, Pagination
from longhouse.store.tx import Tx
from longhouse.thinking.types.scopes import StepPlace
from longhouse.thinking.vocabulary import has_draft_marker, is_shown
from longhouse.thinking.writing import FORMAT

__all__ = ["entries_of"]

_LOOKED_AT = 2_000
_PAGE = 200


def entries_of(
    tx: Tx, branch: str, doc: str, *, limit: int, drafts: bool, step: StepPlace | None
) -> tuple[list[Entry], Pagination]:
    """The newest visible entries, in ascending order, and their pagination.

    Reads a bounded number of entries, so a page may stop early and still report more.
    """
    view = view_of(tx, branch, doc)
    if limit == 0:
        newest, page = page_of(tx, view, cursor=None, limit=1)
        return [], _page(0, 0, bool(newest), None)
    found: list[Entry] = []
    cursor: int | None = None
    more = True
    looked_at = 0
    while more and len(found) <= limit and looked_at < _LOOKED_AT:
        entries, page = page_of(tx, view, cursor=cursor, limit=min(limit + 1, _PAGE))
        looked_at += max(len(entries), 1)
        found = [*(e for e in entries if _shown(e, drafts, step)), *found]
        more, cursor = page.has_more, page.next_cursor
    if len(found) > limit:
        found = found[-limit:]
        more, cursor = True, found[0].seq
    return found, _page(limit, len(found), more, cursor if more else None)


def _page(limit: int, count: int, more: bool, cursor: int | None) -> Pagination:
    return Pagination(cursor=None, next_cursor=cursor, has_more=more, limit=limit, count=count)


def _shown(entry: Entry, drafts: bool, step: StepPlace | None) -> bool:
    meta: dict[str, Any] = entry.meta or {}
    if step is not None and not step.holds(meta, event=entry.kind == "event"):
        return False
    if drafts or entry.kind != "note":
        return True
    tags = [tag for tag in meta.get("tags") or () if isinstance(tag, str)]
    if entry.format == FORMAT:
        return is_shown(str(meta.get("type")), tags)
    return not has_draft_marker(tags)
