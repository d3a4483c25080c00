"""A long random run: whatever a command of the registry offers, runs as it stands.

Commands come in any order with their examples, so many are refused; what a refusal offers runs too.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from longhouse.dispatch import Caller, ClientSession
from longhouse.kernel.registry import Command, Role
from tests.contracts.world import build_world, example_args, with_known_ids
from tests.kit import WAITING, Lh, at_once, runnable

CALLS = 400
NOT_HERE = {
    "jobs.runner.start": "it starts a process",
    "system.token.create": "tokens are shown once",
    "think.context.pack.export": "it writes a file",
}


def commands(lh: Lh) -> list[Command]:
    return [one for one in lh.house.registry if one.cmd not in NOT_HERE]


def offered(lh: Lh, envelope: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = with_known_ids(lh, runnable(envelope))
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_action_that_any_command_offers_runs(lh: Lh, seed: int) -> None:
    choice = random.Random(seed)
    build_world(lh)
    caller = Caller(Role.OPERATOR, session=ClientSession())
    known, ran = commands(lh), 0
    for _ in range(CALLS):
        command = choice.choice(known)
        args = example_args(lh, command)
        if command.cmd in WAITING:
            args["timeout_ms"] = 0
        answer = lh.house.dispatcher.call(command.cmd, args, caller)
        wrote = False
        for action in offered(lh, answer.envelope):
            if action["args"].get("cmd") in NOT_HERE or action["args"].get("op") == "runner.start":
                continue
            follow = lh.house.dispatcher.portal(action["tool"], at_once(action), caller)
            moved = wrote and follow.status in (404, 409)  # an alternative was taken before
            assert follow.success or moved, (command.cmd, action, follow.envelope["error"])
            wrote = wrote or action["risk"] != "none"
            ran += 1
    assert ran > CALLS // 3, "answers offer next to nothing"
