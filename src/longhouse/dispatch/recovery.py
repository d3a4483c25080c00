"""What to do about an error: the calls that mend it, each complete and allowed to the caller."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.desk.migration import renamed
from longhouse.desk.types.macros import Start
from longhouse.desk.types.status import GetStatus
from longhouse.desk.types.system import ListCommands, Lookup, SchemaGet, UseWorkspace
from longhouse.dispatch.calls import Caller, Facts
from longhouse.dispatch.portals import aim
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
    WorkspaceLocked,
    WorkspaceNotAllowed,
)
from longhouse.kernel.registry import Command, Registry, nearest
from longhouse.kernel.schema import args_schema, decode, split_common
from longhouse.kernel.workspaces import fallback_workspace

__all__ = ["mend"]

FIRST_WORKSPACE = "default"


def mend(
    facts: Facts,
    error: LonghouseError,
    command: Command | None,
    args: dict[str, Any],
    caller: Caller | None,
) -> list[Suggestion]:
    """The calls worth making after this error, those of the room first."""
    found = list(error.suggest)
    if isinstance(error, BudgetExceeded) and command:
        most = min(error.most, _own_most(command, error.knob))
        found += _again(command, args, "recover.budget.clamp", {error.knob: most})
    elif isinstance(error, WorkspaceLocked | WorkspaceNotAllowed) and command:
        found += _again(
            command, args, "recover.workspace", {"workspace": fallback_workspace(facts)}
        )
    elif isinstance(error, UnknownWorkspace) and caller and caller.session:
        found.append(
            Suggestion(
                UseWorkspace(workspace=FIRST_WORKSPACE),
                "choose a workspace for this connection",
                action_id="recover::workspace.use",
            )
        )
    elif isinstance(error, UnknownId) and command and command.portal == "tasks":
        found.append(
            Suggestion(
                Start(task_title="First task"),
                "start on a new task",
                priority="medium",
                action_id="recover.portal.macro.start",
            )
        )
    elif isinstance(error, UnknownTool):
        found += _moved(facts.registry, error.name)
    elif isinstance(error, UnknownCmd | UnknownOp):
        found += _nearest(facts.registry, args)
    elif isinstance(error, InvalidInput) and command:
        found += _teach(command)
    return found


def _again(
    command: Command, args: dict[str, Any], action: str, changes: dict[str, Any]
) -> list[Suggestion]:
    """The same call with what was wrong about it changed, if it is right otherwise."""
    try:
        own, common = split_common(command, {**aim(command, args), **changes})
        request = decode(command, own)
    except LonghouseError:
        return []
    return [
        Suggestion(
            request,
            "the same call" + "".join(f", {k}={v}" for k, v in changes.items()),
            action_id=f"{action}::{command.cmd}",
            common=msgspec.to_builtins(common),
        )
    ]


def _own_most(command: Command, knob: str) -> int:
    schema = args_schema(command)["properties"].get(knob, {})
    most: int = schema.get("maximum", 10**9)
    return most


def _teach(command: Command) -> list[Suggestion]:
    """A wrong call is answered with the schema and with a call that is right."""
    return [
        Suggestion(
            SchemaGet(cmd=command.cmd),
            "see the arguments it takes",
            action_id=f"recover.schema.get::{command.cmd}",
        ),
        Suggestion(
            command.example,
            "a call that is valid as written",
            action_id=f"recover.example.call::{command.cmd}",
        ),
    ]


def _moved(registry: Registry, name: str) -> list[Suggestion]:
    """A tool of an older surface: where its command is now."""
    found = [
        Suggestion(
            GetStatus(), "see where you are", priority="medium", action_id="recover.status.portal"
        )
    ]
    if renamed(name) in registry.commands:
        found.append(
            Suggestion(
                Lookup(old_name=name),
                "find the command that this name stands for",
                action_id=f"recover.migration.lookup::{name}",
            )
        )
    return found


def _nearest(registry: Registry, args: dict[str, Any]) -> list[Suggestion]:
    found = [
        Suggestion(
            ListCommands(), "see all commands", priority="medium", action_id="recover.cmd.list"
        )
    ]
    asked = str(args.get("cmd") or args.get("op") or "").strip().lower()
    if meant := registry.commands.get(asked):
        inner = args.get("args")
        found += _again(meant, inner if isinstance(inner, dict) else {}, "recover.portal", {})
    if near := nearest(asked, registry.commands):
        found.append(
            Suggestion(
                SchemaGet(cmd=near),
                "the nearest command",
                action_id=f"recover.schema.get::{near}",
            )
        )
    return found
