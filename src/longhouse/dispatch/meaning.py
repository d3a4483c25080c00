"""What arguments mean that use other words: which fields, which values, which units.

Only what has one reading is understood; the rest is refused as it stands. `Lesson`s say what was
understood for what. Reads and additive writes then run and teach; anything else asks back. Which
command is meant is decided in `choosing.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as types

from longhouse.kernel.errors import (
    InvalidInput,
    LonghouseError,
    Suggestion,
    UnknownCmd,
    UnknownOp,
)
from longhouse.kernel.names import HAS_A_NAME, is_id, plain_name, said_as, snake
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import Common, args_schema, required_args, takes
from longhouse.kernel.synonyms import fields_for, is_plural, values_for
from longhouse.kernel.units import Unclear, measured, unit_of
from longhouse.kernel.values import Draft, Request

__all__ = [
    "Lesson",
    "ask_back",
    "fit",
    "is_id",
    "is_its_name",
    "lowered",
    "misfit",
    "takes_ids",
    "teach",
]

_COMMON = tuple(Common.__struct_fields__)
_IDS = {"TASK-": "task", "PLAN-": "plan"}
_KINDS = frozenset({"TASK", "PLAN", "JOB", "PROC"})
_SHOWN_ID = re.compile(r'"([A-Z]{3,4})-001"')
_TEXTS = frozenset({"title", "text", "note", "prompt", "message", "content", "body", "description"})
_ANY_NAME = frozenset({"id", "name", "target", "ref", "item", "object"})
"""Names that say nothing of what is named; an id does."""
_SHORT_ID = re.compile(r"(?:(?P<kind>[A-Za-z]{2,9})[-_ ]?)?#?(?P<number>[0-9]{1,12})")
_ID_PATTERN = re.compile(r"\\A([A-Z]{2,9})-(?:\(\?:)?\[0-9\]\{3")


_YES_NO = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_THOUSANDS = re.compile(r"([0-9]{1,9})k", re.IGNORECASE)


class Lesson(NamedTuple):
    """What was said, what it was taken for, and which part of the call it is."""

    part: str
    said: str
    meant: str


def misfit(command: Command, args: Mapping[str, Any]) -> tuple[int, int]:
    """How badly the arguments fit: those that it does not take, and those that it lacks."""
    try:
        fitted, _ = fit(command, dict(args))
        known = {*command.fields(), *_COMMON, "target"}
        strange = sum(name not in known for name in fitted)
        strange += sum(_is_of_another_kind(command, name, one) for name, one in fitted.items())
        wrong = sum(
            name in known and not takes(command, name, value) for name, value in fitted.items()
        )
        lacks = sum(
            field.required and field.encode_name not in fitted
            for field in msgspec.structs.fields(command.request)
        )
    except LonghouseError:
        return 1, 0
    return strange + wrong, lacks


def fit(command: Command, args: dict[str, Any]) -> tuple[dict[str, Any], list[Lesson]]:
    """The arguments under the command's own names and in its own units and choices.

    What has no single reading stays as it is, for decoding to refuse.
    """
    if all(name in command.fields() and takes(command, name, args[name]) for name in args):
        return args, []
    made: dict[str, Any] = {}
    args, lessons = _composed(command, args)
    for name, value in args.items():
        if value is None:
            made[name] = None
            continue
        if name == "agent_token" and name not in command.fields() and not command.writes:
            lessons.append(Lesson("argument", name, "nothing, as this read needs none"))
            continue
        if (inside := _inside(command, name, value)) is not None:
            outer, inner, implied = inside
            made[outer] = {**(args.get(outer) or {}), **made.get(outer, {}), inner: value}
            made.update({k: v for k, v in implied.items() if k not in args})
            lessons.append(Lesson("argument", name, f"{outer}.{inner}"))
            continue
        field, item = _understood(command, name, value, args)
        if field in made or (field != name and field in args):
            raise InvalidInput(
                f"{name}: it means {field}, which is given too",
                recovery=f"give only {field}",
                hints=[{"kind": "choose_one", "fields": [field, name]}],
            )
        made[field] = item
        if field != name:
            lessons.append(Lesson("argument", name, field))
        elif item != value and not _same_choice(item, value):
            lessons.append(Lesson("value", _shown(name, value), _shown(field, item)))
    return made, lessons


def lowered(
    command: Command, args: dict[str, Any]
) -> tuple[dict[str, Any], tuple[tuple[str, int, int], ...]]:
    """The arguments with counts over the most that the command takes lowered to it, and those."""
    over: list[tuple[str, int, int]] = []
    for name, item in args.items():
        most = _most(command, name) if _is_count(command, name) else None
        if type(item) is int and most is not None and item > most:
            over.append((name, item, most))
    return {**args, **{name: most for name, _, most in over}}, tuple(over)


def _is_count(command: Command, name: str) -> bool:
    """Whether an argument says only how much of the answer is wanted."""
    if name == "limit" or name.endswith("_limit") or name.startswith("limit_"):
        return True
    return not command.writes and ("lines" in name or "bytes" in name or name.startswith("max_"))


def _most(command: Command, name: str) -> int | None:
    field = args_schema(command)["properties"].get(name, {})
    return next((one["maximum"] for one in field.get("anyOf", [field]) if "maximum" in one), None)


def _composed(command: Command, args: dict[str, Any]) -> tuple[dict[str, Any], list[Lesson]]:
    """The arguments with the parts of one object, given beside each other, put into it."""
    for field, words in _parts(command.request).items():
        parts = {name: words[said] for name in args if (said := snake(name)) in words}
        parts = {n: part for n, part in parts.items() if n not in command.fields()}
        parts = {n: part for n, part in parts.items() if not (is_id(args[n]) and part in _TEXTS)}
        if field in args or len(parts) < 2 or len({*parts.values()}) < len(parts):
            continue
        made = {part: args[name] for name, part in parts.items()}
        lessons = [Lesson("argument", n, f"{field}.{part}") for n, part in parts.items()]
        return {**{k: v for k, v in args.items() if k not in parts}, field: made}, lessons
    return args, []


def _understood(
    command: Command, name: str, value: Any, args: Mapping[str, Any]
) -> tuple[str, Any]:
    own = command.fields()
    said = snake(name)
    known = name in own or name in _COMMON or (name == "target" and {"task", "plan"} & {*own})
    try:
        if said != name and unit_of(said) and said in own:
            return said, value
        bare = found.stem if (found := unit_of(said)) else said
        others = [*said_as(said, command.request), *said_as(bare, command.request)]
        stems = [found.stem for one in others if (found := unit_of(one))]
        asks = not known or isinstance(value, str)
        if asks and (made := measured(said, value, own, stems)):
            return made.field, made.value
    except Unclear as unclear:
        raise InvalidInput(
            unclear.message,
            recovery=unclear.recovery,
            hints=[{"kind": "unit", "field": name[:120], "nearest": unclear.field}],
        ) from None
    if known:
        fixed = _repaired(command, name, value, said)
        if takes(command, name, fixed) is not False:
            return name, fixed
        other = _other(command, said, value, args)
        return (other, _repaired(command, other, value, said)) if other else (name, fixed)
    field = _field(command, said, value, args)
    if field is None:
        return name, value
    fixed = _repaired(command, field, value, said)
    if not takes(command, field, fixed) and (other := _other(command, field, value, args)):
        return other, value
    return field, fixed


def _other(command: Command, said: str, value: Any, args: Mapping[str, Any]) -> str | None:
    """The only field left for a value which the field of that name does not take."""
    kind = next((k for p, k in _IDS.items() if isinstance(value, str) and value.startswith(p)), "")
    if kind in command.fields() and kind not in args:
        return kind
    required = required_args(command) - {*args}
    fitting = [one for one in fields_for(said, required) if takes(command, one, value)]
    return fitting[0] if len(fitting) == 1 else None


def _field(command: Command, said: str, value: Any, args: Mapping[str, Any]) -> str | None:
    """The only field that the name can mean, with that value."""
    own = command.fields()
    if said in own or said in _COMMON:
        return said
    kind = next((k for p, k in _IDS.items() if isinstance(value, str) and value.startswith(p)), "")
    declared = said_as(said, command.request)
    if kind in own and kind not in args and (set(declared) & set(_IDS.values()) or said == "id"):
        return kind
    if said in _ANY_NAME and isinstance(value, str) and value.partition("-")[2]:
        own = tuple(one for one in own if one not in command.writes_with)
        named = [one for one in own if _kind_of_id(command, one) == value.partition("-")[0]]
        if len(named) == 1 and named[0] not in args:
            return named[0]
    found: list[str] = []
    for names in (declared, [*fields_for(said, own)], said_as(said, Common)):
        free = [one for one in dict.fromkeys(names) if one not in args and not _is_time(one)]
        free = [one for one in free if not (is_id(value) and _is_text(command, one))]
        free = [one for one in free if one not in command.writes_with]  # never by a guess
        free = [one for one in free if not (is_id(value) and one in HAS_A_NAME)]
        own_words = {*declared, said.removesuffix("_id")}
        found += [o for o in free if o in own_words and _may_be_wrong(command, o, value)]
        fitting = [one for one in free if takes(command, one, _repaired(command, one, value))]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return None
    return found[0] if len(set(found)) == 1 else None


def _is_time(name: str) -> bool:
    """Whether a field takes only what `measured` has converted."""
    found = unit_of(name)
    return found is not None and found.kind == "time"


def _inside(command: Command, name: str, value: Any) -> tuple[str, str, dict[str, Any]] | None:
    if name in command.fields() or name in _COMMON:
        return None
    said = snake(name) + ("[]" if isinstance(value, list) else "")
    return _objects(command.request).get(said) or _objects(command.request).get(snake(name))


def _may_be_wrong(command: Command, name: str, value: Any) -> bool:
    """Whether a value that the field does not take may be meant for it nevertheless."""
    if isinstance(value, dict):
        return False
    chosen = _has_choices(command, name) or _kind_of_id(command, name) is not None
    return chosen or is_id(value) or not isinstance(value, str)


def _is_text(command: Command, name: str) -> bool:
    """Whether a field holds what somebody writes, and no id of something."""
    return name in _parts(command.request) or name.rpartition("_")[2] in _TEXTS


def _repaired(command: Command, name: str, value: Any, said: str = "") -> Any:
    """The value as the field takes it, if it has one reading; else the value itself."""
    if takes(command, name, value):
        return value
    if isinstance(value, list):
        items = [_repaired_item(command, name, item) for item in value]
        if takes(command, name, items):
            return items
        alone = len(value) == 1 and (is_plural(said) or not _is_text(command, name))
        only = _repaired(command, name, value[0], said) if alone else None
        return only if only is not None and takes(command, name, only) else value
    if said != "pid" and (found := _written_out(command, name, value)):
        return found
    if takes(command, name, [value]):
        return [value]
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lstrip("-").isdigit() and len(text) < 19 and takes(command, name, int(text)):
        return int(text)
    if (said_so := _YES_NO.get(text.lower())) is not None and takes(command, name, said_so):
        return said_so
    if (thousands := _THOUSANDS.fullmatch(text)) and takes(command, name, 1):
        return int(thousands[1]) * 1000
    parts = [one.strip() for one in text.split(",")]
    if len(parts) > 1 and all(is_id(one) for one in parts):
        return parts if takes(command, name, parts) else value
    tries = [*values_for(value, any_case=_has_choices(command, name))]
    good = [one for one in (*tries, *([one] for one in tries)) if takes(command, name, one)]
    return good[0] if len({str(one).lower() for one in good}) == 1 else value


def _written_out(command: Command, name: str, value: Any) -> str | None:
    """The id that `task-1`, `#1` or `1` stands for, where only ids of one kind are taken."""
    short = _SHORT_ID.fullmatch(str(value)) if isinstance(value, str | int) else None
    kind = _kind_of_id(command, name)
    if not short or not kind or (short["kind"] or kind).upper() != kind:
        return None
    whole = f"{kind}-{int(short['number']):03d}"
    return whole if takes(command, name, whole) else None


def _is_of_another_kind(command: Command, name: str, value: Any) -> bool:
    """Whether this is the id of a task, say, where the ids of processes are taken."""
    if not isinstance(value, str) or not (kind := _SHORT_ID.fullmatch(value)):
        return False
    return bool(kind["kind"]) and kind["kind"].upper() in _KINDS - {*_kinds_shown(command, name)}


def takes_ids(command: Command, args: Mapping[str, Any]) -> bool:
    """Whether every id among the arguments stands where ids of its kind are taken."""
    return all(
        item.partition("-")[0] in (_kind_of_id(command, name), *_kinds_written(command, name))
        for name, item in args.items()
        if is_id(item)
    )


@cache
def _kinds_shown(command: Command, name: str) -> frozenset[str]:
    return _kinds_written(command, name) or _KINDS


@cache
def _kinds_written(command: Command, name: str) -> frozenset[str]:
    field = args_schema(command)["properties"].get(name, {})
    return frozenset(_SHOWN_ID.findall(msgspec.json.encode(field).decode()))


@cache
def _kind_of_id(command: Command, name: str) -> str | None:
    field = msgspec.json.encode(args_schema(command)["properties"].get(name, {})).decode()
    kinds = set(_ID_PATTERN.findall(field))
    return kinds.pop() if len(kinds) == 1 else None


def _repaired_item(command: Command, name: str, item: Any) -> Any:
    if not isinstance(item, str) or takes(command, name, [item]):
        return item
    tries = values_for(item, any_case=_has_choices(command, name))
    good = [one for one in tries if takes(command, name, [one])]
    return good[0] if len({one.lower() for one in good}) == 1 else item


@cache
def _has_choices(command: Command, name: str) -> bool:
    field = args_schema(command)["properties"].get(name, {})
    return '"enum"' in msgspec.json.encode(field).decode()


@cache
def _objects(request: type[msgspec.Struct]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """The names that belong inside one of the command's objects, declared with `holds`."""
    return {
        name: (field, given.get("", name), {k: v for k, v in given.items() if k})
        for field, names in _declared(request, "holds")
        for name, given in names.items()
    }


@cache
def _parts(request: type[msgspec.Struct]) -> dict[str, dict[str, str]]:
    """The words for the parts of each of the command's objects, declared with `made_of`."""
    return dict(_declared(request, "made_of"))


def _declared(request: type[msgspec.Struct], what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for field in getattr(types.type_info(request), "fields", ()):
        extra = field.type.extra if isinstance(field.type, types.Metadata) else None
        if extra and extra.get(what):
            yield field.encode_name, extra[what]


def _same_choice(item: Any, value: Any) -> bool:
    """Whether two values differ only in how they are written."""
    return isinstance(value, str) and str(item).lower() == value.strip().lower().replace("-", "_")


def _shown(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"{name}={text[:60]}"


def teach(command: Command, lessons: Iterable[Lesson]) -> dict[str, Any]:
    """The warning of a call that was understood and carried out."""
    told = dict.fromkeys(f"{one.said[:80]} as {one.meant}" for one in lessons)
    return {
        "code": "UNDERSTOOD",
        "message": f"understood {', '.join(told)}",
        "recovery": f"next time: the tool {command.portal!r} with {command.how}"
        + (" and its arguments in args" if command.cmd != command.portal else ""),
    }


def ask_back(
    command: Command,
    request: Request | Draft,
    common: Common,
    lessons: list[Lesson],
    said: Mapping[str, Any],
) -> LonghouseError:
    """The refusal of a call that was understood but is not one to guess: with the exact call."""
    told = ", ".join(dict.fromkeys(f"{one.said[:80]} means {one.meant}" for one in lessons))
    parts = {one.part for one in lessons}
    kind = UnknownOp if "op" in parts else UnknownCmd if "cmd" in parts else InvalidInput
    if "task" in command.fields() and said in ({}, *command.also.values()):
        offered: Request | Draft = Draft(command.request, dict(said), ["task"])
        why = "the same call; name the task"  # a bare word names nothing to change
    else:
        offered, why = request, "the same call, with the right names"
    return kind(
        f"{told}; {command.cmd} changes what is there, so it runs only under its own names",
        recovery=f"if that is what you mean, use {command.how}",
        suggest=[
            Suggestion(
                offered,
                why,
                action_id=f"recover.argument::{command.cmd}",
                common=msgspec.to_builtins(common),
            )
        ],
        hints=[{"kind": "understood", "field": "op", "nearest": command.cmd}],
    )


def is_its_name(command: Command, word: str) -> bool:
    """Whether a word is the command's own name, if in another spelling."""
    return plain_name(word) in (command.cmd, plain_name(command.cmd.partition(".")[2]))
