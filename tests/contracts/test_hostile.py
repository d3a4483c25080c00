"""Hostile values for every argument of every command: a typed error or a success, never more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longhouse.dispatch import Caller
from longhouse.kernel.registry import PORTALS, Command, Role
from tests.contracts.test_matrix import call
from tests.contracts.world import example_args, fingerprint
from tests.kit import Lh

hostile_texts = st.sampled_from(
    [
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
    ]
)
deep: Any = []
for _ in range(500):
    deep = [deep]
hostile = st.one_of(
    hostile_texts,
    st.text(max_size=30),
    st.integers(1, 2).map(lambda half: "x" * (half * 500_000)),
    st.sampled_from([0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 10**40, -(2**63)]),
    st.sampled_from([float("nan"), float("inf"), -0.0, 1e308, True, False, None]),
    st.sampled_from([[], {}, [[]], [{}], {"": ""}, {"id": "TASK-001"}, [None] * 40, deep]),
    st.sampled_from([b"bytes", object(), (1, 2), {1: 2}]),
    st.lists(hostile_texts, max_size=3),
    st.dictionaries(hostile_texts, hostile_texts, max_size=3),
)
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


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_value_breaks_a_command_or_leaves_half_a_write(
    ready: Lh, command: Command, data: st.DataObject
) -> None:
    names = st.sampled_from((*command.fields(), *COMMON))
    args: dict[str, Any] = {**example_args(ready, command)}
    args.update(data.draw(st.dictionaries(names, hostile, min_size=1, max_size=3)))
    before = fingerprint(ready)
    answer = call(ready, command, args)
    assert answer.code not in ("INTERNAL_ERROR", "STORE_ERROR"), answer.envelope["error"]
    assert answer.body()
    if not answer.success:
        assert answer.code not in ("UNKNOWN_CMD", "UNKNOWN_TOOL")
        assert fingerprint(ready) == before


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
    tool=st.sampled_from(PORTALS) | st.text(max_size=20) | hostile_texts,
    envelope=st.fixed_dictionaries({}, optional=dict.fromkeys(ENVELOPE, anything)) | anything,
)
def test_no_envelope_breaks_a_portal(world: Lh, tool: str, envelope: Any) -> None:
    before = fingerprint(world)
    dispatcher = world.house.dispatcher
    answer = dispatcher.portal(tool, envelope, Caller(Role.OPERATOR))
    assert answer.code not in ("INTERNAL_ERROR", "STORE_ERROR"), answer.envelope["error"]
    assert answer.body()
    if not answer.success:
        assert fingerprint(world) == before


@pytest.mark.parametrize("field", ["claim_revision", "message", "runner_id", "job"])
def test_a_lone_surrogate_is_refused_and_offered_to_nobody(lh: Lh, field: str) -> None:
    given = {"job": "JOB-001", "runner_id": "r1", "claim_revision": 1, "message": "m"}
    answer = lh.house.call("jobs.question", {**given, field: "\ud800"})
    assert answer.code == "INVALID_INPUT"
    assert answer.body(), "which can be encoded"
