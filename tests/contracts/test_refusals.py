"""What every command refuses by its declaration alone: wrong arguments, and roles below its own.

Dispatch refuses all of it before a handler runs, so one database is enough. Most of it happens in
one world for each command, which must be the same afterwards.
"""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.envelope import portal_call
from longhouse.kernel.lines import command_line, parse_command_line
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.schema import args_schema, required_args
from tests.contracts.test_matrix import call, refused, run_new_actions
from tests.contracts.world import example_args
from tests.kit import Lh

WRONG = {"weird": [{"type": 1}]}


@pytest.fixture(scope="module", params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


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


def test_a_missing_argument_is_named(ready: Lh, command: Command) -> None:
    seen: list[Any] = []
    for name in sorted(required_args(command)):
        args = {k: v for k, v in example_args(ready, command).items() if k != name}
        envelope = refused(ready, command, args, "INVALID_INPUT")
        assert envelope["error"]["message"].startswith(f"{name}: expected ")
        assert "(missing)" in envelope["error"]["message"]
        assert envelope["error"]["recovery"]
        lacks = {action["action_id"]: action.get("missing") for action in envelope["actions"]}
        assert lacks[f"recover.schema.get::{command.cmd}"] is None
        assert name in lacks[f"recover.argument::{command.cmd}"]
        run_new_actions(ready, envelope, seen)


@pytest.mark.proves("MEM-295")
def test_a_size_or_a_number_of_rows_over_the_cap_is_accepted_and_the_answer_says_what_was_used(
    ready: Lh, command: Command
) -> None:
    if command.writes:
        return  # an answer to a write is small; its budget is the same code
    knobs = ["max_chars", "context_budget"] + ["max_bytes"] * ("max_bytes" not in command.fields())
    knobs += ["limit"] * ("limit" in command.fields())
    for knob in knobs:
        args = {**example_args(ready, command), knob: 10**9}
        answer = call(ready, command, args)
        assert answer.success, answer.envelope["error"]
        told = [w for w in answer.envelope["warnings"] if w["code"] == "BUDGET_MAX_CLAMPED"]
        assert [one["message"].partition(":")[0] for one in told] == [knob]
        assert told[0]["recovery"]
