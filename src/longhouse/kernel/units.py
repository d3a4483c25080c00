"""Units in the names and values of arguments: what converts, and what is ambiguous.

A field states its unit at the end of its name (`timeout_ms`, `ttl_minutes`, `max_bytes`). A caller
may use another unit of the same kind, in the name (`timeout_s=30`) or in the value
(`timeout="30s"`). A bare number without a unit has more than one reading and is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

__all__ = ["Measured", "Unclear", "measured", "unit_of"]

_TIME = {
    "ms": ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "minutes": ("m", "min", "mins", "minute", "minutes"),
    "hours": ("h", "hr", "hrs", "hour", "hours"),
    "days": ("d", "day", "days"),
}
_SIZE = {
    "bytes": ("b", "byte", "bytes"),
    "kb": ("k", "kb", "kib", "kilobytes"),
    "mb": ("m", "mb", "mib", "megabytes"),
}
_FACTORS = {
    "time": {"ms": 1, "s": 1000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000},
    "size": {"bytes": 1, "kb": 1024, "mb": 1024 * 1024},
}
_COUNTS = {
    "chars": ("char", "chars", "characters"),
    "tokens": ("token", "tokens"),
    "lines": ("line", "lines"),
    "usd": ("usd", "dollars"),
    "eur": ("eur", "euros"),
    "percent": ("pct", "percent"),
}
"""What is counted in a unit of its own, which converts into no other."""
_WORDS = {
    "time": {word: unit for unit, words in _TIME.items() for word in words},
    "size": {word: unit for unit, words in _SIZE.items() for word in words},
    **{unit: dict.fromkeys(words, unit) for unit, words in _COUNTS.items()},
}
_SHORT = {"time": "s", "size": "bytes"}
"""The unit that a bare number may also be in."""
_MOMENTS = ("not_before", "deadline", "until_ts", "started_at", "ended_at", "ts")
"""Points in time, which "5m" does not name."""
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([a-z]+)")


class Unit(NamedTuple):
    stem: str
    kind: str
    unit: str


class Measured(NamedTuple):
    """The field that takes this value, and the value in the field's own unit."""

    field: str
    value: Any


class Unclear(Exception):
    """The value has several readings, or none in the field's unit; the text says which."""

    def __init__(self, message: str, recovery: str, field: str) -> None:
        super().__init__(message)
        self.message = message
        self.recovery = recovery
        self.field = field


def unit_of(name: str) -> Unit | None:
    """The unit at the end of a field's or argument's name."""
    stem, under, last = name.rpartition("_")
    for kind, words in _WORDS.items():
        unit = words.get(last)
        if unit and (under or (kind in _FACTORS and len(last) > 3)):
            return Unit(stem, kind, unit)
    return None


def measured(name: str, value: Any, fields: Iterable[str], stems: Iterable[str]) -> Measured | None:
    """The measured field that an argument means, with the value converted.

    `stems` are further names of the argument without its unit, most likely first. None if no
    field is measured so; raises Unclear for a value that has no single reading.
    """
    known = [(field, unit) for field in fields if (unit := unit_of(field))]
    exact = next((one for one in known if one[0] == name), None)
    if exact is None and (said := unit_of(name)):
        alike = [one for one in known if one[1].kind == said.kind]
        found = _first(alike, (said.stem, *stems))
        if found is None or isinstance(value, bool | None):
            return None
        if said.kind not in _FACTORS:
            return Measured(found[0], value)
        if not isinstance(value, int | float):
            return _from_text(name, value, *found) if isinstance(value, str) else None
        return Measured(found[0], _in(name, value, said, *found))
    found = exact or _first(known, (name, *stems))
    if found is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return _from_text(name, value, *found)
    if exact or not isinstance(value, int | float):
        return None
    if value == 0 or found[1].kind != "time":  # a size without a unit is in the field's own
        return Measured(found[0], value)
    raise _two_readings(name, value, *found)


def _first(known: list[tuple[str, Unit]], stems: Iterable[str]) -> tuple[str, Unit] | None:
    """The field with the first of these stems, if it is the only one with it."""
    for stem in stems:
        found = [one for one in known if one[1].stem == stem]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _from_text(name: str, text: str, field: str, own: Unit) -> Measured | None:
    parts = _AMOUNT.findall(text.strip().lower())
    said = "".join(a + b for a, b in parts) == text.strip().lower().replace(" ", "")
    words = _WORDS[own.kind] if own.kind in _FACTORS else {}
    if text.strip().isdigit() and name != field:
        if not int(text) or own.kind != "time":
            return Measured(field, int(text))
        raise _two_readings(name, int(text), field, own)
    if not parts or not said or any(word not in words for _, word in parts):
        return None
    if own.stem.endswith(_MOMENTS):
        raise Unclear(
            f"{name}: {text!r} is a length of time, and {field} is a point in time",
            f"{field}=<milliseconds since 1970>",
            field,
        )
    factors = _FACTORS[own.kind]
    amounts = (Fraction(amount) * factors[words[word]] for amount, word in parts)
    total = sum(amounts, start=Fraction(0))
    return Measured(field, _whole(name, text, total / factors[own.unit], field, own))


def _in(name: str, value: float, said: Unit, field: str, own: Unit) -> int:
    factors = _FACTORS[own.kind]
    total = Fraction(str(value)) * factors[said.unit] / factors[own.unit]
    return _whole(name, f"{value} {said.unit}", total, field, own)


def _whole(name: str, said: str, total: Fraction, field: str, own: Unit) -> int:
    if total.denominator != 1:
        raise Unclear(
            f"{name}: {said} is not a whole number of {own.unit}",
            f"{field}={-(-total.numerator // total.denominator)}",
            field,
        )
    return int(total)


def _two_readings(name: str, value: float, field: str, own: Unit) -> Unclear:
    other = _SHORT[own.kind] if own.unit != _SHORT[own.kind] else _other(own)
    stem = own.stem + "_" if own.stem else ""
    if own.stem.endswith(_MOMENTS):
        raise Unclear(f"{name}: {value} of what?", f"{field}=<milliseconds since 1970>", field)
    return Unclear(
        f"{name}: {value} of what? {field}={value} or {stem}{other}={value}",
        f"say the unit: {field}={value} or {stem}{other}={value}",
        field,
    )


def _other(own: Unit) -> str:
    return "minutes" if own.kind == "time" else "kb"
