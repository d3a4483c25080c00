"""Help, made from the declarations; docs/cli.md is made from the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhouse.surfaces.cli.commands import SECTIONS
from longhouse.surfaces.cli.output import Console, wrapped
from longhouse.surfaces.cli.parse import ParsedLine, find
from longhouse.surfaces.cli.spec import GLOBALS, Arg, Command, Flag

__all__ = ["arg_word", "flag_words", "show_help", "usage"]


def show_help(line: ParsedLine, output: Console) -> None:
    made = _overview(output) if line.command is None else _command(line.path, line.command, output)
    for text in made:
        output.line(text)


def usage(path: Sequence[str], command: Command) -> str:
    words = ["longhouse", *path]
    if command.children:
        words.append("[COMMAND]" if command.run else "COMMAND")
    words += [arg_word(arg) for arg in command.args]
    return " ".join([*words, "[flags]"])


def arg_word(arg: Arg) -> str:
    word = arg.name.upper() + ("..." if arg.many else "")
    return word if arg.required else f"[{word}]"


def flag_words(flag: Flag) -> str:
    name = f"--[no-]{flag.name}" if flag.negatable else f"--{flag.name}"
    return (f"-{flag.short}, " if flag.short else "") + f"{name} {flag.value}".rstrip()


def _overview(output: Console) -> Iterator[str]:
    yield "Longhouse: one durable roof for a team of coding agents and the people who lead them."
    yield ""
    yield "  longhouse up        start, and print the address and how to connect a client"
    yield "  longhouse status    where am I, and what is the best next action"
    for section, names in SECTIONS.items():
        yield ""
        yield output.style(section, "bold")
        yield from _table([(name, find(name).summary) for name in names], output)
    yield ""
    yield output.style("Flags, before or after a command", "bold")
    yield from _table([(flag_words(flag), _explained(flag)) for flag in GLOBALS], output)
    yield ""
    yield "`longhouse COMMAND --help` tells more. Every flag but the last two can stand in the"
    yield "environment (LONGHOUSE_DIR, …) or in ~/.config/longhouse/config.toml."


def _command(path: Sequence[str], command: Command, output: Console) -> Iterator[str]:
    yield command.summary + "."
    yield ""
    yield f"  {usage(path, command)}"
    if command.details:
        yield ""
        for text in command.details.strip().splitlines():
            yield wrapped(text, output.width, "")
    for title, rows in (
        ("Commands", [(child.name, child.summary) for child in command.children]),
        ("Arguments", [(arg_word(arg), arg.help) for arg in command.args]),
        ("Flags", [(flag_words(flag), _explained(flag)) for flag in command.flags]),
    ):
        if rows:
            yield ""
            yield output.style(title, "bold")
            yield from _table(rows, output)
    if command.examples:
        yield ""
        yield output.style("Examples", "bold")
        yield from (f"  {example}" for example in command.examples)
    yield ""
    yield "Flags that every command takes: longhouse --help"


def _explained(flag: Flag) -> str:
    return flag.help + (f" ({', '.join(flag.choices)})" if flag.choices else "")


def _table(rows: Sequence[tuple[str, str]], output: Console) -> Iterator[str]:
    width = max(len(left) for left, _ in rows)
    for left, right in rows:
        yield f"  {left:<{width}}  {wrapped(right, output.width, ' ' * (width + 4))}"
