"""Trims: how a result may be cut, declared per command and applied in order.

A trim says which rows or texts go first. Cutting rows from a page also updates its pagination, so
that a reader who follows the cursor sees every row exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

__all__ = ["Clip", "Doc", "Drop", "Keep", "Pop", "Trim", "apply", "clip_text", "empty"]

Doc = dict[str, Any]
Fits = Callable[[], bool]


class Pop(msgspec.Struct, frozen=True):
    """Drop rows from the list at `path`, oldest first, until `leave` remain."""

    path: str
    oldest: Literal["first", "last"] = "last"
    leave: int = 0
    cursor: str | None = None
    """The row key that pages this list (`offset` if the page counts rows). After a cut, the page
    says that it has more and continues from the oldest row kept."""
    into: str = "next_cursor"
    """The field of the page that says where to continue."""


class Clip(msgspec.Struct, frozen=True):
    """Shorten the strings at `path` (`entries.content` applies to every row).

    They are cut no more than needed, and never below `chars`.
    """

    path: str
    chars: int = 160


class Drop(msgspec.Struct, frozen=True):
    """Leave out the optional field at `path`."""

    path: str


class Keep(msgspec.Struct, frozen=True):
    """Keep only these fields: the smallest answer that is still useful.

    Only the trims after this one may cut what remains.
    """

    fields: tuple[str, ...]


Trim = Pop | Clip | Drop | Keep


def apply(trim: Trim, result: Doc, fits: Fits) -> None:
    """Cut `result` in place as the trim says, only as far as needed to fit."""
    if isinstance(trim, Keep):
        for name in result.keys() - {*trim.fields, "truncated"}:
            del result[name]
        return
    *parents, last = trim.path.split(".")
    holders = _holders(result, parents)
    if isinstance(trim, Clip):
        _clip(trim, [h for h in holders if isinstance(h.get(last), str)], last, fits)
        return
    if isinstance(trim, Drop):
        _drop([h for h in holders if last in h], last, fits)
        return
    for holder in holders:
        if isinstance(rows := holder.get(last), list):
            _pop(trim, rows, holder, last, fits)
        if len(holders) > 1 and fits():
            return


def clip_text(text: str, chars: int) -> str:
    """At most `chars` of the text, with an ellipsis if it was cut."""
    return text if len(text) <= chars else text[: max(chars - 1, 0)] + "…"


def empty(holder: Doc, name: str) -> None:
    """Drop every row of a list, declared or not, and update the page it belongs to."""
    rows: list[Any] = holder[name]
    trim = Pop(name, cursor=name)
    page = _page(Pop(name), holder, name, len(rows))
    rows.clear()
    _repage(trim, page, rows, name)


def _holders(value: Any, path: Sequence[str]) -> list[Doc]:
    """The objects at `path`, following every row of the lists on the way."""
    level: list[Any] = [value]
    for name in path:
        level = [v[name] for v in level if isinstance(v, dict) and name in v]
        level = [row for v in level for row in (v if isinstance(v, list) else [v])]
    return [v for v in level if isinstance(v, dict)]


def _most(low: int, high: int, fits_with: Callable[[int], bool]) -> int:
    """The largest number that fits, by binary search; `low` if none does."""
    while low < high:
        middle = (low + high + 1) // 2
        if fits_with(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _clip(trim: Clip, holders: list[Doc], name: str, fits: Fits) -> None:
    whole = [(holder, holder[name]) for holder in holders]
    longest = max((len(text) for _, text in whole), default=0)
    if longest <= trim.chars:
        return

    def keep(chars: int) -> bool:
        for holder, text in whole:
            holder[name] = clip_text(text, chars)
        return fits()

    keep(_most(trim.chars, longest - 1, keep))


def _drop(holders: list[Doc], name: str, fits: Fits) -> None:
    """Leave the field out of the first objects, as many as needed."""
    whole = [dict(holder) for holder in holders]
    without = [{key: item for key, item in one.items() if key != name} for one in whole]

    def keep(count: int) -> bool:
        for at, holder in enumerate(holders):
            holder.clear()
            holder.update(without[at] if at < len(holders) - count else whole[at])
        return fits()

    keep(_most(0, len(holders) - 1, keep))


def _pop(trim: Pop, rows: list[Any], holder: Doc, name: str, fits: Fits) -> None:
    whole = list(rows)
    if len(whole) <= trim.leave:
        return
    page = _page(trim, holder, name, len(whole))

    def keep(count: int) -> bool:
        rows[:] = whole[len(whole) - count :] if trim.oldest == "first" else whole[:count]
        _repage(trim, page, rows, name)
        return fits()

    keep(_most(trim.leave, len(whole) - 1, keep))


def _page(trim: Pop, holder: Doc, name: str, count: int) -> Doc:
    """The object that describes this list: its own pagination, a shared one, or an empty object."""
    if f"{name}_pagination" in holder:
        return holder[f"{name}_pagination"]  # type: ignore[no-any-return]
    page = holder.get("pagination")
    if isinstance(page, dict) and (trim.cursor or page.get("count") == count):
        return page
    counted = page is None and holder.get("count") == count
    return holder if counted or f"has_more_{name}" in holder else {}


def _repage(trim: Pop, page: Doc, rows: list[Any], name: str) -> None:
    """Record how many rows remain and where to continue, so that no row is lost between pages."""
    if "count" in page:
        page["count"] = len(rows)
    for key in ("has_more", f"has_more_{name}"):
        if key in page:
            page[key] = True
    if not trim.cursor or "has_more" not in page:
        return
    if "offset" in page:
        page[trim.into] = page["offset"] + len(rows)
    elif rows:
        page[trim.into] = (rows[0] if trim.oldest == "first" else rows[-1])[trim.cursor]
    else:
        # No rows are left on this page: continuing means asking for the same page again.
        page[trim.into] = page.get("cursor")
