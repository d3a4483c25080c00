"""Help text, generated from the command declarations, as docs/cli.md is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhouse.surfaces.cli.commands import SECTIONS
from longhouse.surfaces.cli.output import Console, wrapped
from longhouse.surfaces.cli.parse import ParsedLine, find
from longhouse.surfaces.cli.spec import GLOBALS, Arg, Command, Flag

__all__ = ["arg_word", "explained", "flag_words", "show_help", "usage"]


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
    yield "  longhouse up        start the server; print its address and how to connect clients"
    yield "  longhouse status    show where you are and the best next action"
    for section, names in SECTIONS.items():
        yield ""
        yield output.style(section, "bold")
        yield from _table([(name, find(name).summary) for name in names], output)
    yield ""
    yield output.style("Global flags, before or after the command", "bold")
    yield from _table([(flag_words(flag), explained(flag)) for flag in GLOBALS], output)
    yield ""
    yield "Run `longhouse COMMAND --help` for details. All global flags except --json, --help and"
    yield "--version can also be set in the environment (LONGHOUSE_DIR, …) and, except --dir, in"
    yield "~/.config/longhouse/config.toml. To upgrade or uninstall: `longhouse docs operations`."


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
        ("Arguments", [(arg_word(arg), explained(arg)) for arg in command.args]),
        ("Flags", [(flag_words(flag), explained(flag)) for flag in command.flags]),
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
    yield "Global flags: longhouse --help"


def explained(own: Arg | Flag) -> str:
    """Its help, with its choices: `how urgent (low, high; default: low)`."""
    if not own.choices:
        return own.help
    text, default, rest = own.help.partition(" (default: ")
    return f"{text} ({', '.join(own.choices)}" + (f"; default: {rest}" if default else ")")


def _table(rows: Sequence[tuple[str, str]], output: Console) -> Iterator[str]:
    width = max(len(left) for left, _ in rows)
    for left, right in rows:
        yield f"  {left:<{width}}  {wrapped(right, output.width, ' ' * (width + 4))}"
