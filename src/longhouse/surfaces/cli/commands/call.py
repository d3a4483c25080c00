"""`longhouse call`: call any registry command and print the whole answer."""

from __future__ import annotations

import json
import sys
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.surfaces.cli.context import Cli
from longhouse.surfaces.cli.spec import Arg, Command


def run(cli: Cli, cmd: str, args: list[str]) -> int:
    outcome = cli.ask(cmd, arguments(args))
    if outcome.envelope is not None and cli.out.for_people and not cli.as_json:
        cli.out.json(outcome.envelope, pretty=True)
    else:
        cli.out.data(outcome.text)
    return outcome.error.exit_code if outcome.error else 0


def arguments(words: list[str]) -> dict[str, Any]:
    """One JSON object, `-` for the same from stdin, or `key=value` pairs."""
    if len(words) == 1 and (words[0] == "-" or words[0].lstrip().startswith("{")):
        try:
            given = json.loads(sys.stdin.read() if words[0] == "-" else words[0])
        except ValueError as error:
            raise InvalidInput(f"args: not valid JSON: {error}", recovery=EXAMPLE) from None
        if not isinstance(given, dict):
            raise InvalidInput("args: expected a JSON object", recovery=EXAMPLE)
        return given
    return dict(pair(word) for word in words)


def pair(word: str) -> tuple[str, Any]:
    """`limit=5` is a number and `title=Look` a string: a value that parses as JSON is JSON."""
    name, equals, text = word.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidInput(f"args: {word!r} is neither JSON nor name=value", recovery=EXAMPLE)
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


EXAMPLE = """longhouse call docs.show '{"doc_kind": "notes"}'"""

command = Command(
    "call",
    "Call any command and print its whole answer",
    args=[
        Arg("cmd", "the command, such as docs.show; system.cmd.list lists them all"),
        Arg("args", "a JSON object, name=value pairs, or - for JSON from stdin", False, True),
    ],
    run=run,
    details="""\
The answer is the response envelope: indented on a terminal, on one line in a pipe; with
fmt=lines it is plain lines. In name=value, a value that parses as JSON is taken as JSON: limit=5 is
a number and title=Look a string; write a string of digits as title='"5"'.""",
    examples=[
        "longhouse call status",
        EXAMPLE,
        "longhouse call vcs.notes.commit content='The index was missing.' title=Cause",
        "longhouse call jobs.create - < job.json",
        "longhouse call system.schema.get cmd=jobs.create",
    ],
)
