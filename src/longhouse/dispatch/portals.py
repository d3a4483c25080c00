"""Turns the envelope of a portal call into a command and its plain arguments.

    {workspace?, op, cmd?, args, budget_profile?, fmt?}

`status` and `open` are flat. Other fields beside `args` count as arguments too, since some clients
flatten them; the answer teaches the right place. The envelope's workspace wins over that in `args`.
An `op` or `cmd` in other words is understood if it means one command of the tool (`meaning.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from longhouse.kernel.budget import UNASKED, Budget
from longhouse.kernel.errors import InvalidInput, LonghouseError, UnknownCmd, UnknownOp
from longhouse.kernel.inputs import check_json
from longhouse.kernel.registry import Command, Registry, portal_named
from longhouse.kernel.schema import Common, decode, decode_plain, split_common, takes
from longhouse.kernel.values import Draft, Request

if TYPE_CHECKING:
    from longhouse.dispatch.meaning import Lesson

__all__ = ["Decoded", "PortalCall", "aim", "kind_named", "plain", "understood", "unwrap"]

_ENVELOPE = frozenset({"workspace", "budget_profile", "fmt"})
_ANYWHERE = _ENVELOPE | {"idempotency_key"}
"""What may stand beside `args` without a word; clients and bridges put their keys there."""
_SELECTS = frozenset({"op", "cmd", "args"})
_KINDS = {"TASK-": "task", "PLAN-": "plan"}


class PortalCall(NamedTuple):
    """What a portal call selects, and what had to be understood for it."""

    command: Command
    args: dict[str, Any]
    lessons: tuple[Lesson, ...] = ()
    blank: bool = False
    """Whether some text is only white space."""


def unwrap(registry: Registry, tool: str, arguments: Any) -> PortalCall:
    """The command and plain arguments of a portal call; they have been looked through."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise InvalidInput('arguments: expected an object; fix: arguments={"op": "call"}')
    blank = check_json(arguments)
    exact = _exact(registry, tool, arguments, blank)
    if exact is not None:
        return exact
    blank = blank or isinstance(arguments.get("args"), str)
    return _unwrapped(registry, tool, dict(arguments))._replace(blank=blank)


def _exact(
    registry: Registry, tool: str, arguments: dict[str, Any], blank: bool
) -> PortalCall | None:
    """A call whose every name is right, with its arguments in `args`; None if it is not that."""
    op, cmd, args = arguments.get("op"), arguments.get("cmd"), arguments.get("args")
    if not isinstance(op, str) or not isinstance(args, dict):
        return None
    if op == "call":
        command = registry.commands.get(cmd) if isinstance(cmd, str) else None
    else:
        command = registry.ops.get((tool, op)) if cmd is None else None
    if command is None or command.portal != tool or command.cmd == tool:
        return None
    beside = {name: item for name, item in arguments.items() if name not in _SELECTS}
    if not beside:
        return PortalCall(command, args, (), blank)
    if not beside.keys() <= _ANYWHERE or not beside.keys().isdisjoint(args):
        return None
    return PortalCall(command, {**beside, **args}, (), blank)


def _unwrapped(registry: Registry, tool: str, envelope: dict[str, Any]) -> PortalCall:
    """The same for any call, also one that is understood only in part."""
    tool = portal_named(tool)
    op, cmd = _text(envelope, "op"), _text(envelope, "cmd")
    if tool in registry.commands:
        return _flat(registry.commands[tool], envelope)
    args, lessons = _inner(envelope)
    if cmd is None and (op or "call").strip().lower() == "call" and _names(registry, tool, args):
        cmd = envelope["cmd"] = args["cmd"]
        args, lessons = _without_cmd(args, lessons)
    try:
        command = registry.route(tool, op, cmd)
    except (UnknownOp, UnknownCmd) as error:
        return _guessed(registry, tool, envelope, args, lessons, error)
    if _selects_by_cmd(command, envelope):
        _same_command(command, envelope.pop("cmd", None))
    envelope.pop("op", None)
    return PortalCall(command, *_joined(command, envelope, args, lessons))


def _guessed(
    registry: Registry,
    tool: str,
    envelope: dict[str, Any],
    args: dict[str, Any],
    lessons: list[Lesson],
    error: LonghouseError,
) -> PortalCall:
    """The call of an op or a cmd that is not ours but means one command; else raises the error."""
    from longhouse.dispatch.choosing import choose, elsewhere, unclear  # only guesses
    from longhouse.dispatch.meaning import Lesson

    op, cmd = (str(envelope.pop(name, None) or "").strip() for name in ("op", "cmd"))
    part, word = ("op", op) if op and op.lower() != "call" else ("cmd", cmd)
    beside = {k: v for k, v in envelope.items() if k not in _ENVELOPE}
    extra = {"cmd": cmd} if part == "op" and cmd else {}
    said = {**extra, **beside, **args}
    found = choose(registry, tool, word, said) if word else None
    if word and (other := elsewhere(registry, tool, found, word, said)):
        command = registry.of(other.request)
        error.suggest = (other,)
        error.hints = ({"kind": "nearest", "field": part, "nearest": command.cmd},)
        error.recovery = f"use {command.where}"
        raise error
    if found is None:
        raise unclear(registry, tool, word, error, said)
    command, given = found
    kept = {k: v for k, v in envelope.items() if k in _ENVELOPE}
    own = {k: v for k, v in given.items() if k not in beside}
    if extra and "cmd" not in command.fields():
        _same_command(command, own.pop("cmd"))
    taught = [*lessons, Lesson(part, f"{part}={word[:80]}", command.how)]
    return PortalCall(command, *_joined(command, {**kept, **beside}, own, taught))


def _names(registry: Registry, tool: str, args: dict[str, Any]) -> bool:
    """Whether `args` names a command of the tool in `cmd`, which belongs beside it."""
    said = args.get("cmd")
    known = registry.known(said.strip().lower()) if isinstance(said, str) else None
    return known is not None and known.portal == tool


def _without_cmd(
    args: dict[str, Any], lessons: list[Lesson]
) -> tuple[dict[str, Any], list[Lesson]]:
    from longhouse.dispatch.meaning import Lesson

    rest = {name: item for name, item in args.items() if name != "cmd"}
    return rest, [*lessons, Lesson("beside", "cmd in args", "beside args")]


def _inner(envelope: dict[str, Any]) -> tuple[dict[str, Any], list[Lesson]]:
    """The object in `args`, also if it was sent as JSON text."""
    args = envelope.pop("args", None)
    if args is None:
        return {}, []
    if isinstance(args, str) and args.lstrip().startswith("{"):
        try:
            args = msgspec.json.decode(args)
        except msgspec.DecodeError:
            args = None
        if isinstance(args, dict):
            from longhouse.dispatch.meaning import Lesson

            check_json(args)
            return args, [Lesson("args", "the text in args", "an object")]
    if not isinstance(args, dict):
        raise InvalidInput('args: expected an object; fix: args={"name": "value"}')
    return args, []


def _joined(
    command: Command, envelope: dict[str, Any], args: dict[str, Any], lessons: list[Lesson]
) -> tuple[dict[str, Any], tuple[Lesson, ...]]:
    """All arguments in one object; those that stood beside `args` are taught to go inside."""
    own = command.fields()
    if "workspace" not in own and envelope.get("workspace") is not None:
        args = {k: v for k, v in args.items() if k != "workspace"}
    for name in envelope.keys() & args.keys():
        if name not in _ENVELOPE and envelope[name] != args[name]:
            raise InvalidInput(
                f"{name[:80]}: stands beside args and inside, with different values",
                recovery=f"give {name[:80]} once, in args",
            )
    beside = sorted(envelope.keys() - _ANYWHERE - (set() if "cmd" not in own else {"cmd"}))
    if not beside:
        return {**envelope, **args}, tuple(lessons)
    from longhouse.dispatch.meaning import Lesson

    taught = [Lesson("beside", f"{name[:80]} beside args", "inside args") for name in beside]
    return {**envelope, **args}, (*lessons, *taught)


def _flat(command: Command, envelope: dict[str, Any]) -> PortalCall:
    """A tool that takes its arguments directly; some clients wrap them all the same."""
    inner = envelope.get("args")
    if not isinstance(inner, dict) or "args" in command.fields():
        return PortalCall(command, envelope)
    from longhouse.dispatch.meaning import Lesson

    outer = {k: v for k, v in envelope.items() if k not in ("args", "op", "cmd")}
    return PortalCall(
        command,
        {**outer, **inner},
        (Lesson("beside", "args", "arguments of the tool itself"),),
    )


def plain(command: Command, arguments: dict[str, Any]) -> dict[str, Any]:
    """A command's arguments in a portal call: those in `args`, and all fields beside it."""
    envelope = dict(arguments)
    if command.cmd == command.portal:
        envelope.pop("op", None), envelope.pop("cmd", None)
        return _flat(command, envelope).args
    args, _ = _inner(envelope)
    if _selects_by_cmd(command, envelope):
        envelope.pop("cmd", None)
    envelope.pop("op", None)
    return _joined(command, envelope, args, [])[0]


def _selects_by_cmd(command: Command, arguments: dict[str, Any]) -> bool:
    """Whether a `cmd` beside `args` selects the command, rather than being its argument."""
    op = str(arguments.get("op") or "call").strip().lower()
    return op == "call" or "cmd" not in command.fields()


def aim(command: Command, args: dict[str, Any]) -> dict[str, Any]:
    """Replace a task command's `target` by the `task` or `plan` that it names."""
    own = command.fields()
    if args.get("target") is None or command.portal != "tasks" or "target" in own:
        return args
    target, rest = args["target"], {k: v for k, v in args.items() if k != "target"}
    wanted = target.get("id") if isinstance(target, dict) else target
    kind = kind_named(wanted)
    if not isinstance(wanted, str) or kind is None or kind not in own:
        ids = " or ".join(p + "001" for p, k in _KINDS.items() if k in own) or "nothing"
        raise InvalidInput(f"target: expected {ids}; fix: target={ids.partition(' ')[0]}")
    if isinstance(target, dict) and (
        target.keys() - {"id", "kind"} or target.get("kind") not in (None, kind)
    ):
        raise InvalidInput(f'target: expected {{"id", "kind"}} of one kind; fix: target={wanted}')
    for name in _KINDS.values():
        if rest.get(name) is not None:
            raise InvalidInput(
                f"target: expected target or {name}, not both; fix: {kind}={wanted}",
                hints=[
                    {
                        "kind": "choose_one",
                        "fields": ["target", name],
                        "options": [
                            {"keep": "target", "drop": name},
                            {"keep": name, "drop": "target"},
                        ],
                    }
                ],
            )
    return {**rest, kind: wanted}


class Decoded(NamedTuple):
    """A call's own arguments, the common ones, the request, and the warning that teaches."""

    own: dict[str, Any]
    common: Common
    budget: Budget
    request: Request
    taught: dict[str, Any] | None = None


def understood(
    command: Command,
    args: dict[str, Any],
    lessons: tuple[Lesson, ...],
    budget_of: Callable[[Command, Common, dict[str, Any]], Budget],
) -> Decoded:
    """The decoded request; other names, units and spellings are understood if one is meant.

    A call that uses them runs only if it reads or adds; else the refusal has the exact call.
    """
    if not lessons and (usual := decode_plain(command, args)) is not None:
        request, common = usual
        if command.writes or common.idempotency_key is None:
            return Decoded(args, common, UNASKED[command.profile], request)
    learned = list(lessons)
    try:
        made = _decoded(command, args, budget_of)
    except InvalidInput as error:
        from longhouse.dispatch.meaning import fit, is_its_name, lowered

        try:
            fitted, more = fit(command, args)
            fitted, low = lowered(command, fitted)
            if fitted == args:
                raise error from None
            made = _decoded(command, fitted, budget_of)
        except InvalidInput as refused:
            for word in (one.said for one in lessons if one.part in ("op", "cmd")):
                if not is_its_name(command, word.partition("=")[2]):
                    refused.message += f" ({word} was taken for {command.cmd})"
            raise
        learned += more
        budget = msgspec.structs.replace(made.budget, lowered=low)
        made = made._replace(budget=budget) if low else made
    if not learned:
        return made
    from longhouse.dispatch.meaning import ask_back, teach

    if not command.may_be_guessed(made.own) and any(one.part != "beside" for one in learned):
        raise ask_back(command, _as_asked(command, made), made.common, learned, made.own)
    return made._replace(taught=teach(command, learned))


def _as_asked(command: Command, made: Decoded) -> Request | Draft:
    """The request with what was lowered as it was asked for; what cannot be asked for is missing.

    An offer holds only what the caller said.
    """
    asked = {name: size for name, size, *_ in (*made.budget.clamped, *made.budget.lowered)}
    over = [name for name in asked if name in made.own]
    if missing := [name for name in over if not takes(command, name, asked[name])]:
        own = {name: item for name, item in made.own.items() if name not in missing}
        return Draft(command.request, own, missing)
    return msgspec.structs.replace(made.request, **{name: asked[name] for name in over})


def _decoded(
    command: Command,
    args: dict[str, Any],
    budget_of: Callable[[Command, Common, dict[str, Any]], Budget],
) -> Decoded:
    own, common = split_common(command, aim(command, args))
    return Decoded(own, common, budget_of(command, common, own), decode(command, own))


def kind_named(item: Any) -> str | None:
    """`task` or `plan`, if this is the id of one."""
    if not isinstance(item, str):
        return None
    return next((kind for prefix, kind in _KINDS.items() if item.startswith(prefix)), None)


def _same_command(command: Command, cmd: Any) -> None:
    if cmd is not None and str(cmd).strip().lower() != command.cmd:
        raise InvalidInput(
            f"cmd: op={command.op} means {command.cmd}, not {str(cmd)[:80]!r}; fix: op=call"
        )


def _text(envelope: dict[str, Any], name: str) -> str | None:
    item = envelope.get(name)
    if item is not None and not isinstance(item, str):
        raise InvalidInput(f"{name}: expected text; fix: {name}=call")
    return item
