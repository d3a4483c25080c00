"""Every command with its example, as lines, and with an id that does not exist.

A command joins by being registered. What its example needs goes into `world.py` of its room.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from longhouse.dispatch import Caller, ClientSession
from longhouse.dispatch.offers import PROGRAMS
from longhouse.kernel.envelope import Answer, portal_call
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.schema import required_args
from tests.contracts.world import example_args, fingerprint, with_known_ids
from tests.kit import Lh

ID = re.compile(r"\A(?:[A-Z]+-[0-9]+|[a-z]+@[0-9]+)\Z")
WORK = {"plans", "tasks", "task_traits", "task_dependencies", "steps", "step_proofs"}


def call(lh: Lh, command: Command, args: dict[str, Any]) -> Answer:
    return lh.house.call(command.cmd, args, Caller(Role.OPERATOR, session=ClientSession()))


def refused(lh: Lh, command: Command, args: dict[str, Any], code: str) -> dict[str, Any]:
    """The envelope of a refusal that wrote nothing."""
    before = fingerprint(lh)
    answer = call(lh, command, args)
    assert answer.code == code, (args, answer.envelope["error"] or answer.envelope["result"])
    assert fingerprint(lh) == before, f"{command.cmd} wrote although it refused"
    return answer.envelope


def run_new_actions(lh: Lh, envelope: dict[str, Any], seen: list[Any]) -> None:
    """Every action runs as given, but for ids no example can know and for secrets, which no action
    repeats; the same one is run once."""
    known = with_known_ids(lh, envelope["actions"])
    fresh = [a for a in known if (a["tool"], a["args"]) not in seen]
    seen += [(a["tool"], a["args"]) for a in fresh]
    lh.run_actions({"actions": fresh})


@pytest.mark.proves("MEM-001", "MEM-184", "OPS-001", "OPS-002")
def test_its_example_succeeds_through_its_portal(ready: Lh, command: Command) -> None:
    before = fingerprint(ready)
    _, arguments = portal_call(ready.house.registry, command.example, {"workspace": "acme"})
    arguments = with_known_ids(ready, arguments)
    caller = Caller(Role.OPERATOR, session=ClientSession())
    answer = ready.house.dispatcher.portal(command.portal, arguments, caller)
    assert answer.success, (
        answer.envelope["error"],
        f"prepare what {command.cmd} needs in tests/{command.room}/world.py",
    )
    assert answer.envelope["intent"] == command.cmd
    assert isinstance(answer.envelope["result"]["truncated"], bool)
    after = fingerprint(ready)
    changed = {name for name, rows in after.items() if rows != before[name]}
    assert command.writes or not changed, f"{command.cmd} is declared as a read"
    if command.cmd != "vcs.branch.delete":
        gone = set(before["doc_entries"]) - set(after["doc_entries"])
        assert not gone, f"{command.cmd} changed what was written"
    if command.cmd.startswith(("agents.", "vcs.")):
        assert not changed & WORK, f"{command.cmd} changed tasks"
    told = answer.envelope["actions"]
    assert told or not command.writes or command.cmd in PROGRAMS, "a write offers what is next"
    ready.run_actions(answer.envelope)


def test_an_unknown_id_is_refused_with_a_way_on(ready: Lh, command: Command) -> None:
    example, known = msgspec.to_builtins(command.example), example_args(ready, command)
    named = {k: v for k, v in example.items() if isinstance(v, str) and ID.match(v)}
    for name in sorted(named.keys() & required_args(command)):
        if named[name].startswith(("TASK-", "PLAN-")) and not _has_work(ready):
            continue  # no room of this house knows which tasks there are
        long = len(named[name]) > 20
        unknown = named[name] if long else re.sub(r"[0-9]+\Z", "987654", named[name])
        envelope = refused(ready, command, {**known, name: unknown}, "UNKNOWN_ID")
        assert envelope["error"]["recovery"]
        run_new_actions(ready, envelope, [])


def _has_work(lh: Lh) -> bool:
    return "tasks.plan.create" in lh.house.registry.commands
