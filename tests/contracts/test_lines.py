"""`fmt=lines` of every command, read or write, follows the protocol and says what its JSON holds.

It names each ref, id and title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from longhouse.kernel.lines import one_line
from longhouse.kernel.registry import Command
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args
from tests.kit import Lh

APART = {
    "system.schema.get": ("args_schema",),  # names of types; the lines list the arguments
    "tasks.resume.super": ("records",),  # what the facts, which are the lines, are drawn from
    "think.pack": ("capsule.next", "engine.actions[].calls"),  # calls are lines to paste
    "think.watch": ("capsule.next", "engine.actions[].calls"),
    "think.context.pack": ("capsule.next", "engine.actions[].calls"),
}
"""Parts of an answer that its lines leave out on purpose."""


def subjects(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each ref, id and title in a result, with where it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            at = f"{path}.{key}" if path else key
            if key in ("ref", "id", "title") and isinstance(inner, str) and inner.strip():
                yield at, inner
            else:
                yield from subjects(inner, at)
    elif isinstance(value, list):
        for inner in value:
            yield from subjects(inner, f"{path}[]")


def missing(result: dict[str, Any], text: str) -> list[tuple[str, str]]:
    said = text.replace('\\"', '"')
    return [
        (at, one)
        for at, one in subjects(result)
        if one_line(one)[:24].replace("|", "¦") not in said
    ]


def test_its_lines_follow_the_protocol_and_name_what_the_json_is_about(
    ready: Lh, command: Command
) -> None:
    answer = call(ready, command, {**example_args(ready, command), "fmt": "lines"})
    assert answer.success
    assert answer.text
    lines = answer.text.split("\n")
    assert all(line == line.strip() and line for line in lines)
    assert not any(line.startswith(("{", "[")) for line in lines)
    tags = {line.partition(":")[0] for line in lines if re.match(r"[A-Z]+: ", line)}
    assert tags <= {"ERROR", "WARNING", "MORE", "REFERENCE", "CMD", "WATERMARK"}
    apart = APART.get(command.cmd, ())
    lost = [
        (at, one)
        for at, one in missing(answer.envelope["result"], answer.text)
        if not (apart and at.startswith(apart))
    ]
    assert not lost, f"LOST {command.cmd} {sorted({at for at, _ in lost})}"
