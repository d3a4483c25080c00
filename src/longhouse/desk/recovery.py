"""The desk's suggestions after a failed call: schemas, lists, a workspace, a first task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from longhouse.desk.room import room
from longhouse.desk.types.status import GetStatus
from longhouse.desk.types.system import ListCommands, Lookup, Open, SchemaGet, UseWorkspace
from longhouse.kernel.contributions import Refusal
from longhouse.kernel.errors import (
    BudgetExceeded,
    InvalidInput,
    LonghouseError,
    Suggestion,
    UnknownCmd,
    UnknownId,
    UnknownOp,
    UnknownTool,
    UnknownWorkspace,
)
from longhouse.kernel.inputs import check_json
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.values import Request

__all__ = ["recover"]

FIRST_WORKSPACE = "default"


@room.recovers
def recover(refusal: Refusal) -> Iterator[Suggestion]:
    """Suggest calls that help the caller, depending on the kind of error."""
    error, command = refusal.error, refusal.command
    if isinstance(error, UnknownWorkspace) and refusal.has_session:
        yield Suggestion(
            UseWorkspace(workspace=FIRST_WORKSPACE),
            "choose a workspace for this connection",
            action_id="recover::workspace.use",
        )
    elif isinstance(error, UnknownId) and command and command.portal == "tasks":
        from longhouse.desk.types.starting import Start

        yield Suggestion(
            Start(task_title="First task"),
            "start a task",
            priority="medium",
            action_id="recover.portal.macro.start",
        )
    elif isinstance(error, UnknownTool):
        yield from _moved(refusal.registry, error.name)
    elif isinstance(error, UnknownCmd | UnknownOp):
        yield from _nearest(error)
    elif isinstance(error, InvalidInput) and command and not isinstance(error, BudgetExceeded):
        taught = _teach(refusal.registry, command, refusal.args)
        yield from islice(taught, 1) if error.suggest else taught


_KINDS = {"task": re.compile(r"TASK-[0-9]{3,15}"), "plan": re.compile(r"PLAN-[0-9]{3,15}")}
_ID = re.compile(r"[A-Z]+-[0-9A-Za-z]+|[a-z_]+@[0-9]+|msg_[0-9]+")


def _teach(registry: Registry, command: Command, args: Mapping[str, Any]) -> Iterator[Suggestion]:
    """Suggest the schema and a valid call."""
    yield Suggestion(
        SchemaGet(cmd=command.cmd),
        "see the arguments it takes",
        action_id=f"recover.schema.get::{command.cmd}",
    )
    if meant := _meant(registry, command, _given(args)):
        yield meant
        return
    example, borrowed = _completed(command, args)
    if _same(example, args):
        return  # it is the call that was refused
    yield Suggestion(
        example,
        "an example call; replace the ids with your own" if borrowed else "a valid call",
        action_id=f"recover.example.call::{command.cmd}",
    )


def _meant(registry: Registry, command: Command, given: dict[str, Any]) -> Suggestion | None:
    """The call that was probably meant when a task or plan argument has an id of another kind."""
    fields = command.fields()
    for name in ("task", "plan", "target"):
        wrong = given.get(name)
        if name not in fields or not isinstance(wrong, str):
            continue
        right = next((kind for kind in ("task", "plan") if _KINDS[kind].fullmatch(wrong)), None)
        if right and name not in (right, "target") and right in fields:
            kept = {
                k: v for k, v in given.items() if k in fields and k not in (name, "agent_token")
            }
            with suppress(msgspec.ValidationError):
                moved = msgspec.convert({**kept, right: wrong}, command.request)
                why = f"{wrong} is a {right}: pass it as {right}"
                return Suggestion(moved, why, action_id=f"recover.argument::{command.cmd}")
        if not right and any(opener.pattern.match(wrong) for opener in registry.openers):
            why = f"{wrong} is neither a task nor a plan; see what it is"
            return Suggestion(Open(id=wrong), why, action_id="recover.open")
    return None


def _same(example: Request, args: Mapping[str, Any]) -> bool:
    """Whether the call has all the values of the example."""
    given = _given(args)
    return all(given.get(name) == item for name, item in msgspec.to_builtins(example).items())


def _given(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the command, from a direct call or a portal call."""
    inner = args.get("args") if args.keys() & {"op", "cmd"} else args
    return inner if isinstance(inner, dict) else {}


def _completed(command: Command, args: Mapping[str, Any]) -> tuple[Request, bool]:
    """The example with the call's valid arguments, and whether it still contains its own ids."""
    given = _given(args)
    made = msgspec.to_builtins(command.example)
    for name in command.fields():
        if given.get(name) is not None:
            tried = {**made, name: given[name]}
            with suppress(msgspec.ValidationError, InvalidInput):
                check_json({name: given[name]})
                msgspec.convert(tried, command.request)
                made = tried
    own = [item for name, item in made.items() if given.get(name) != item]
    borrowed = any(isinstance(item, str) and _ID.fullmatch(item) for item in own)
    return msgspec.convert(made, command.request), borrowed


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
    yield Suggestion(
        ListCommands(), "list the commands", priority="medium", action_id="recover.cmd.list"
    )
    if near := next((hint["nearest"] for hint in error.hints), None):
        yield Suggestion(
            SchemaGet(cmd=near),
            "the nearest command",
            action_id=f"recover.schema.get::{near}",
        )
