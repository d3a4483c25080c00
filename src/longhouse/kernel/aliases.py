"""Other words for a field or a command: what people and models write before they read a schema.

A field declares them in its type, `Annotated[Text, also("text", "body")]`; a command with `also=`.
They are not accepted instead of the name: the refusal says which name was meant. Only words that
nobody declared are compared letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import Meta
from msgspec import inspect as types

__all__ = ["also", "field_meant", "nearest", "snake"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def also(*words: str) -> Meta:
    """What this field is called by those who guess."""
    return Meta(extra={"also": words})


def field_meant(word: str, path: str, *kinds: type[msgspec.Struct]) -> str | None:
    """The field that a word stands for, in the objects at this path; the first kind comes first."""
    said = snake(word)
    fields = [_fields_at(kind, path) for kind in kinds]
    for names in fields:
        if said in names:
            return said
    for names in fields:
        for name, words in names.items():
            if said in words:
                return name
    for names in fields:
        if near := nearest(said, names):
            return near
    return None


def snake(word: str) -> str:
    """`jobId` and `job-id` as `job_id`."""
    return _HUMP.sub("_", word[:80].strip()).replace("-", "_").lower()


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word that this one is a slip of the pen for, if there is one."""
    import difflib

    close = difflib.get_close_matches(word[:80].lower(), list(words), n=1, cutoff=0.75)
    return next(iter(close), None)


@cache
def _fields_at(kind: type[msgspec.Struct], path: str) -> dict[str, tuple[str, ...]]:
    """The fields of the objects at a path, each with its other words."""
    found: list[Any] = [types.type_info(kind)]
    for step in path.replace("[", ".[").split("."):
        if step:
            found = [inner for one in found for inner in _inside(one, step)]
    return {
        field.encode_name: tuple(_words(field.type))
        for one in found
        for part in _parts(one)
        if isinstance(part, types.StructType)
        for field in part.fields
    }


def _inside(kind: types.Type, step: str) -> Iterator[types.Type]:
    for part in _parts(kind):
        if step.startswith("[") and isinstance(part, types.ListType):
            yield part.item_type
        elif step.startswith("[") and isinstance(part, types.DictType):
            yield part.value_type
        elif isinstance(part, types.StructType):
            yield from (field.type for field in part.fields if field.encode_name == step)


def _parts(kind: types.Type) -> Iterator[types.Type]:
    if isinstance(kind, types.Metadata):
        yield from _parts(kind.type)
    elif isinstance(kind, types.UnionType):
        for one in kind.types:
            yield from _parts(one)
    else:
        yield kind


def _words(kind: types.Type) -> Iterator[str]:
    if isinstance(kind, types.Metadata):
        yield from (kind.extra or {}).get("also", ())
        yield from _words(kind.type)
    elif isinstance(kind, types.UnionType):
        for one in kind.types:
            yield from _words(one)
