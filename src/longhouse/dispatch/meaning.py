"""What a call means that uses other words: which command, which arguments, which values.

Only what has one reading is understood; the rest is refused as it stands. `Lesson`s say what was
understood for what. Reads and additive writes then run and teach; anything else asks back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from longhouse.kernel.names import said_as, snake
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.schema import Common, args_schema, takes
from longhouse.kernel.synonyms import fields_for, values_for
from longhouse.kernel.units import Unclear, measured, unit_of
from longhouse.kernel.values import Request

__all__ = ["Lesson", "ask_back", "choose", "fit", "teach"]

_COMMON = tuple(Common.__struct_fields__)
_IDS = {"TASK-": "task", "PLAN-": "plan"}


class Lesson(NamedTuple):
    """What was said, what it was taken for, and which part of the call it is."""

    part: str
    said: str
    meant: str


def choose(
    registry: Registry, tool: str, word: str, args: Mapping[str, Any]
) -> tuple[Command, dict[str, Any]] | None:
    """The one command of a tool that a word means with these arguments, and what the word adds.

    Of several, it is the one that takes all the arguments, then the one whose name is nearest, that
    lacks the fewest, and that is about the tool's own things; of several left, the only read.
    """
    ranked = []
    for level, command, preset in registry.called(tool, word):
        strange, lacks = _misfit(command, {**preset, **args})
        elsewhere = not command.cmd.startswith(f"{tool}.")
        said_so = elsewhere and word.strip().lower().startswith(f"{tool}.")
        ranked.append(((strange, level, said_so, lacks, elsewhere), command, preset))
    if not ranked:
        return None
    least = min(rank for rank, _, _ in ranked)
    best = [(command, preset) for rank, command, preset in ranked if rank == least]
    if len(best) > 1:
        best = [one for one in best if not one[0].writes]
    if len(best) != 1:
        return None
    command, preset = best[0]
    return command, {**preset, **args}


def _misfit(command: Command, args: Mapping[str, Any]) -> tuple[int, int]:
    """How badly the arguments fit: those that it does not take, and those that it lacks."""
    try:
        fitted, _ = fit(command, dict(args))
        known = {*command.fields(), *_COMMON, "target"}
        strange = sum(name not in known for name in fitted)
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
    lessons: list[Lesson] = []
    for name, value in args.items():
        if value is None:
            made[name] = None
            continue
        if name == "agent_token" and name not in command.fields() and not command.writes:
            lessons.append(Lesson("argument", name, "nothing, as this read needs none"))
            continue
        if (inside := _inside(command, name)) is not None:
            outer, implied = inside
            made[outer] = {**(args.get(outer) or {}), **made.get(outer, {}), name: value}
            made.update({k: v for k, v in implied.items() if k not in args})
            lessons.append(Lesson("argument", name, f"{outer}.{name}"))
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
        return name, _repaired(command, name, value)
    field = _field(command, said, value, args)
    return (field, _repaired(command, field, value)) if field else (name, value)


def _field(command: Command, said: str, value: Any, args: Mapping[str, Any]) -> str | None:
    """The only field that the name can mean, with that value."""
    own = command.fields()
    if said in own or said in _COMMON:
        return said
    kind = next((k for p, k in _IDS.items() if isinstance(value, str) and value.startswith(p)), "")
    declared = said_as(said, command.request)
    if kind in own and kind not in args and (set(declared) & set(_IDS.values()) or said == "id"):
        return kind
    found: list[str] = []
    for names in (declared, [*fields_for(said, own)], said_as(said, Common)):
        free = [one for one in dict.fromkeys(names) if one not in args and not _is_time(one)]
        found += [one for one in free if one in own]
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


def _inside(command: Command, name: str) -> tuple[str, dict[str, Any]] | None:
    if name in command.fields() or name in _COMMON:
        return None
    return _objects(command.request).get(snake(name))


def _repaired(command: Command, name: str, value: Any) -> Any:
    """The value as the field takes it, if it has one reading; else the value itself."""
    if takes(command, name, value):
        return value
    if isinstance(value, list):
        items = [_repaired_item(command, name, item) for item in value]
        return items if takes(command, name, items) else value
    if takes(command, name, [value]):
        return [value]
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lstrip("-").isdigit() and len(text) < 19 and takes(command, name, int(text)):
        return int(text)
    if text.lower() in ("true", "false") and takes(command, name, text.lower() == "true"):
        return text.lower() == "true"
    tries = [*values_for(value, any_case=_has_choices(command, name))]
    good = [one for one in (*tries, *([one] for one in tries)) if takes(command, name, one)]
    return good[0] if len({str(one).lower() for one in good}) == 1 else value


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
def _objects(request: type[msgspec.Struct]) -> dict[str, tuple[str, dict[str, Any]]]:
    """The names that belong inside one of the command's objects, declared with `holds`."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    shape = types.type_info(request)
    for field in getattr(shape, "fields", ()):
        if isinstance(field.type, types.Metadata):
            for name, implied in (field.type.extra or {}).get("holds", {}).items():
                found[name] = field.encode_name, implied
    return found


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
    command: Command, request: Request, common: Common, lessons: list[Lesson]
) -> LonghouseError:
    """The refusal of a call that was understood but is not one to guess: with the exact call."""
    told = ", ".join(dict.fromkeys(f"{one.said[:80]} means {one.meant}" for one in lessons))
    parts = {one.part for one in lessons}
    kind = UnknownOp if "op" in parts else UnknownCmd if "cmd" in parts else InvalidInput
    return kind(
        f"{told}; {command.cmd} changes what is there, so it runs only under its own names",
        recovery=f"if that is what you mean, use {command.how}",
        suggest=[
            Suggestion(
                request,
                "the same call, with the right names",
                action_id=f"recover.argument::{command.cmd}",
                common=msgspec.to_builtins(common),
            )
        ],
        hints=[{"kind": "understood", "field": "op", "nearest": command.cmd}],
    )
