"""The JSON schema of every command: closed, self-contained, with all its arguments."""

from __future__ import annotations

import pytest

from longhouse.house import registry
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import args_schema, common_args

COMMANDS = tuple(registry())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.cmd)
def test_a_schema_says_what_a_command_takes_and_nothing_else(command: Command) -> None:
    schema = args_schema(command)
    assert schema.keys() <= {"type", "properties", "required", "additionalProperties", "$defs"}
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert set(schema.get("required", ())) <= schema["properties"].keys()
    takes_one = command.needs_workspace or "workspace" in command.fields()
    assert ("workspace" in schema["properties"]) is takes_one
    may_write = command.writes or bool(command.writes_with)
    assert ("idempotency_key" in schema["properties"]) is may_write


def test_an_argument_of_its_own_is_not_told_as_a_common_one() -> None:
    told = {command.cmd: set(common_args(command)) for command in COMMANDS}
    assert all(told[command.cmd].isdisjoint(command.fields()) for command in COMMANDS)
    assert all("fmt" in told[command.cmd] for command in COMMANDS if "fmt" not in command.fields())


def test_a_command_about_a_task_takes_it_as_target_too() -> None:
    about = [one for one in COMMANDS if one.portal == "tasks" and "task" in one.fields()]
    own = [one for one in about if "target" in one.fields()]
    assert 0 < len(own) < len(about)
    for one in about:
        target = args_schema(one)["properties"]["target"]
        assert one in own or target["type"] == ["string", "object"], one.cmd


def test_no_other_command_takes_a_target_unless_it_declares_one() -> None:
    for one in COMMANDS:
        about = one.portal == "tasks" and bool({"task", "plan"} & set(one.fields()))
        if not about and "target" not in one.fields():
            assert "target" not in args_schema(one)["properties"], one.cmd
