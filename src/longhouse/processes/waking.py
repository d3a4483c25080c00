"""Applies wake-up rules when a task ends; without a rule of the operator, no one is notified.

A rule is applied in the transaction that writes the last frame of a task, so it is applied exactly
once, whatever crashes or is retried, and never to a recording. It only writes a message; the agent
or job decides what to do with it. Each application is an event that names the rule, even if the
message could not be delivered.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final, Protocol

import msgspec

from longhouse.kernel.errors import LonghouseError
from longhouse.processes.frames import log_id
from longhouse.processes.room import sql
from longhouse.processes.state import TaskState
from longhouse.processes.types.tasks import RECORDING
from longhouse.processes.types.wakeups import WakeupRule
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["POLICY", "Told", "tell", "wake", "wakeups_of", "way_to"]

POLICY: Final = "policy"
"""The stream of the workspace's log that records rules and their effects."""
_AGENT: Final = "processes.agent_inbox"
_JOB: Final = "processes.job_thread"


class Told(Protocol):
    """A way to deliver messages, provided by another room."""

    def check(self, tx: Tx, who: str) -> None:
        """Refuse an unknown recipient."""

    def tell(self, tx: Tx, who: str, sender: str, text: str, about: str) -> str:
        """Deliver a message whose first line is its subject; returns its ref."""


def way_to(tx: Tx, rule: WakeupRule) -> tuple[Told, str]:
    """How to reach the recipient of a rule, and who that is."""
    provided = tx.facts.registry.provided
    if rule.agent is not None:
        return provided[_AGENT](), rule.agent
    assert rule.job is not None
    return provided[_JOB](), rule.job


def wakeups_of(tx: Tx) -> list[WakeupRule]:
    """The wake-up rules in force, oldest first."""
    rows = tx.all(sql.wakeups_in_force)
    return [msgspec.json.decode(row["rule"], type=WakeupRule) for row in rows]


def wake(tx: Tx, task_id: str, row: Row, state: TaskState) -> None:
    """Apply every rule to a task that has just ended, unless it never started."""
    if row["tool"] == RECORDING or (row["host_id"] is None and state.started_at_ms is None):
        return
    for rule in wakeups_of(tx):
        if _matches(rule, row, state):
            tell(tx, rule, task_id, row, state)


def _matches(rule: WakeupRule, row: Row, state: TaskState) -> bool:
    if rule.name is not None and not fnmatchcase(row["name"] or "", rule.name):
        return False
    if rule.tool not in (None, row["tool"]):
        return False
    succeeded = (state.status, state.exit_code) == ("exited", 0)
    return rule.ending == "any" or succeeded == (rule.ending == "success")


def tell(tx: Tx, rule: WakeupRule, task_id: str, row: Row, state: TaskState) -> None:
    """Write the message, and the event that names the rule."""
    refs = [_ref(task_id, stream, state) for stream in state.streams]
    about: dict[str, Any] = {
        "task_id": task_id,
        "name": row["name"],
        "status": state.status,
        "exit_code": state.exit_code,
        "artifact_refs": refs,
    }
    named = f"{task_id} {row['name']}" if row["name"] else task_id
    said = [rule.message] if rule.message else []
    text = "\n".join([f"{named} {_how(state)}", *said, f"output: {', '.join(refs)}", rule.id])
    told, who = way_to(tx, rule)
    event = {**about, "rule": rule.id, "agent": rule.agent, "job": rule.job}
    try:
        event["message"] = told.tell(tx, who, rule.id, text, task_id)
    except LonghouseError as error:
        event["undelivered"] = error.message
    tx.append(POLICY, rule.id, "woke", event)


def _how(state: TaskState) -> str:
    if state.status == "exited" and state.exit_code is not None:
        return f"exited with code {state.exit_code}"
    why = state.signal or state.cause
    return f"{state.status} ({why})" if why else state.status


def _ref(task_id: str, stream: str, state: TaskState) -> str:
    seal = state.streams[stream].seal  # type: ignore[index]
    if seal is not None and seal.artifact:
        return f"artifact:{seal.artifact.removeprefix('artifact:')[:12]}"
    return log_id(task_id, stream)
