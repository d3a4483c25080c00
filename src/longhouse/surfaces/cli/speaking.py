"""Turns calls that the registry suggests into command lines that a person can paste.

`said.json` maps calls to our commands; `python -m tools.commands` writes it from the declarations.
A call that no command covers, or with an argument that the command does not take, becomes
`longhouse call`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.surfaces.cli.clients import spoken
from longhouse.surfaces.cli.output import wrapped
from longhouse.surfaces.cli.parse import ParsedLine, find, parse
from longhouse.surfaces.cli.spec import Arg, Command, Flag

if TYPE_CHECKING:
    from longhouse.surfaces.cli.context import Cli

__all__ = [
    "SAID",
    "command_line",
    "in_our_words",
    "in_prose",
    "next_lines",
    "said_of",
    "why_it_waits",
]

SAID = Path(__file__).with_name("said.json")
_QUOTED = r"""(?<![\w\\])'(?:[^'\\\n]|\\.)*'|(?<!\\)"(?:[^"\\\n]|\\.)*\""""
_CALL = re.compile(rf"{_QUOTED}|(?<![\w.`-])[a-z]+(?:\.[a-z_]+)+(?![\w*])")
_FIELD = re.compile(r"(\w+)(: .*)", re.DOTALL)
_GIVEN = re.compile(r"(\w+)=(.+)", re.DOTALL)
_PAIR = re.compile(r"(?<![\w.\"'-])([a-z_]+)=([\w-]+)(?![\w.=…\"'])")
_ID = re.compile(r"\w+: expected an id like ([A-Z]+)-\d.*")
_LISTS = {
    "JOB": "jobs.list",
    "PLAN": "tasks.context",
    "PROC": "tool.task_list",
    "TASK": "tasks.context",
}
"""The calls that list what ids with these prefixes name."""


def said_of(commands: Iterator[tuple[str, Command]]) -> str:
    """The JSON table from each call to the first command declared for it."""
    table: dict[str, str] = {}
    for path, command in commands:
        if command.calls:
            table.setdefault(command.calls, path)
        for call, words in command.also.items():
            table.setdefault(call, f"{path} {words}")
    return json.dumps(table, indent=1, sort_keys=True) + "\n"


def command_line(action: Mapping[str, Any], cli: Cli | None) -> str | None:
    """A portal call as a line to paste into this shell; None if there is no such line.

    What is missing in an action is missing in its line too; whoever prints the line says so.
    """
    call = dict(action["args"])
    workspace, args = call.pop("workspace", None), call.pop("args", None)
    op, cmd = call.pop("op", "call"), call.pop("cmd", None)
    if args is None:
        cmd, args = action["tool"], call
    elif cmd is None:
        from longhouse.house import registry

        try:
            cmd = registry().route(action["tool"], op, None).cmd
        except InvalidInput:
            return None
    elsewhere = workspace and not (cli and workspace == cli.settings.workspace)
    where = ["--workspace", workspace] if elsewhere else []
    words = _unfinished(cmd, args, where, action.get("missing") or ())
    words = words or _own_words(cmd, args, where) or ["call", cmd, *_pairs(args), *where]
    return f"{spoken()} {shlex.join(words)}"


def next_lines(cli: Cli, actions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The first action as a command line, with the reason below it."""
    if actions and (text := command_line(actions[0], cli)):
        yield f"next: {text}"
        indent = " " * 6
        lacks = actions[0].get("missing")
        why = f"{actions[0]['why']}; add {', '.join(lacks)}" if lacks else actions[0]["why"]
        yield cli.out.style(indent + wrapped(in_prose(why), cli.out.width, indent), "dim")


def in_our_words(error: LonghouseError, line: ParsedLine) -> tuple[str, str | None]:
    """An error's message and fix, with flags in place of fields and command lines of calls."""
    fix = error.recovery
    message = error.message.removesuffix(f"; fix: {fix}")  # printed on its own line
    if (wanted := _ID.fullmatch(message)) and wanted[1] in _LISTS:
        fix = f"copy an id from {_LISTS[wanted[1]]}"  # the one in the message may not exist
    about = _FIELD.fullmatch(message)
    if about and (own := _own(line.command, about[1])):
        message = _written(own) + about[2]
    if fix:
        given = _GIVEN.fullmatch(fix)
        own = _own(line.command, given[1]) if given else None
        filled = _pasted(_filled(own, given[2], line)) if own and given else None
        fix = filled or _as_flags(in_prose(fix), line.command)
    return _as_flags(message, line.command), fix


def _as_flags(text: str, command: Command | None) -> str:
    """A sentence with the command's flags in place of the arguments that it names with values."""

    def said(found: re.Match[str]) -> str:
        own = _own(command, found[1])
        if not isinstance(own, Flag) or not (own.value or found[2] == "true"):
            return found[0]
        return f"{_written(own)} {found[2]}" if own.value else _written(own)

    return _PAIR.sub(said, text)


def in_prose(text: str) -> str:
    """A sentence with command lines in place of the calls it names; quoted text stays."""
    return _pasted(_CALL.sub(_said, text))


def why_it_waits(waiting: Mapping[str, Any]) -> str:
    """Why a job waits, and what would help."""
    fix = waiting.get("fix")
    why = str(waiting.get("why") or waiting["code"])
    return in_prose(f"{why}; fix: {fix}" if fix else why)


def _pasted(text: str) -> str:
    program = spoken()
    if program == "longhouse":
        return text
    return re.sub(r"(?<![\w/.-])longhouse (?=[a-z-])", f"{program} ", text)


_HOLE = "\N{FULL BLOCK}"


def _unfinished(
    cmd: str, args: Mapping[str, Any], where: list[str], missing: Sequence[str]
) -> list[str] | None:
    """One of our commands without what is missing, so that it is refused if it is run as it is."""
    words = _own_words(cmd, {**args, **dict.fromkeys(missing, _HOLE)}, where) if missing else None
    if words is None or any(word.startswith("--") for word in words):
        return None
    return [word for word in words if word != _HOLE]


def _own_words(cmd: str, args: Mapping[str, Any], where: list[str]) -> list[str] | None:
    """The call as one of our commands, if that can express all of it."""
    said = _table().get(cmd, "").split()
    if not said:
        return None
    path = [word for word in said if word.islower() and word.isalpha()]
    command = _at(path)
    if path != said and command.values_of is None:
        return _filled_in(said, args, where)
    words: list[str] = []
    flags: list[str] = []
    left = {name: value for name, value in args.items() if name not in command.finds}
    if command.values_of:
        try:
            left = dict(command.values_of(left))
        except (LonghouseError, TypeError, ValueError, AttributeError, LookupError):
            return None  # the arguments do not have the expected shape
    for arg in command.args:
        value = next((left.pop(name) for name in _names(arg) if left.get(name) is not None), None)
        given: list[Any] = value if arg.many and isinstance(value, list) else [value]
        if all(isinstance(word, str) for word in given) and (given or not arg.required):
            words += given
        elif value is not None or arg.required:
            return None
        elif len(command.args) > 1:
            break
    for flag in command.flags:
        value = left.pop(_names(flag)[0], None)
        given = value if flag.many and isinstance(value, list) else [value]
        if not all(isinstance(one, str | int | float | None) for one in given):
            return None
        flags += [word for one in given for word in _flag_words(flag, one)]
    flags += where
    dashed = any(word.startswith("-") for word in words)
    line = [*path, *flags, "--", *words] if dashed else [*path, *words, *flags]
    return line if not left and _reads_back(line) else None


def _names(own: Arg | Flag) -> tuple[str, ...]:
    """The arguments of the call that an argument or flag sets."""
    if isinstance(own, Flag):
        return (own.field or own.key,)
    return (own.field or own.name, *own.others)


def _pairs(args: Mapping[str, Any]) -> list[str]:
    """The arguments of `longhouse call` in their shortest form: pairs, or else JSON."""
    from longhouse.surfaces.cli.commands.call import arguments

    pairs = [
        f"{name}={one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)}"
        for name, one in args.items()
    ]
    try:
        if arguments(pairs) == args:
            return pairs
    except LonghouseError:
        pass
    return [json.dumps(args, ensure_ascii=False)]


def _filled_in(said: list[str], args: Mapping[str, Any], where: list[str]) -> list[str] | None:
    """`branch NAME --delete` with the name in its place."""
    left = dict(args)
    words = [left.pop(word.lower(), None) if word.isupper() else word for word in said]
    if left or not all(isinstance(word, str) for word in words):
        return None
    words += where
    return words if _reads_back(words) else None


def _flag_words(flag: Flag, value: Any) -> list[str]:
    if value is None:
        return []
    if flag.value:
        return [f"--{flag.name}", str(value)]
    return [f"--{flag.name}"] if value is True else [f"--no-{flag.name}"]


def _reads_back(words: list[str]) -> bool:
    try:
        parse(words, ParsedLine())
    except LonghouseError:
        return False
    return True


def _said(found: re.Match[str]) -> str:
    """The command line for a call named in a sentence; quoted text is left alone."""
    if found[0] not in _known():
        return found[0]
    takes_more = found.string[found.end() :].lstrip().partition("=")[0].isidentifier()
    path = _table().get(found[0])
    return f"longhouse {path}" if path and not takes_more else f"longhouse call {found[0]}"


def _own(command: Command | None, field: str) -> Arg | Flag | None:
    """The argument or flag of a command that sets this field of its call."""
    if command is None:
        return None
    known: list[tuple[Arg | Flag, str]] = [(arg, arg.name) for arg in command.args]
    known += [(flag, flag.key) for flag in command.flags]
    return next((own for own, name in known if field in (name, *_names(own))), None)


def _written(own: Arg | Flag) -> str:
    return own.name.upper() if isinstance(own, Arg) else f"--{own.name}"


def _filled(own: Arg | Flag, text: str, line: ParsedLine) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    said = value if isinstance(value, str) else json.dumps(value)
    if isinstance(own, Arg):
        return f"longhouse {line.name} {shlex.quote(said)}"
    return f"--{own.name} {shlex.quote(said)}" if own.value else f"--{own.name}"


def _at(path: list[str]) -> Command:
    command = find(path[0])
    for name in path[1:]:
        command = command.child(name) or command
    return command


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = json.loads(SAID.read_text(encoding="utf-8"))
    return table


@cache
def _known() -> frozenset[str]:
    from longhouse.sparse import MANIFEST

    return frozenset(json.loads(MANIFEST.read_text(encoding="utf-8"))["commands"])
