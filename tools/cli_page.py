"""Writes docs/cli.md from the declarations of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longhouse.surfaces.cli.commands import SECTIONS
from longhouse.surfaces.cli.help import arg_word, explained, flag_words, usage
from longhouse.surfaces.cli.parse import find
from longhouse.surfaces.cli.spec import GLOBALS, Arg, Command, Flag

INTRODUCTION = """\
# The command line

<!-- Made by `python -m tools.commands` from the declarations in surfaces/cli. -->

`longhouse`, or `lh` for short. A command uses the store's server if one is running, and opens the
store itself otherwise; the result is the same.

- With `--json`, every command prints one line, `{"ok", "command", "data", "error"}`.
  `longhouse call` prints the response envelope instead.
- The exit code is 0 if `ok` is true. Otherwise it names the kind of error: 2 the command line is
  wrong, 3 something does not exist, 4 the current state does not allow it, 5 you are not allowed
  to, 6 the store failed, 7 the server cannot be reached, 70 a bug in Longhouse, 74 the output
  could not be written, for example because the disk is full. Commands that check or wait for
  something exit with 1 if the answer is no.
- Output is colored only on a terminal, and never if `NO_COLOR` is set.
"""


def cli_page() -> str:
    return "\n".join(_page()).rstrip() + "\n"


def _page() -> Iterator[str]:
    yield INTRODUCTION
    yield "## Global flags"
    yield ""
    yield "They may come before or after the command. Most can also be set in the environment or in"
    yield "a settings file; a flag overrides the environment, which overrides the files. See"
    yield "[Settings](operations.md#settings)."
    yield ""
    yield "| flag | environment | meaning |"
    yield "| --- | --- | --- |"
    for flag in GLOBALS:
        variable = f"`{flag.variable}`" if flag.variable else ""
        yield f"| `{flag_words(flag)}` | {variable} | {_meaning(flag)} |"
    for section, names in SECTIONS.items():
        yield ""
        yield f"## {section}"
        for name in names:
            yield from _command([name], find(name))


def _command(path: list[str], command: Command) -> Iterator[str]:
    yield ""
    yield f"### `longhouse {' '.join(path)}`"
    yield ""
    yield command.summary + "."
    if command.details:
        yield ""
        yield command.details
    yield ""
    yield from _block([usage(path, command)])
    yield from _rows("argument", ((arg_word(arg), arg) for arg in command.args))
    yield from _rows("flag", ((flag_words(flag), flag) for flag in command.flags))
    if command.examples:
        yield ""
        yield from _block(command.examples)
    for child in command.children:
        yield from _command([*path, child.name], child)


def _block(lines: Iterable[str]) -> Iterator[str]:
    yield "```sh"
    yield from lines
    yield "```"


def _rows(title: str, rows: Iterable[tuple[str, Arg | Flag]]) -> Iterator[str]:
    lines = [f"| `{words}` | {_meaning(item)} |" for words, item in rows]
    if lines:
        yield ""
        yield f"| {title} | meaning |"
        yield "| --- | --- |"
        yield from lines


def _meaning(item: Arg | Flag) -> str:
    return explained(item).replace("|", "\\|")
