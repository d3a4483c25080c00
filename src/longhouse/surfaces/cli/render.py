"""Answers as a person reads them: fields in a column, rows in a table, times as words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["ago", "clock_time", "fields", "table", "view"]

WIDE = 100


def fields(rows: Sequence[tuple[str, Any]], indent: str = "  ") -> Iterator[str]:
    """`name  value`, the values below each other; what is empty is left out."""
    kept = [(name, str(value)) for name, value in rows if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in kept), default=0)
    yield from (f"{indent}{name:<{width}}  {value}" for name, value in kept)


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """One line a row, under a head; the last column is not padded."""
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    if not cells:
        return
    cells.insert(0, [column.upper() for column in columns])
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()


def view(value: Any, indent: str = "") -> Iterator[str]:
    """Any result, field by field; long texts stand below their name."""
    for name, item in value.items() if isinstance(value, Mapping) else enumerate(value):
        if isinstance(item, Mapping | list) and item:
            yield f"{indent}{name}"
            yield from view(item, indent + "  ")
        elif isinstance(item, str) and ("\n" in item or len(item) > WIDE):
            yield f"{indent}{name}"
            yield from (f"{indent}  {line}" for line in item.splitlines())
        elif item not in (None, [], {}):
            yield f"{indent}{name}  {_cell(item)}"


def ago(ts_ms: int, now_ms: int | None = None) -> str:
    """`3 minutes ago`."""
    seconds = max(0, ((now_ms or time.time_ns() // 1_000_000) - ts_ms) // 1000)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def clock_time(ts_ms: int) -> str:
    """The local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(ts_ms / 1000))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
