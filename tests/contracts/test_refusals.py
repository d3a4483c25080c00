"""What every command refuses by its declaration alone: wrong arguments, and roles below its own.

All of it in one world for each command, which must be the same afterwards.
"""

from __future__ import annotations

from typing import Any

from longhouse.dispatch import Caller
from longhouse.kernel.envelope import portal_call
from longhouse.kernel.lines import command_line, parse_command_line
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.schema import args_schema
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args
from tests.kit import Lh

WRONG = {"weird": [{"type": 1}]}


def test_its_example_is_pasted_back_as_the_same_call(untouched: Lh, command: Command) -> None:
    dispatcher = untouched.house.dispatcher
    _, arguments = portal_call(untouched.house.registry, command.example, {})
    line = command_line(command.portal, arguments, default_workspace="acme")
    assert dispatcher.call_portal(*parse_command_line(line)) == dispatcher.call_portal(
        command.portal, arguments
    )


def test_a_wrong_typed_argument_is_named(untouched: Lh, command: Command) -> None:
    schema, args = args_schema(command), example_args(untouched, command)
    for name in command.fields():
        prop = schema["properties"][name]
        kinds = {o.get("type") for o in (prop, *prop.get("anyOf", []))}
        wrong: Any = 7 if "object" in kinds or "$ref" in str(prop) else WRONG
        if not prop.keys() & {"type", "anyOf", "enum", "$ref"}:
            continue  # takes any JSON value
        answer = call(untouched, command, {**args, name: wrong})
        assert answer.code == "INVALID_INPUT", (name, answer.envelope)
        assert name in answer.envelope["error"]["message"].partition(": ")[0]


def test_an_unknown_argument_is_refused(untouched: Lh, command: Command) -> None:
    args = {**example_args(untouched, command), "no_such_argument": 1}
    answer = call(untouched, command, args)
    assert answer.code == "INVALID_INPUT", answer.envelope
    assert "no_such_argument: unknown argument" in answer.envelope["error"]["message"]


def test_no_one_below_its_role_may_call_it(untouched: Lh, command: Command) -> None:
    args = example_args(untouched, command)
    for role in Role:
        if role < command.role:
            assert untouched.house.call(command.cmd, args, Caller(role)).code == "FORBIDDEN"
