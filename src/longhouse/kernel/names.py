"""The names of tools, commands and fields, and the wrong names that callers try for them.

A field declares such words in its type, `Annotated[Text, also("text", "body")]`; a command, with
`also=`, where `word:field=value` adds an argument that the word implies. A read or an additive
write is carried out under such a word and teaches the right name; any other call is refused, with
the exact call. Other words are compared with the known names by spelling, for the refusal only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import Meta
from msgspec import inspect as types

from longhouse.kernel.errors import UnknownTool

__all__ = [
    "HAS_A_NAME",
    "PORTALS",
    "also",
    "field_meant",
    "holds",
    "is_id",
    "made_of",
    "nearest",
    "other_names",
    "plain_name",
    "portal_named",
    "portal_of",
    "said_as",
    "snake",
    "spaced",
]

PORTALS = (
    "status",
    "open",
    "workspace",
    "tasks",
    "jobs",
    "think",
    "graph",
    "vcs",
    "docs",
    "system",
)
"""The ten MCP tools, in the order a new user meets them."""

_PORTAL_OF_FAMILY = {"agents": "workspace", "tool": "jobs"}


def plain_name(name: str) -> str:
    """The name in our spelling: `tasks_macro_start` becomes `tasks.macro.start`."""
    return re.sub(r"[^a-z0-9]+", ".", name[:128].strip().lower()).strip(".")


def other_names(cmd: str, words: str) -> dict[str, dict[str, Any]]:
    """The full names in `words`, and what each implies: `cancel:status=CANCELED`.

    A word without a dot belongs to the command's own family; `.help` is said in every tool; `word~`
    means this command only if no other by that word takes the arguments.
    """
    family, dot, _ = cmd.partition(".")
    made: dict[str, dict[str, Any]] = {}
    for word in words.split():
        name, _, implied = word.partition(":")
        field, _, value = implied.partition("=")
        whole = name.lstrip(".") if "." in name or not dot else f"{family}.{name}"
        made[whole] = {field: {"true": True, "false": False}.get(value, value)} if field else {}
    return made


def portal_of(cmd: str) -> str:
    """The portal that serves this command: usually named like the command's family."""
    family = cmd.partition(".")[0]
    return _PORTAL_OF_FAMILY.get(family, family)


def portal_named(tool: str) -> str:
    """The portal that a tool name refers to, without any server name a client puts before it."""
    name = tool.rpartition("/")[2]
    for prefix in ("longhouse.", "lh.", "branchmind.", "bm."):
        name = name.removeprefix(prefix)
    if name in PORTALS:
        return name
    near, family = nearest(name, PORTALS), name.partition(".")[0]
    recovery = "look up the new name with system.migration.lookup"
    if behind := _PORTAL_OF_FAMILY.get(family):
        recovery = f"{family}.* are commands of the tool {behind!r}: op=call cmd={family}.…"
    elif near:
        recovery += f", or use {near!r}"
    raise UnknownTool(
        f"there is no tool {tool[:80]!r}; the tools are {', '.join(PORTALS)}",
        recovery=recovery,
        name=name[:128],
    )


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STEP = re.compile(r"\[[^\[\]]*\]|[^.\[]+")
"""One step of a path in msgspec's notation: `files[0].path`, or `by_name[...].path` for a map."""


HAS_A_NAME = frozenset({"branch", "doc", "agent", "assignee", "anchor"})
"""Fields for things that have a name, and no id."""
_ANY_ID = re.compile(r"[A-Z]{2,9}-[A-Z0-9]{1,15}|[\w.-]{1,40}@[0-9]{1,16}")


def is_id(value: Any) -> bool:
    """Whether a value names a record, and so is not the text or the name of one."""
    return isinstance(value, str) and _ANY_ID.fullmatch(value) is not None


def also(*words: str) -> Meta:
    """Other words that callers use for this field."""
    return Meta(extra={"also": words})


def holds(**names: dict[str, Any]) -> Meta:
    """Names that belong inside this object, each with the arguments that it implies.

    `cmd={"": "command"}` stands inside the object as `command`; `cmd[]` is said of a list.
    """
    return Meta(extra={"holds": names})


def made_of(**parts: str) -> Meta:
    """The parts of this object, each with the other words for it.

    Where two of them stand beside each other in its place, they are the object.
    """
    return Meta(
        extra={"made_of": {w: k for k, words in parts.items() for w in (k, *words.split())}}
    )


def field_meant(word: str, path: str, *kinds: type[msgspec.Struct]) -> str | None:
    """The field that a word probably means in the objects at this path; earlier kinds win."""
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
    return spaced(word).replace("-", "_").lower()


def spaced(word: str) -> str:
    """`TodoWrite` as `Todo_Write`."""
    return _HUMP.sub("_", word[:80].strip())


def said_as(word: str, kind: type[msgspec.Struct]) -> list[str]:
    """The fields whose declared other words include this one."""
    return [name for name, words in _fields_at(kind, "").items() if word in words]


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word that this one is a typo for: one or two slips away, and no other as near.

    A word that has a meaning of its own is no typo.
    """
    said = word[:80].lower()
    from longhouse.kernel.synonyms import VOCABULARY

    if said in VOCABULARY or len(said) < 3:
        return None
    most = 1 if len(said) < 7 else 2
    near = sorted((slips(said, one.lower(), most), one) for one in dict.fromkeys(words))
    near = [one for one in near if one[0] <= most]
    if not near or (len(near) > 1 and near[0][0] == near[1][0]):
        return None
    return near[0][1]


def slips(one: str, other: str, most: int) -> int:
    """How many letters were added, left out, changed or swapped, if not more than `most`."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


@cache
def _fields_at(kind: type[msgspec.Struct], path: str) -> dict[str, tuple[str, ...]]:
    """The fields of the objects at a path, each with the words declared by `also`."""
    found: list[Any] = [types.type_info(kind)]
    for step in _STEP.findall(path):
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
