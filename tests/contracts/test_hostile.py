"""Hostile values for every argument of every command: a typed error or a success, never more."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longhouse.dispatch import Caller
from longhouse.kernel.registry import PORTALS, Command, Role
from tests.contracts.test_matrix import call
from tests.contracts.world import Changes, example_args
from tests.kit import Lh

TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "\x1b[31m",
    "\r\n\t\x0b",
    "\u2028",
    "\u202e",
    "💥" * 9,
    "'; DROP TABLE log; --",
    '" OR 1=1 --',
    "$(rm -rf /)",
    "`id`",
    "../../etc/passwd",
    "%s%n{}",
    "{{7*7}}",
    "<script>",
    "null",
    "NaN",
    "-1",
    "1e309",
    "JOB-",
    "JOB-000",
    "TASK-1" + "0" * 30,
    "notes@",
    "@1",
    "a" * 300,
    "JOB-001\n",
    "main",
    "a:b",
    ":ws",
    "?",
    "%",
    "x" * 500_000,
    "x" * 1_000_000,
)
NUMBERS = (
    *(0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 10**40, -(2**63)),
    *(float("nan"), float("inf"), -0.0, 1e308, True, False, None),
)
deep: Any = []
for _ in range(500):
    deep = [deep]
NESTED: tuple[Any, ...] = (
    *([], {}, [[]], [{}], {"": ""}, {"id": "TASK-001"}, [None] * 40, deep),
    *(b"bytes", object(), (1, 2), {1: 2}),
)
hostile = st.sampled_from((*TEXTS, *NUMBERS, *NESTED)) | st.text(max_size=30)
CALLS = 30
"""Hostile calls of each command; the same in every run."""
COMMON = (
    "workspace",
    "agent_id",
    "max_chars",
    "max_lines",
    "fmt",
    "budget_profile",
    "idempotency_key",
    "no_such",
)


def hostile_arguments(choice: random.Random, command: Command) -> dict[str, Any]:
    """One to three arguments of this command with hostile values."""
    names = (*command.fields(), *COMMON)
    return {choice.choice(names): hostile_value(choice) for _ in range(choice.randint(1, 3))}


def hostile_value(choice: random.Random) -> Any:
    """A text most of the time; else a number, a nesting, or something that is not JSON."""
    kind = choice.randrange(9)
    if kind <= 3:
        return choice.choice(TEXTS)
    if kind == 4:
        return "".join(chr(choice.randrange(0x11_0000)) for _ in range(choice.randrange(30)))
    if kind == 5:
        return [choice.choice(TEXTS) for _ in range(choice.randrange(4))]
    if kind == 6:
        return {choice.choice(TEXTS): choice.choice(TEXTS) for _ in range(choice.randrange(4))}
    return choice.choice(NUMBERS if kind == 7 else NESTED)


def test_no_value_breaks_a_command_or_leaves_half_a_write(ready: Lh, command: Command) -> None:
    choice = random.Random(command.cmd)
    changes = Changes(ready)
    for _ in range(CALLS):
        args = example_args(ready, command) | hostile_arguments(choice, command)
        answer = call(ready, command, args)
        assert answer.code not in ("INTERNAL_ERROR", "STORE_ERROR"), (args, answer.envelope)
        assert answer.body()
        changed = changes.seen()
        if not answer.success:
            about_commands = command.cmd == "system.schema.get"
            assert about_commands or answer.code not in ("UNKNOWN_CMD", "UNKNOWN_TOOL")
            assert not changed, args


ENVELOPE = ("op", "cmd", "args", "workspace", "view", "fmt", "budget_profile", "x")
anything = st.recursive(
    hostile, lambda inner: st.dictionaries(st.text(max_size=6), inner, max_size=3)
)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    tool=st.sampled_from((*PORTALS, *TEXTS)) | st.text(max_size=20),
    envelope=st.fixed_dictionaries({}, optional=dict.fromkeys(ENVELOPE, anything)) | anything,
)
def test_no_envelope_breaks_a_portal(world: Lh, tool: str, envelope: Any) -> None:
    changes = Changes(world)
    dispatcher = world.house.dispatcher
    answer = dispatcher.portal(tool, envelope, Caller(Role.OPERATOR))
    assert answer.code not in ("INTERNAL_ERROR", "STORE_ERROR"), answer.envelope["error"]
    assert answer.body()
    if not answer.success:
        assert not changes.seen()


@pytest.mark.parametrize("field", ["claim_revision", "message", "runner_id", "job"])
def test_a_lone_surrogate_is_refused_and_offered_to_nobody(lh: Lh, field: str) -> None:
    given = {"job": "JOB-001", "runner_id": "r1", "claim_revision": 1, "message": "m"}
    answer = lh.house.call("jobs.question", {**given, field: "\ud800"})
    assert answer.code == "INVALID_INPUT"
    assert answer.body(), "which can be encoded"
