"""Recovery from an error: calls that fix it, each complete and permitted to the caller.

This module suggests the failed call with corrections; rooms add suggestions with `room.recovers`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.dispatch.calls import Caller
from longhouse.dispatch.portals import aim
from longhouse.facts import HouseFacts
from longhouse.kernel.contributions import Refusal
from longhouse.kernel.errors import (
    BudgetExceeded,
    LonghouseError,
    Suggestion,
    UnknownCmd,
    UnknownOp,
    WorkspaceLocked,
    WorkspaceNotAllowed,
)
from longhouse.kernel.names import field_meant
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import Common, args_schema, decode, split_common
from longhouse.kernel.workspaces import fallback_workspace

__all__ = ["mend"]

_RENAMED = ("recover.portal::", "recover.argument::")


def mend(
    facts: HouseFacts,
    error: LonghouseError,
    command: Command | None,
    args: dict[str, Any],
    caller: Caller | None,
) -> list[Suggestion]:
    """The calls that help after this error, starting with those of the room that raised it.

    If only names were wrong, the same call with the right names is the only suggestion added.
    """
    corrected = _corrected(facts, error, command, args)
    found = [*error.suggest, *corrected]
    if any((one.action_id or "").startswith(_RENAMED) for one in corrected):
        return found
    has_session = caller is not None and caller.session is not None
    refusal = Refusal(facts.registry, error, command, args, has_session)
    for recover in facts.registry.recoverers:
        found += recover(refusal)
    return found


def _corrected(
    facts: HouseFacts, error: LonghouseError, command: Command | None, args: dict[str, Any]
) -> list[Suggestion]:
    """The failed call with its mistake corrected."""
    if isinstance(error, BudgetExceeded) and command:
        most = min(error.most, _own_most(command, error.knob))
        return _again(command, args, "recover.budget.clamp", {error.knob: most})
    if isinstance(error, WorkspaceLocked | WorkspaceNotAllowed) and command:
        allowed = fallback_workspace(facts)
        return _again(command, args, "recover.workspace", {"workspace": allowed})
    if isinstance(error, UnknownCmd | UnknownOp):
        near = next((hint["nearest"] for hint in error.hints), None)
        if meant := facts.registry.commands.get(near or ""):
            return _again(meant, _renamed(meant, _inner(args)), "recover.portal", {})
        return []
    if any(hint.get("kind") == "unknown" for hint in error.hints) and command:
        return _again(command, _renamed(command, _inner(args)), "recover.argument", {})
    return []


def _inner(args: dict[str, Any]) -> dict[str, Any]:
    """The command's arguments, from a portal call or a plain one."""
    if not args.keys() & {"op", "cmd"}:
        return args
    inner = args.get("args")
    return inner if isinstance(inner, dict) else {}


def _renamed(command: Command, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments under their nearest known names; decoding then checks them."""
    known = args_schema(command)["properties"]
    meant = {
        name: name if name in known else field_meant(name, "", command.request, Common) or name
        for name in args
    }
    return {meant[name]: item for name, item in args.items()}


def _again(
    command: Command, args: dict[str, Any], action: str, changes: dict[str, Any]
) -> list[Suggestion]:
    """The same call with these changes, if it is otherwise valid.

    The caller's agent_token is dropped from a read, which runs without it; in a write, redaction
    hides it and leaves the field in place.
    """
    aimed = {**aim(command, args), **changes}
    secret = None if command.writes else aimed.pop("agent_token", None)
    try:
        own, common = split_common(command, aimed)
        request = decode(command, own)
    except LonghouseError:
        return []
    changed = "".join(f", {k}={v}" for k, v in changes.items()) or ", with the right names"
    return [
        Suggestion(
            request,
            f"the same call{changed}{'; add your agent_token' if secret else ''}",
            action_id=f"{action}::{command.cmd}",
            common=msgspec.to_builtins(common),
        )
    ]


def _own_most(command: Command, knob: str) -> int:
    schema = args_schema(command)["properties"].get(knob, {})
    most: int = schema.get("maximum", 10**9)
    return most
