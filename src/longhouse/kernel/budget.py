"""Answers that fit: profiles bound a call, declared trims cut a result, exactly measured.

A profile is a ceiling and never supplies a default. A result is cut in the order its command
declares, oldest and least needed first; what a reader needs to go on (ref, cursor, next action) is
never cut. `used_chars` is the length of the serialised result without its `budget` field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from longhouse.kernel.errors import BudgetExceeded

__all__ = ["PROFILES", "Budget", "Clip", "Drop", "Fitted", "Pop", "Profile", "Trim", "fit"]

Rows = list[Any]
Doc = dict[str, Any]


class Profile(msgspec.Struct, frozen=True):
    max_chars: int
    limit: int


PROFILES = {
    "portal": Profile(6_000, 50),
    "default": Profile(20_000, 200),
    "audit": Profile(80_000, 500),
}


class Pop(msgspec.Struct, frozen=True):
    """Drop rows of the list at `path`, oldest first, down to `leave`."""

    path: str
    oldest: Literal["first", "last"] = "last"
    leave: int = 0
    cursor: str | None = None
    """The row key that pages this list: the page then says it has more, from the oldest kept."""


class Clip(msgspec.Struct, frozen=True):
    """Shorten the strings at `path` (`entries.content` reaches into every row) to `chars`."""

    path: str
    chars: int = 160


class Drop(msgspec.Struct, frozen=True):
    """Leave out the optional field at `path`."""

    path: str


Trim = Pop | Clip | Drop


class Budget(msgspec.Struct, frozen=True):
    """What one call may answer."""

    max_chars: int
    max_bytes: int | None = None
    max_lines: int | None = None
    explicit: bool = False

    @classmethod
    def of(
        cls,
        profile: str,
        *,
        max_chars: int | None,
        max_bytes: int | None,
        max_lines: int | None,
        limit: int | None,
    ) -> Budget:
        cap = PROFILES[profile]
        for knob, asked, most in (
            ("max_chars", max_chars, cap.max_chars),
            ("max_bytes", max_bytes, cap.max_chars * 4),
            ("limit", limit, cap.limit),
        ):
            if asked is not None and asked > most:
                wider = next((n for n, p in PROFILES.items() if _cap(p, knob) >= asked), None)
                raise BudgetExceeded(
                    f"{knob}: {asked} is over the cap of budget_profile={profile}",
                    recovery=f"use {knob} <= {most}"
                    + (f", or budget_profile={wider}" if wider else ""),
                )
        return cls(
            max_chars=cap.max_chars if max_chars is None else max_chars,
            max_bytes=max_bytes,
            max_lines=max_lines,
            explicit=not (max_chars is max_bytes is max_lines is None),
        )


def _cap(profile: Profile, knob: str) -> int:
    return {"max_chars": profile.max_chars, "max_bytes": profile.max_chars * 4}.get(
        knob, profile.limit
    )


class Fitted(msgspec.Struct, frozen=True):
    """A result that fits, what it measures, and the budget warnings it earned."""

    result: Doc
    codes: tuple[str, ...]


def fit(result: Doc, budget: Budget, trims: Sequence[Trim]) -> Fitted:
    """Cut `result` (built-in values, changed in place) until it fits, and say what was done.

    First the declared trims; then every list is emptied and every long string clipped
    (BUDGET_MINIMAL); if even that is too large, the smallest form is the answer and the budget is
    clamped to it (BUDGET_MIN_CLAMPED). It is never empty.
    """
    codes: list[str] = []
    if not _fits(result, budget):
        codes.append("BUDGET_TRUNCATED")
        result["truncated"] = True
        for trim in trims:
            _apply(trim, result, budget)
            if _fits(result, budget):
                break
        else:
            codes.append("BUDGET_MINIMAL")
            _minimise(result, budget)
            if not _fits(result, budget):
                codes.append("BUDGET_MIN_CLAMPED")
    else:
        result.setdefault("truncated", False)
    if budget.explicit or codes:
        used = _chars(result)
        clamped = "BUDGET_MIN_CLAMPED" in codes
        result["budget"] = {
            "max_chars": max(used, budget.max_chars) if clamped else budget.max_chars,
            "used_chars": used,
            "truncated": bool(result["truncated"]),
        }
    return Fitted(result, tuple(codes))


def _chars(result: Doc) -> int:
    return len(msgspec.json.encode(result).decode())


def _fits(result: Doc, budget: Budget) -> bool:
    raw = msgspec.json.encode(result)
    if budget.max_bytes is not None and len(raw) > budget.max_bytes:
        return False
    if budget.max_lines is not None and _rows(result) > budget.max_lines:
        return False
    return len(raw) <= budget.max_chars or len(raw.decode()) <= budget.max_chars


def _rows(value: Any) -> int:
    """In JSON a line is a row: an object in a list, at any depth."""
    if isinstance(value, dict):
        return sum(_rows(v) for v in value.values())
    if isinstance(value, list):
        return sum(1 + _rows(v) for v in value if isinstance(v, dict))
    return 0


def _apply(trim: Trim, result: Doc, budget: Budget) -> None:
    *parents, last = trim.path.split(".")
    for holder in _holders(result, parents):
        if isinstance(trim, Drop):
            holder.pop(last, None)
        elif isinstance(trim, Clip):
            if isinstance(text := holder.get(last), str) and len(text) > trim.chars:
                holder[last] = text[: trim.chars - 1] + "…"
        elif isinstance(rows := holder.get(last), list):
            _pop(trim, rows, holder, result, budget)


def _holders(value: Any, path: Sequence[str]) -> list[Doc]:
    """The objects at `path`, reaching into every row of the lists on the way."""
    level: list[Any] = [value]
    for name in path:
        level = [v[name] for v in level if isinstance(v, dict) and name in v]
        level = [row for v in level for row in (v if isinstance(v, list) else [v])]
    return [v for v in level if isinstance(v, dict)]


def _pop(trim: Pop, rows: Rows, holder: Doc, result: Doc, budget: Budget) -> None:
    """Keep the most rows that fit: the answer shrinks with each row, so halving finds it."""
    whole = list(rows)
    low, high = min(trim.leave, len(whole)), len(whole)

    def keep(n: int) -> None:
        rows[:] = whole[len(whole) - n :] if trim.oldest == "first" else whole[:n]
        _repage(trim, rows, holder, cut=n < len(whole))

    while low < high:
        middle = (low + high + 1) // 2
        keep(middle)
        if _fits(result, budget):
            low = middle
        else:
            high = middle - 1
    keep(low)


def _repage(trim: Pop, rows: Rows, holder: Doc, *, cut: bool) -> None:
    """Say how many rows are left and where to go on, so that no row is lost between pages."""
    page = holder.get("pagination", holder)
    if "count" in page:
        page["count"] = len(rows)
    if not cut:
        return
    for key in ("has_more", "has_more_events"):
        if key in page:
            page[key] = True
    if trim.cursor and rows:
        edge = rows[0] if trim.oldest == "first" else rows[-1]
        page["next_cursor"] = edge[trim.cursor]


def _minimise(result: Doc, budget: Budget) -> None:
    for chars in (160, 60, 24):
        _clip_all(result, chars)
        if _fits(result, budget):
            return
    for key, value in list(result.items()):
        if isinstance(value, list) and value:
            result[key] = []
            if _fits(result, budget):
                return


def _clip_all(value: Any, chars: int) -> Any:
    """Clip every free text; ids, refs and cursors are short and survive."""
    if isinstance(value, str):
        return value if len(value) <= chars else value[: chars - 1] + "…"
    if isinstance(value, dict):
        for key, inner in value.items():
            value[key] = inner if key.endswith(("ref", "id", "cursor")) else _clip_all(inner, chars)
    elif isinstance(value, list):
        value[:] = [_clip_all(inner, chars) for inner in value]
    return value
