"""The desk's suggestions after a failed call: schemas, lists, a workspace, a first task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from longhouse.desk.room import room
from longhouse.desk.types.status import GetStatus
from longhouse.desk.types.system import ListCommands, Lookup, Open, SchemaGet, UseWorkspace
from longhouse.kernel.contributions import Refusal
from longhouse.kernel.errors import (
    InvalidInput,
    LonghouseError,
    Suggestion,
    UnknownCmd,
    UnknownId,
    UnknownOp,
    UnknownTool,
    UnknownWorkspace,
)
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.values import Draft

__all__ = ["recover"]


@room.recovers
def recover(refusal: Refusal) -> Iterator[Suggestion]:
    """Suggest calls that help the caller, depending on the kind of error."""
    error, command = refusal.error, refusal.command
    if isinstance(error, UnknownWorkspace) and refusal.has_session:
        yield Suggestion(
            Draft(UseWorkspace, {}, ["workspace"]),
            "choose a workspace for this connection",
            action_id="recover::workspace.use",
        )
    elif isinstance(error, UnknownId) and command and command.portal == "tasks":
        from longhouse.desk.types.starting import Start

        yield Suggestion(
            Draft(Start, {}, ["task_title"]),
            "start a task",
            priority="medium",
            action_id="recover.portal.macro.start",
        )
    elif isinstance(error, UnknownTool):
        yield from _moved(refusal.registry, error.name)
    elif isinstance(error, UnknownCmd | UnknownOp):
        yield from _nearest(error)
    elif isinstance(error, InvalidInput) and command:
        taught = _teach(refusal.registry, command, refusal.args)
        yield from islice(taught, 1) if error.suggest else taught


_WORK = re.compile(r"(?:TASK|PLAN)-[0-9]{3,15}")


def _teach(registry: Registry, command: Command, args: Mapping[str, Any]) -> Iterator[Suggestion]:
    """Suggest the schema, which has an example; and to look at an id of another kind."""
    yield Suggestion(
        SchemaGet(cmd=command.cmd),
        "see the arguments it takes, with an example",
        action_id=f"recover.schema.get::{command.cmd}",
    )
    for name in ("task", "plan", "target"):
        wrong = args.get(name)
        if name not in command.fields() or not isinstance(wrong, str) or _WORK.fullmatch(wrong):
            continue
        if any(opener.pattern.match(wrong) for opener in registry.openers):
            why = f"{wrong} is neither a task nor a plan; see what it is"
            yield Suggestion(Open(id=wrong), why, action_id="recover.open")


def _moved(registry: Registry, name: str) -> Iterator[Suggestion]:
    """Suggest the current command for a tool of an older surface."""
    from longhouse.desk.migration import renamed

    yield Suggestion(
        GetStatus(), "see where you are", priority="medium", action_id="recover.status.portal"
    )
    if renamed(name) in registry.commands:
        yield Suggestion(
            Lookup(old_name=name),
            "find the command for this name",
            action_id=f"recover.migration.lookup::{name}",
        )


def _nearest(error: LonghouseError) -> Iterator[Suggestion]:
    tool = next((hint["tool"] for hint in error.hints if "tool" in hint), "")
    yield Suggestion(
        ListCommands(prefix=f"{tool}." if tool else ""),
        f"list the commands of {tool!r}" if tool else "list the commands",
        priority="medium",
        action_id="recover.cmd.list",
    )
    if near := next((hint["nearest"] for hint in error.hints), None):
        yield Suggestion(
            SchemaGet(cmd=near),
            "the nearest command",
            action_id=f"recover.schema.get::{near}",
        )
