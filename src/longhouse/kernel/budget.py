"""Keeps answers within a size: profiles cap what a call may ask for, declared trims cut the result.

A profile is a ceiling and never supplies a default. A result is cut in the order its command
declares; what a reader needs to continue (id, ref, cursor) is never cut. `used_chars` is the exact
length of the serialized result without its `budget` field. A credential shown only once is not cut.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import msgspec

from longhouse.kernel.trim import Clip, Doc, Drop, Keep, Pop, Trim, apply, clip_text, empty

__all__ = [
    "PROFILES",
    "UNASKED",
    "Budget",
    "Clip",
    "Drop",
    "Fitted",
    "Keep",
    "Pop",
    "Profile",
    "Trim",
    "fit",
]


class Profile(msgspec.Struct, frozen=True):
    """The upper limits of what a call may ask for."""

    max_chars: int
    limit: int

    def cap(self, knob: str) -> int:
        """The maximum for one argument; a character takes at most four bytes in UTF-8."""
        return {"limit": self.limit, "max_bytes": self.max_chars * 4}.get(knob, self.max_chars)


PROFILES = {
    "portal": Profile(6_000, 50),
    "default": Profile(20_000, 200),
    "audit": Profile(80_000, 500),
}


class Budget(msgspec.Struct, frozen=True):
    """The size limits of one answer."""

    max_chars: int
    max_bytes: int | None = None
    max_lines: int | None = None
    explicit: bool = False
    profile: str = "default"
    clamped: tuple[tuple[str, int], ...] = ()
    """What was asked for over the profile's cap, which was used instead."""
    lowered: tuple[tuple[str, int, int], ...] = ()
    """What was asked for over the most that the command itself takes, which was used instead."""

    @classmethod
    def of(
        cls,
        profile: str,
        *,
        max_chars: int | None = None,
        max_bytes: int | None = None,
        max_lines: int | None = None,
        limit: int | None = None,
        context_budget: int | None = None,
    ) -> Budget:
        """The requested budget: whatever is over the profile's cap is lowered to it."""
        if max_chars is max_bytes is max_lines is limit is context_budget is None:
            return UNASKED[profile]
        allowed = PROFILES[profile]
        knobs = {"max_chars": max_chars, "context_budget": context_budget, "max_bytes": max_bytes}
        asked = {knob: size for knob, size in knobs.items() if size is not None}
        chars = [size for knob, size in asked.items() if knob != "max_bytes"]
        if limit is not None:
            asked["limit"] = limit
        return cls(
            max_chars=min([*chars, allowed.max_chars]),
            max_bytes=None if max_bytes is None else min(max_bytes, allowed.cap("max_bytes")),
            max_lines=max_lines,
            explicit=bool(chars) or not (max_bytes is max_lines is None),
            profile=profile,
            clamped=tuple((k, size) for k, size in asked.items() if size > allowed.cap(k)),
        )

    def clamps(self) -> Iterator[tuple[str, str]]:
        """For all that was lowered: what was asked and used, and what to do about it."""
        for knob, size, most in self.lowered:
            yield f"{knob}: {_number(size)} is more than {most}; {most} was used", _page(knob, most)
        for knob, size in self.clamped:
            most = PROFILES[self.profile].cap(knob)
            wide = [name for name, p in PROFILES.items() if p.cap(knob) > most]
            wider = next((n for n in wide if PROFILES[n].cap(knob) >= size), None) or max(
                wide, key=lambda name: PROFILES[name].cap(knob), default=None
            )
            said = f"{knob}: {_number(size)} is over the cap of budget_profile={self.profile}"
            fix = f"use budget_profile={wider} for more" if wider else f"use {knob} <= {most}"
            yield f"{said}; {most} was used", fix


UNASKED = {name: Budget(max_chars=profile.max_chars) for name, profile in PROFILES.items()}
"""The budget of a call that asks for none, by its profile."""


def _page(knob: str, most: int) -> str:
    return f"use {knob} <= {most}" + (", and go on with cursor" if knob == "limit" else "")


def _number(size: int) -> str:
    return str(size) if size < 10**12 else "that"


class Fitted(msgspec.Struct, frozen=True):
    """A result that fits, and the budget warning codes that apply to it."""

    result: Doc
    codes: tuple[str, ...]


_TRUNCATED = len(',"truncated":false')

Rederive = Callable[[Doc], None]
"""Replaces, in place, what a result concludes from its rows by what the rows left allow."""


def _nothing(result: Doc) -> None:
    """There is nothing to derive again."""


def fit(
    result: Doc,
    budget: Budget,
    trims: Sequence[Trim] = (),
    *,
    size: int | None = None,
    keeps: Collection[str] = (),
    whole: bool = False,
    rederive: Rederive | None = None,
) -> Fitted:
    """Cut `result` (built-in values, changed in place) until it fits, and report what was done.

    The declared trims come first (BUDGET_TRUNCATED). If they do not suffice, only what the command
    declares with `Keep` remains, or else texts, lists and inner objects are reduced to what
    identifies them (BUDGET_MINIMAL). If even that is too large, it is the answer anyway and the
    budget is raised to its size (BUDGET_MIN_CLAMPED). An answer is never empty.

    `size` is the result's length in bytes of JSON, where the caller knows it; it saves serializing
    a small result again. The top-level fields named in `keeps` are never cut.
    Nothing of a `whole` result is: half a command line must never reach the program that runs it.
    `rederive` is called after each cut, so that nothing in the result speaks of what it lost.
    """
    again = rederive or _nothing
    codes: list[str] = []
    result.pop("budget", None)
    result.setdefault("truncated", False)
    small = size is not None and not budget.explicit and size + _TRUNCATED <= budget.max_chars
    if whole and not small and not _fits(result, budget):
        codes.append("BUDGET_MIN_CLAMPED")
    elif not small and not _fits(result, budget):
        codes.append("BUDGET_TRUNCATED")
        result["truncated"] = True
        kept = {name: result[name] for name in keeps if name in result}
        sizes = _sizes(result) if "degradation" in result else None
        usual, smallest = _split(trims)
        minimal = not _trimmed(result, budget, usual, again)
        if minimal:
            codes.append("BUDGET_MINIMAL")
            if smallest:
                _trimmed(result, budget, smallest, again)
            else:
                _minimised(result, budget, usual, again)
            result.update(kept)
        if sizes is not None:
            _tell(result, sizes, minimal=minimal)
        if minimal and not _fits(result, budget):
            codes.append("BUDGET_MIN_CLAMPED")
    if budget.explicit or codes:
        used = len(msgspec.json.encode(result).decode())
        clamped = "BUDGET_MIN_CLAMPED" in codes
        result["budget"] = {
            "max_chars": max(used, budget.max_chars) if clamped else budget.max_chars,
            "used_chars": used,
            "truncated": bool(result["truncated"]),
        }
    return Fitted(result, tuple(codes))


def _sizes(result: Doc) -> dict[str, int]:
    """The size of each field. Also reserves room to name, later, every field that may be cut."""
    sizes = {name: len(msgspec.json.encode(item)) for name, item in result.items()}
    result["degradation"]["truncated_fields"] += list(sizes)
    return sizes


def _tell(result: Doc, whole: dict[str, int], *, minimal: bool) -> None:
    """List in `degradation` the fields that the budget cut."""
    now = {name: len(msgspec.json.encode(item)) for name, item in result.items()}
    cut = [name for name, size in whole.items() if name not in _TOLD and now.get(name, 0) < size]
    before = [
        name for name in result.get("degradation", {}).get("truncated_fields", ()) if "." in name
    ]
    result["degradation"] = {"truncated_fields": [*before, *cut], "minimal": minimal}


_TOLD = ("degradation", "truncated")


def _fits(result: Doc, budget: Budget) -> bool:
    raw = msgspec.json.encode(result)
    if budget.max_bytes is not None and len(raw) > budget.max_bytes:
        return False
    if budget.max_lines is not None and _rows(result) > budget.max_lines:
        return False
    return len(raw) <= budget.max_chars or len(raw.decode()) <= budget.max_chars


def _rows(value: Any) -> int:
    """The number of lines in a JSON answer: each object in a list, at any depth, counts as one."""
    if isinstance(value, dict):
        return sum(_rows(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(isinstance(inner, dict) + _rows(inner) for inner in value)
    return 0


def _split(trims: Sequence[Trim]) -> tuple[Sequence[Trim], Sequence[Trim]]:
    """The ordinary trims, and those from `Keep` on, which produce the smallest answer."""
    for at, trim in enumerate(trims):
        if isinstance(trim, Keep):
            return trims[:at], trims[at:]
    return trims, ()


def _trimmed(result: Doc, budget: Budget, trims: Sequence[Trim], again: Rederive) -> bool:
    for trim in trims:
        apply(trim, result, lambda: _fits(result, budget))
        again(result)
        if _fits(result, budget):
            return True
    return False


_SHOWN = ("kind", "status", "revision", "count", "next", "cmd", "workspace")


def _identifies(key: str) -> bool:
    """Whether a reader needs this field to find the record again or to continue."""
    return key.endswith(("ref", "id", "cursor", "seq", "offset")) or key.startswith("has_more")


def _minimised(result: Doc, budget: Budget, trims: Sequence[Trim], again: Rederive) -> bool:
    """Reduce the result step by step; True as soon as it fits."""
    for chars in (160, 60, 24):
        _clip_all(result, chars)
        if _fits(result, budget):
            return True
    for trim in trims:
        if isinstance(trim, Pop) and trim.leave:
            emptied = msgspec.structs.replace(trim, leave=0)
            apply(emptied, result, lambda: _fits(result, budget))
            again(result)
    largest = sorted(_lists(result), key=lambda found: -len(msgspec.json.encode(found[2])))
    for holder, name, _ in largest:
        if _fits(result, budget):
            return True
        empty(holder, name)
        again(result)
    signal = _signal(result)
    for kept in (_SHOWN, ()):
        if _fits(result, budget):
            return True
        _reduce(result, kept)
        if result.keys() <= {"truncated"}:
            result.update(signal)
    return _fits(result, budget)


def _signal(result: Doc) -> Doc:
    """The first scalar of the answer: what remains when no field identifies it."""
    for key, value in result.items():
        if isinstance(value, dict):
            if inner := _signal(value):
                return {key: inner}
        elif key != "truncated" and not isinstance(value, list):
            return {key: value}
    return {}


def _clip_all(value: Any, chars: int) -> Any:
    """Clip every text except those that identify a record, which are short."""
    if isinstance(value, str):
        return clip_text(value, chars)
    if isinstance(value, dict):
        for key, inner in value.items():
            if not (isinstance(inner, str) and _identifies(key)):
                value[key] = _clip_all(inner, chars)
    elif isinstance(value, list):
        value[:] = [_clip_all(inner, chars) for inner in value]
    return value


def _lists(value: Any) -> Iterator[tuple[Doc, str, list[Any]]]:
    """Every non-empty list in the value, with the object and key that hold it, outermost first."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, list) and inner:
                yield value, key, inner
            yield from _lists(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _lists(inner)


def _reduce(value: Doc, kept: Sequence[str]) -> None:
    """Keep only the fields that identify the record or say how to continue."""
    for key, inner in list(value.items()):
        if isinstance(inner, dict):
            _reduce(inner, kept)
            if not inner:
                del value[key]
        elif not (_identifies(key) or key in kept or key == "truncated"):
            del value[key]
