"""Recovery from an error: calls that fix it, each permitted to the caller.

`_again` makes the failed call anew. Everything in it was said by the caller: what was not said, or
not in a form that the command takes, is missing, and nothing that was said is left out. Rooms add
other suggestions with `room.recovers`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from longhouse.dispatch.calls import Caller
from longhouse.dispatch.meaning import fit
from longhouse.dispatch.portals import aim, kind_named, plain
from longhouse.facts import HouseFacts, fallback_workspace
from longhouse.kernel.contributions import Refusal
from longhouse.kernel.errors import (
    InvalidInput,
    LonghouseError,
    Suggestion,
    UnknownCmd,
    UnknownOp,
    WorkspaceLocked,
    WorkspaceNotAllowed,
)
from longhouse.kernel.inputs import check_json
from longhouse.kernel.names import HAS_A_NAME, field_meant, is_id, snake
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import Common, args_schema, decode, required_args, split_common, takes
from longhouse.kernel.units import unit_of
from longhouse.kernel.values import Draft

__all__ = ["Failed", "mend"]

Args = dict[str, Any]

_PORTAL, _ARGUMENT = "recover.portal", "recover.argument"
_TARGETS = ("task", "plan", "job", "task_id", "agent", "message", "id", "name")
"""What a change is about. A word alone does not say it, and what is in focus may not be meant."""


class Failed:
    """A call that failed: `args` are those of the portal call if `by_portal`, else plain ones."""

    __slots__ = ("_args", "_by_portal", "command")

    def __init__(self, command: Command | None, args: Any, *, by_portal: bool) -> None:
        self.command = command
        self._args: Args = args if isinstance(args, dict) else {}
        self._by_portal = by_portal

    def given(self, command: Command | None) -> Args | None:
        """Everything that was said, as plain arguments of this command; None if it cannot be."""
        if not self._by_portal or command is None:
            return self._args
        try:
            return plain(command, self._args)
        except InvalidInput:
            return None

    @property
    def workspace(self) -> str | None:
        """The workspace that the call names, beside `args` or in it."""
        inner = self._args.get("args") if self._by_portal else None
        places = (self._args, inner if isinstance(inner, dict) else {})
        named = (place.get("workspace") for place in places)
        return next((name for name in named if isinstance(name, str)), None)


def mend(
    facts: HouseFacts, error: LonghouseError, failed: Failed, caller: Caller | None
) -> list[Suggestion]:
    """The calls that help after this error, starting with those of the room that raised it.

    If only names were wrong, the same call with the right names is the only suggestion added.
    """
    found = [*error.suggest]
    if not any(_is_whole(one) for one in found):
        found += _corrected(facts, error, failed)
    if any(_is_whole(one) for one in found):
        return found
    has_session = caller is not None and caller.session is not None
    given = failed.given(failed.command) or {}
    refusal = Refusal(facts.registry, error, failed.command, given, has_session)
    for recover in facts.registry.recoverers:
        found += recover(refusal)
    return found


def _is_whole(one: Suggestion) -> bool:
    """Whether this is what the caller meant, ready to run."""
    renamed = (one.action_id or "").partition("::")[0] in (_PORTAL, _ARGUMENT)
    return renamed and not isinstance(one.request, Draft)


def _corrected(facts: HouseFacts, error: LonghouseError, failed: Failed) -> list[Suggestion]:
    """The failed call with its mistake corrected."""
    command, given = failed.command, failed.given(failed.command)
    if isinstance(error, UnknownCmd | UnknownOp):
        near = next((hint["nearest"] for hint in error.hints), None)
        meant = facts.registry.commands.get(near or "")
        return _again(meant, failed.given(meant), _PORTAL) if meant else []
    if command is None or given is None:
        return []
    if isinstance(error, WorkspaceLocked | WorkspaceNotAllowed):
        return _elsewhere(facts)
    if isinstance(error, InvalidInput):
        return _again(command, given, _ARGUMENT)
    return []


def _elsewhere(facts: HouseFacts) -> list[Suggestion]:
    """A look at the workspace that may be used; the call itself was meant for another one."""
    allowed = fallback_workspace(facts)
    if allowed is None or "status" not in facts.registry:
        return []
    return [
        Suggestion(
            Draft("status", {}),
            f"see the workspace {allowed!r}, which may be used",
            action_id="recover.workspace::status",
            common={"workspace": allowed},
        )
    ]


def _again(command: Command, given: Args | None, action: str) -> list[Suggestion]:
    """The same call under the right names; nothing if it would be the same."""
    if given is None:
        return []
    try:
        check_json(given)
        named, missing = _renamed(command, given)
        aimed = aim(command, named)
    except LonghouseError:
        return []
    kept: Args = {}
    for name, item in aimed.items():
        fits = takes(command, name, item)
        if fits is None or (not fits and name not in given):
            return []  # nothing that the caller said is left out, or put where it does not fit
        if fits:
            kept[name] = item
        else:
            missing.append(name)
    required = [n for n in command.fields() if n in required_args(command)]
    missing += [name for name in required if name not in kept]
    if command.writes and not command.additive and not kept.keys() & set(command.fields()):
        missing += [name for name in _TARGETS if name in command.fields()][:1]
    missing = list(dict.fromkeys(missing))
    if action == _ARGUMENT and not missing and kept in (given, _as_understood(command, given)):
        return []  # it is the call that was refused
    try:
        own, common = split_common(command, kept)
        request = Draft(command.request, own, missing) if missing else decode(command, own)
    except LonghouseError:
        return []
    return [
        Suggestion(
            request,
            _why(missing),
            action_id=f"{action}::{command.cmd}",
            common=msgspec.to_builtins(common),
        )
    ]


def _as_understood(command: Command, given: Args) -> Args | None:
    """The call that was made of this one, if it was understood before it was refused."""
    try:
        return aim(command, fit(command, given)[0])
    except LonghouseError:
        return None


def _why(missing: list[str]) -> str:
    if missing:
        return f"the same call; add {', '.join(missing)}"
    return "the same call, with the right names"


def _renamed(command: Command, args: Args) -> tuple[Args, list[str]]:
    """The arguments under their nearest known names, and the fields whose value is not clear.

    A value is not clear if the right name has another unit than the one that was used, or if two
    names mean the same field and differ.
    """
    with suppress(LonghouseError):
        args, _ = fit(command, args)
    known = args_schema(command)["properties"]
    named: Args = {}
    unclear: list[str] = []
    for name, item in args.items():
        right = name if name in known else field_meant(name, "", command.request, Common) or name
        right = name if is_id(item) and right in HAS_A_NAME - {name} else right
        right = _holds(command, right, item)
        if _unit(right) != _unit(name) or (right in named and named[right] != item):
            unclear.append(right)
        else:
            named[right] = item
    made = {name: item for name, item in named.items() if name not in unclear}
    with suppress(LonghouseError):
        made, _ = fit(command, made)
    return made, unclear


def _unit(name: str) -> str | None:
    found = unit_of(snake(name))
    return found.unit if found else None


def _holds(command: Command, name: str, item: Any) -> str:
    """The field for a task or plan that was given as the other of the two."""
    kind = kind_named(item)
    moved = name in ("task", "plan") and kind in command.fields() and kind != name
    return kind if kind and moved and not takes(command, name, item) else name
