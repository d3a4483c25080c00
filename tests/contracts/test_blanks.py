"""Wherever a text is needed, white space alone is refused: every request type, every depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from longhouse.kernel.blanks import refuse_blanks
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import args_schema
from tests.contracts.conftest import COMMANDS
from tests.kit import Lh

BLANKS = (" ", "  ", "\t", "\n\n", "\u00a0", "\u2003 \r\n")
_DEEP = 5


def texts(
    schema: dict[str, Any], defs: dict[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Every path to a text with a least length and no pattern; `[]` is an item of a list."""
    if len(path) > _DEEP:
        return
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    if schema.get("minLength", 0) >= 1 and "pattern" not in schema:
        yield path
    for name, inner in schema.get("properties", {}).items():
        yield from texts(inner, defs, (*path, name))
    for inner in schema.get("anyOf", ()):
        yield from texts(inner, defs, path)
    if isinstance(schema.get("items"), dict):
        yield from texts(schema["items"], defs, (*path, "[]"))


def placed(path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    inner = placed(path[1:], value)
    return [inner] if path[0] == "[]" else {path[0]: inner}


def paths_of(command: Command) -> list[tuple[str, ...]]:
    schema = args_schema(command)
    return sorted(set(texts(schema, schema.get("$defs", {}))))


def test_the_sweep_sees_texts_at_every_depth() -> None:
    found = {path for command in COMMANDS for path in paths_of(command)}
    assert {("justification",), ("reason",), ("steps", "[]", "title")} <= found
    assert len(found) > 60


def test_a_blank_text_is_refused_wherever_one_is_needed() -> None:
    for command in COMMANDS:
        for path in paths_of(command):
            for blank in BLANKS:
                with pytest.raises(InvalidInput, match="white space") as refused:
                    refuse_blanks(command, placed(path, blank))
                assert str(refused.value).startswith(path[0])
            refuse_blanks(command, placed(path, f" {BLANKS[-1]}x "))


def test_every_command_refuses_a_blank_text(lh: Lh) -> None:
    for command in COMMANDS:
        for path in paths_of(command):
            if path[0] == "workspace" or len(path) > 2:
                continue
            args = {**msgspec.to_builtins(command.example), **placed(path, "  ")}
            answer = lh.house.call(command.cmd, args)
            assert answer.code == "INVALID_INPUT", (command.cmd, path)


@pytest.mark.proves("TTA-039")
def test_two_blanks_are_no_justification(lh: Lh) -> None:
    rule = {"tool": "bash", "pattern": "make *", "pty": True}
    refused = lh.refused("tool.policy_allow", **rule, justification="  ")
    assert (refused["code"], "justification" in refused["message"]) == ("INVALID_INPUT", True)
    assert lh("tool.policy_show")["rules"] == []
    lh("tool.policy_allow", **rule, justification="an installer asks")


def test_a_file_may_be_only_white_space(lh: Lh) -> None:
    made = lh("docs.artifact.add", name="blank.txt", content=" \n")
    assert made["artifact"]["size"] == 2
