"""Parses words into a command and its values. Flags may come before or after the command name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.commands import NAMES, SYNONYMS
from longhouse.surfaces.cli.spec import GLOBALS, Arg, Command, Flag

if TYPE_CHECKING:
    from longhouse.surfaces.cli.context import Cli

__all__ = ["ParsedLine", "every_command", "find", "parse"]


class ParsedLine:
    """A command line, parsed as far as it could be."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.command: Command | None = None
        self.values: dict[str, Any] = {}
        self.globals: dict[str, Any] = {}
        self.cli: Cli | None = None

    @property
    def name(self) -> str:
        return " ".join(self.path)


def find(name: str) -> Command:
    """The declaration of a command; only its own module is imported."""
    if name not in NAMES:
        raise InvalidInput(
            f"unknown command {name!r}" + _meant(name),
            recovery="`longhouse --help` lists the commands; `longhouse call` reaches all others",
        )
    module = importlib.import_module(f"longhouse.surfaces.cli.commands.{name.replace('-', '_')}")
    command: Command = module.command
    return command


def every_command() -> Iterator[tuple[str, Command]]:
    """Each command with its path, each group before its members."""
    for name in NAMES:
        yield from _below(name, find(name))


def _below(path: str, command: Command) -> Iterator[tuple[str, Command]]:
    yield path, command
    for child in command.children:
        yield from _below(f"{path} {child.name}", child)


def parse(argv: Sequence[str], line: ParsedLine) -> None:
    """Fill `line` from the words; on an error it still holds everything parsed before it."""
    words = list(argv)
    plain: list[str] = []
    flags = _table(GLOBALS)
    while words:
        word = words.pop(0)
        if word == "--":
            plain += words
            break
        if word.startswith("-") and word != "-":
            _take_flag(word, words, flags, line)
        elif line.command is None:
            word = SYNONYMS.get(word, word)
            line.path.append(word)
            line.command = find(word)
            flags.update(_table(line.command.flags))
        elif line.command.children:
            line.command = _child(line, word)
            flags.update(_table(line.command.flags))
        else:
            plain.append(word)
    if line.command is not None and not line.globals.get("help"):
        if line.command.children and line.command.run is None:
            offered = ", ".join(child.name for child in line.command.children)
            raise InvalidInput(
                f"{line.name}: name a command: {offered}",
                recovery=f"longhouse {line.name} --help",
            )
        _take_args(plain, line.command.args, line)


def _child(line: ParsedLine, word: str) -> Command:
    assert line.command is not None
    child = line.command.child(word)
    if child is None:
        from longhouse.surfaces.cli.meaning import meant

        known = [one.name for one in line.command.children]
        raise InvalidInput(
            f"{line.name}: unknown command {word!r}"
            + meant(word, line.command.children, line.name),
            recovery=f"use one of: {', '.join(known)}",
        )
    line.path.append(word)
    return child


def _table(flags: Iterable[Flag]) -> dict[str, Flag]:
    table = {}
    for flag in flags:
        table[f"--{flag.name}"] = flag
        if flag.short:
            table[f"-{flag.short}"] = flag
        if flag.negatable:
            table[f"--no-{flag.name}"] = flag
    return table


def _take_flag(word: str, words: list[str], flags: dict[str, Flag], line: ParsedLine) -> None:
    name, equals, given = word.partition("=")
    flag = flags.get(name)
    if flag is None:
        raise InvalidInput(
            f"unknown flag {name}" + _near(name, flags),
            recovery=f"see `longhouse {line.name} --help`".replace("  ", " "),
        )
    target = line.globals if flag in GLOBALS else line.values
    if not flag.value:
        if equals:
            raise InvalidInput(f"{name} takes no value", recovery=f"use {name} alone")
        target[flag.key] = not name.startswith("--no-")
        return
    if not equals:
        if not words:
            raise InvalidInput(f"{name} needs a value", recovery=f"{name} {flag.value}")
        given = words.pop(0)
    _choice(name, given, flag.choices)
    value: Any = given
    if flag.kind is int:
        value = _number(name, given, flag.value)
    if flag.many:
        target.setdefault(flag.key, []).append(value)
    else:
        target[flag.key] = value


def _number(name: str, given: str, label: str) -> int:
    """A whole number, or a time such as `30s` in the unit of the flag's label."""
    if given.lstrip("-").isdigit():
        return int(given)
    unit, said = _TIMES.get(label.lower()), _TIME.fullmatch(given.strip().lower())
    if unit is not None and said is not None:
        amount, rest = divmod(int(said[1]) * _TIMES[said[2]], unit)
        if not rest:
            return amount
    raise InvalidInput(f"{name}: {given!r} is not a number", recovery=f"{name} {label}")


_TIME = re.compile(r"([0-9]{1,9}) ?(ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)")
_TIMES = {
    **dict.fromkeys(("ms",), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}


def _take_args(plain: list[str], args: Sequence[Arg], line: ParsedLine) -> None:
    for arg in args:
        if arg.many:
            line.values[arg.name], plain = plain, []
            missing = arg.required and not line.values[arg.name]
        elif plain:
            line.values[arg.name] = plain.pop(0)
            _choice(arg.name.upper(), line.values[arg.name], arg.choices)
            missing = False
        else:
            missing = arg.required
        if missing:
            raise InvalidInput(
                f"{line.name}: {arg.name.upper()} is missing: {arg.help}",
                recovery=f"longhouse {line.name} --help",
            )
    if plain:
        raise InvalidInput(
            f"{line.name}: unexpected argument {plain[0]!r}",
            recovery=f"longhouse {line.name} --help",
        )


def _choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    if choices and given not in choices:
        say = name if name.startswith("-") else "use"
        raise InvalidInput(
            f"{name}: {given!r} is not one of {', '.join(choices)}", recovery=f"{say} {choices[0]}"
        )


def _meant(name: str) -> str:
    from longhouse.surfaces.cli.meaning import meant

    return meant(name, [find(one) for one in NAMES])


def _near(word: str, words: Iterable[str]) -> str:
    """`; did you mean …?` if a known flag is close, or the only one of the same meaning."""
    import difflib

    from longhouse.kernel.synonyms import fields_for

    known = {one.lstrip("-").replace("-", "_"): one for one in words}
    bare = word.lstrip("-").replace("-", "_")  # the dashes must not make names look similar
    near = difflib.get_close_matches(bare, known, n=1, cutoff=0.6)
    near = near or [*fields_for(bare, known)]
    return f"; did you mean {known[near[0]]!r}?" if len(near) == 1 else ""
