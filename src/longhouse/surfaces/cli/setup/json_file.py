"""Edits JSON files: values change, while key order and indentation stay."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from longhouse.surfaces.cli.setup.files import CannotEdit, Edit

__all__ = ["json_edit"]

_INDENT = re.compile(r"\n([ \t]+)\S")
_BOM = "\ufeff"


def json_edit(change: Callable[[dict[str, Any]], None]) -> Edit:
    """An edit that changes the file's object; if that leaves it empty, the file is removed."""

    def edit(text: str) -> str:
        bom = _BOM if text.startswith(_BOM) else ""
        value = _parse(text.removeprefix(_BOM))
        before = json.dumps(value)
        try:
            change(value)
        except (AttributeError, TypeError, KeyError):
            raise CannotEdit(
                "the entry to change does not have the expected form",
                recovery="fix the file, then try again",
            ) from None
        if json.dumps(value) == before:
            return text
        return bom + _written(value, text) if value else ""

    return edit


def _parse(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise CannotEdit(
            f"not valid JSON: {error}",
            recovery="fix it, or add the entry by hand: longhouse init --client other prints it",
        ) from None
    if not isinstance(value, dict):
        raise CannotEdit("not a JSON object", recovery="fix the file, then try again")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; a repeated key is an error, because one value would be lost."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is repeated")
    return value


def _written(value: dict[str, Any], like: str) -> str:
    found = _INDENT.search(like)
    indent: str | int | None = found[1] if found else 2
    if like.strip() and "\n" not in like.strip():
        indent = None
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if not like.strip() or like.endswith("\n"):
        text += "\n"
    return text.replace("\n", "\r\n") if "\r\n" in like else text
