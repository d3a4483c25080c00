"""Edits one table in a TOML file as text: comments, order and every other byte stay.

The standard library has no TOML writer that keeps comments, and changing a few keys of one table
does not need one. The result is parsed again, and an edit that would change anything else is
refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from longhouse.surfaces.cli.setup.files import CannotEdit, Edit

__all__ = ["toml_edit", "toml_value"]

_HEADER = re.compile(r"^\s*\[\[?(.+?)\]\]?\s*(#.*)?$")


def toml_edit(table: tuple[str, str], keys: Mapping[str, Any] | None) -> Edit:
    """An edit that sets these keys of the table `[a.b]`, or removes the table for None."""

    def edit(text: str) -> str:
        before = _parse(text)
        outer = before.get(table[0], {})
        inner = outer.get(table[1], {}) if isinstance(outer, dict) else None
        if not isinstance(inner, dict):
            raise CannotEdit(
                f"{table[0]} is not a table of tables", recovery="fix the file, then try again"
            )
        if (keys is None and not inner) or (keys is not None and inner == {**inner, **keys}):
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        lines = text.replace("\r\n", "\n").split("\n")
        lines = _without(lines, table) if keys is None else _with(lines, table, keys)
        after = newline.join(lines)
        if _wanted(before, table, keys) != _parse_or_none(after):
            raise CannotEdit(
                f"{'.'.join(table)} is written in a way that cannot be changed safely",
                recovery="change it by hand: longhouse init --client other prints the entry",
            )
        return after

    return edit


def toml_value(value: Any) -> str:
    """A string, a boolean or a list of strings; TOML and JSON strings differ only in DEL."""
    import json

    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(
            f"not valid TOML: {error}", recovery="fix the file, then try again"
        ) from None


def _parse_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _wanted(
    before: dict[str, Any], table: tuple[str, str], keys: Mapping[str, Any] | None
) -> dict[str, Any]:
    outer = dict(before.get(table[0], {}))
    if keys is None:
        outer.pop(table[1], None)
    else:
        outer[table[1]] = {**outer.get(table[1], {}), **keys}
    wanted = {**before, table[0]: outer}
    if not outer:
        del wanted[table[0]]
    return wanted


def _with(lines: list[str], table: tuple[str, str], keys: Mapping[str, Any]) -> list[str]:
    start = next((i for i, line in enumerate(lines) if _path(line) == table), None)
    if start is None:
        while lines and not lines[-1].strip():
            lines.pop()
        space = [""] if lines else []
        new = [f"{name} = {toml_value(value)}" for name, value in keys.items()]
        return [*lines, *space, f"[{'.'.join(table)}]", *new, ""]
    end = next((i for i in range(start + 1, len(lines)) if _path(lines[i])), len(lines))
    body = lines[start + 1 : end]
    for name, value in keys.items():
        text = f"{name} = {toml_value(value)}"
        at = next((i for i, line in enumerate(body) if _key(line) == name), None)
        if at is None:
            last = max((i for i, line in enumerate(body) if line.strip()), default=-1)
            body.insert(last + 1, text)
            continue
        length = _extent(body, at)
        old = tomllib.loads("\n".join(body[at : at + length]))
        if old != {name: value}:
            body[at : at + length] = [text]
    return [*lines[: start + 1], *body, *lines[end:]]


def _without(lines: list[str], table: tuple[str, str]) -> list[str]:
    kept: list[str] = []
    inside = False
    for line in lines:
        path = _path(line)
        if path:
            was, inside = inside, path[: len(table)] == table
            if inside and not was:
                while kept and not kept[-1].strip():
                    kept.pop()
            if was and not inside and kept:
                kept.append("")
        if not inside:
            kept.append(line)
    if inside and kept:
        kept.append("")
    return kept


def _path(line: str) -> tuple[str, ...] | None:
    """The table that a header line opens."""
    found = _HEADER.match(line)
    if found is None:
        return None
    try:
        value: Any = tomllib.loads(f"{found[1]} = 1")
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(value, dict):
        name, value = next(iter(value.items()))
        path.append(name)
    return tuple(path)


def _key(line: str) -> str | None:
    found = re.match(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*=""", line)
    return found[1] if found else None


def _extent(body: list[str], at: int) -> int:
    """How many lines a value spans: the fewest that parse."""
    for length in range(1, len(body) - at + 1):
        if _parse_or_none("\n".join(body[at : at + length])) is not None:
            return length
    raise CannotEdit("a value is not terminated", recovery="fix the file, then try again")
