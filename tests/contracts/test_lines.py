"""`fmt=lines` of every command says what its JSON is about: each ref, id and title."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from longhouse.kernel.lines import one_line
from longhouse.kernel.registry import Command
from tests.contracts.conftest import COMMANDS
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args
from tests.kit import Lh

READS = [command for command in COMMANDS if not command.writes]


@pytest.fixture(scope="module", params=READS, ids=lambda command: command.cmd)
def command(request: pytest.FixtureRequest) -> Command:
    found: Command = request.param
    return found


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


def test_lines_name_what_the_json_is_about(untouched: Lh, command: Command) -> None:
    args = {**example_args(untouched, command), "budget_profile": "audit"}
    whole = call(untouched, command, args)
    lines = call(untouched, command, {**args, "fmt": "lines"})
    assert whole.success
    assert lines.text is not None
    apart = APART.get(command.cmd, ())
    lost = [
        (at, one)
        for at, one in missing(whole.envelope["result"], lines.text)
        if not (apart and at.startswith(apart))
    ]
    assert not lost, f"LOST {command.cmd} {sorted({at for at, _ in lost})}"
