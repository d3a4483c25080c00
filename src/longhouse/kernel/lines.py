"""BM-L1, the line protocol: answers for `fmt=lines`, made to be read and pasted.

The first line is the state. Following untagged lines are rows or commands to paste. Tagged lines
are ERROR:, WARNING:, MORE:, REFERENCE: and CMD: only. No line is blank, none holds JSON objects of
its own, and a cut answer keeps its first line and whole lines only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

__all__ = ["clip", "command_line", "cut", "error_lines", "one_line", "plain_lines", "warning_line"]

_BARE = re.compile(r"[A-Za-z0-9_\-./:@+]+\Z")
_GAP = re.compile(r"[\s\x00-\x1f\x7f]+")


def one_line(text: str) -> str:
    """The text on one line, without control characters."""
    return _GAP.sub(" ", text).strip()


def clip(text: str, chars: int) -> str:
    """One line of at most `chars`, with an ellipsis where it was cut."""
    line = one_line(text)
    return line if len(line) <= chars else line[: chars - 1] + "…"


def value(item: Any) -> str:
    """One argument value as it is pasted: bare when it is plain, else as JSON."""
    if isinstance(item, str) and _BARE.match(item):
        return item
    return msgspec.json.encode(item).decode()


def command_line(tool: str, args: Mapping[str, Any], *, default_workspace: str | None) -> str:
    """`jobs cmd=jobs.open job=JOB-001`: a call, keys sorted, what is null or default left out."""
    flat: dict[str, Any] = {}
    for key, item in args.items():
        if key == "args" and isinstance(item, Mapping):
            flat.update(item)
        elif key == "op" and item == "call":
            continue
        elif not (key == "workspace" and item == default_workspace):
            flat[key] = item
    head = [f"{key}={value(flat.pop(key))}" for key in ("op", "cmd") if key in flat]
    rest = [f"{key}={value(item)}" for key, item in sorted(flat.items()) if item is not None]
    return " ".join([tool, *head, *rest])


def error_lines(error: Mapping[str, Any], commands: Sequence[str]) -> list[str]:
    """The error and at most two commands that mend it."""
    fix = f" | fix: {one_line(error['recovery'])}" if error.get("recovery") else ""
    return [f"ERROR: {error['code']} {one_line(error['message'])}{fix}", *commands[:2]]


def warning_line(warning: Mapping[str, Any]) -> str:
    fix = f" | fix: {one_line(warning['recovery'])}" if warning.get("recovery") else ""
    return f"WARNING: {warning['code']} {one_line(warning['message'])}{fix}"


def plain_lines(intent: str, result: Mapping[str, Any]) -> list[str]:
    """Any result as lines: its scalars on the first, then a line for each row of its lists."""
    head, rows = [intent], list[str]()
    for key, item in result.items():
        if isinstance(item, str | int | float | bool):
            head.append(f"{key}={_cell(item)}")
        elif isinstance(item, Mapping):
            head.extend(
                f"{key}.{k}={_cell(v)}" for k, v in item.items() if isinstance(v, str | int | float)
            )
        elif isinstance(item, list):
            head.append(f"{key}={len(item)}")
            rows.extend(_row(row) for row in item)
    return [" ".join(head), *rows]


def _row(row: Any) -> str:
    if not isinstance(row, Mapping):
        return f"- {clip(str(row), 200)}"
    cells = (f"{k}={_cell(v)}" for k, v in row.items() if isinstance(v, str | int | float))
    return "- " + " ".join(cells)


def _cell(item: str | float) -> str:
    return value(clip(item, 120)) if isinstance(item, str) else value(item)


def cut(lines: Sequence[str], *, max_chars: int, max_lines: int | None) -> tuple[list[str], bool]:
    """As many whole lines as fit, always the first; a `MORE:` line tells how many were left out."""
    kept: list[str] = []
    used = 0
    for index, line in enumerate(lines):
        left = len(lines) - index - 1
        more = 0 if not left else len(_more(left)) + 1
        room_left = max_chars - used - len(line) - (1 if kept else 0) - more
        rows_left = len(lines) if max_lines is None else max_lines - len(kept) - (2 if left else 1)
        if kept and (room_left < 0 or rows_left < 0):
            break
        kept.append(line)
        used += len(line) + (1 if index else 0)
    dropped = len(lines) - len(kept)
    if not dropped:
        return kept, False
    if (max_lines is None or max_lines > 1) and used + 1 + len(_more(dropped)) <= max_chars:
        kept.append(_more(dropped))
    return kept, True


def _more(count: int) -> str:
    return f"MORE: {count} lines left out; raise max_chars or max_lines"
