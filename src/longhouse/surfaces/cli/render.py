"""Formats answers for people: fields in a column, rows in a table, times in words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from longhouse.surfaces.cli.output import Cut

__all__ = ["ago", "clock_time", "fields", "flat", "local_time", "many", "table", "view"]

WIDE = 100


def fields(rows: Sequence[tuple[str, Any]], indent: str = "  ") -> Iterator[str]:
    """`name  value` lines with aligned values; empty values are left out."""
    kept = [(name, flat(str(value))) for name, value in rows if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in kept), default=0)
    yield from (f"{indent}{name:<{width}}  {value}" for name, value in kept)


def flat(text: str) -> str:
    """Other people's text on one line: a second line could pass for one of ours."""
    return " ".join(text.splitlines())


def many(count: int, noun: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """One line per row, below a header; the last column is not padded."""
    cells = [[_timed(column, row.get(column)) for column in columns] for row in rows]
    if not cells:
        return
    cells.insert(0, [column.upper() for column in columns])
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield Cut("  ".join(padded).rstrip())


def view(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Any result: its plain fields in a column, then nested values, each under its name."""
    plain = [(name, item) for name, item in value.items() if not isinstance(item, Mapping | list)]
    short = [(name, _field(name, item)) for name, item in plain if not _is_long(item)]
    yield from fields(short, indent)
    for name, item in plain:
        if _is_long(item):
            yield f"{indent}{name}"
            yield from (f"{indent}  {line}" for line in item.splitlines())
    for name, item in value.items():
        if isinstance(item, Mapping) and item:
            yield f"{indent}{name}"
            yield from view(item, indent + "  ")
        elif isinstance(item, list) and item:
            yield f"{indent}{name}"
            yield from (Cut(f"{indent}  {line}") for line in _rows(item))


def _rows(items: list[Any]) -> Iterator[str]:
    """A table of objects, or one line per plain value."""
    if not all(isinstance(item, Mapping) for item in items):
        yield from map(_cell, items)
        return
    columns = [
        name
        for name in dict.fromkeys(name for item in items for name in item)
        if not any(isinstance(item.get(name), Mapping | list) for item in items)
        and not (name == "seq" and "ref" in items[0])
    ]
    cells = [{name: _field(name, item.get(name)) for name in columns} for item in items]
    yield from table(cells, columns)


def _is_long(item: Any) -> bool:
    return isinstance(item, str) and ("\n" in item or len(item) > WIDE)


def _field(name: str, item: Any) -> Any:
    if name.endswith(("ts_ms", "_at_ms")):
        return item and f"{ago(item)} ({clock_time(item)})"
    return item if item in (None, [], {}, "") else _timed(name, item)


def _timed(name: str, item: Any) -> str:
    return local_time(item) if name.endswith("_at") and isinstance(item, str) else _cell(item)


def ago(ts_ms: int, now_ms: int | None = None) -> str:
    """`3 minutes ago`, or `in 3 minutes`."""
    passed = ((now_ms or time.time_ns() // 1_000_000) - ts_ms) // 1000
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if abs(passed) >= size:
            said = many(round(abs(passed) / size) if passed < 0 else passed // size, unit)
            return f"in {said}" if passed < 0 else f"{said} ago"
    return "just now" if passed >= -1 else "in a moment"


def clock_time(ts_ms: int) -> str:
    """The time of day in the reader's zone, with the zone: `10:02:31 CET`."""
    return time.strftime("%H:%M:%S %Z", time.localtime(ts_ms / 1000)).rstrip()


def local_time(stamp: str) -> str:
    """An RFC 3339 time in the reader's zone, with the zone; the day too if it is not today."""
    from datetime import datetime  # few answers need it

    try:
        at = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return stamp
    today = at.date() == datetime.now(at.tzinfo).date()
    return at.strftime("%H:%M %Z" if today else "%Y-%m-%d %H:%M %Z")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)
