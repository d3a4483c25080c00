"""Nothing secret is recorded: no free text of any command of this room reaches a table in clear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from longhouse.kernel.registry import Command
from longhouse.kernel.schema import own_schema
from tests.contracts.conftest import COMMANDS
from tests.contracts.world import fingerprint, prepare
from tests.kit import Lh
from tests.processes.kit import allow, spawned

SECRET = "ghp_" + "Zk3vQ9xW1bT7yR5mL8pN2cD4fG6hJ0sA3u5X"
WRITES = [one for one in COMMANDS if one.room == "processes" and one.writes]


def texts(command: Command) -> Iterator[str]:
    """The arguments that take any text."""
    for name, schema in own_schema(command)["properties"].items():
        for one in (schema, *schema.get("anyOf", ())):
            if one.get("type") == "string" and not {"pattern", "enum"} & one.keys():
                yield name


def leaks(lh: Lh) -> list[str]:
    return [name for name, rows in fingerprint(lh).items() if SECRET in str(rows)]


CASES = [
    (command, name, near)
    for command in WRITES
    for name in texts(command)
    if not name.endswith("_b64")
    for near in ("{}", "it is {}, so")
]


@pytest.mark.parametrize(
    "command, name, near", CASES, ids=lambda one: getattr(one, "cmd", str(one))
)
def test_no_argument_leaves_a_secret_behind(lh: Lh, command: Command, name: str, near: str) -> None:
    allow(lh)
    lh("agents.register", name="amber-otter")
    prepare(lh, command.cmd)
    args: dict[str, Any] = msgspec.to_builtins(command.example)
    lh.house.call(command.cmd, {**args, name: near.format(SECRET)})
    assert leaks(lh) == []


def test_the_sweep_covers_the_free_texts_of_the_room() -> None:
    found = {(command.cmd, name) for command, name, _ in CASES}
    assert found >= {
        ("tool.task_spawn", "title"),
        ("tool.task_spawn", "tool"),
        ("tool.task_spawn", "origin_session_id"),
        ("tool.task_spawn", "step"),
        ("tool.task_cancel", "reason"),
        ("tool.policy_allow", "pattern"),
        ("tool.policy_allow", "justification"),
        ("tool.wakeup_add", "message"),
    }


def test_a_title_and_a_reason_are_kept_without_the_secret(lh: Lh) -> None:
    task = spawned(lh, title=f"deploy with {SECRET}")
    shown = lh("tool.task_status", task_id=task)["task"]
    assert shown["title"].startswith("deploy with ")
    ended = lh("tool.task_cancel", task_id=task, reason=f"{SECRET} leaked")["task"]
    assert ended["cancel_reason"].endswith(" leaked")
    assert leaks(lh) == []


def test_a_refused_spawn_leaves_no_secret_in_its_record(lh: Lh) -> None:
    args = {"command": f"curl -H 'Authorization: Bearer {SECRET}' x"}
    lh.refused("tool.task_spawn", tool="bash", args=args, title=SECRET)
    lh.refused("tool.task_spawn", tool=SECRET, title="x")
    assert leaks(lh) == []


def test_a_secret_in_a_rules_pattern_or_a_tasks_name_is_refused(lh: Lh) -> None:
    refused = lh.refused("tool.policy_allow", tool="bash", pattern=f"curl {SECRET}")
    assert (refused["code"], refused["message"].partition(":")[0]) == ("INVALID_INPUT", "pattern")
    allow(lh)
    named = "sk-" + "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d2e3f4"
    args = {"tool": "bash", "args": {"command": "make"}}
    lh.refused("tool.task_spawn", **args, name=named)
    assert named not in str(fingerprint(lh))
