"""One declaration per command; every surface, schema, help text and action is derived from it.

A room declares its commands on a `Room`, beside their handlers. The composition root joins the
rooms into one `Registry`; nothing else knows which commands exist.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from longhouse.kernel.budget import Trim
from longhouse.kernel.contributions import asks_to_write
from longhouse.kernel.errors import InvalidInput, UnknownCmd, UnknownOp
from longhouse.kernel.names import PORTALS, nearest, plain_name, portal_named, portal_of
from longhouse.kernel.values import Request, Result

if TYPE_CHECKING:
    from longhouse.kernel.rooms import Room

__all__ = [
    "PORTALS",
    "Command",
    "Outline",
    "Registry",
    "Role",
    "plain_name",
    "portal_named",
    "portal_of",
]

Handler = Callable[..., Any]
"""`(tx, request)`, plus what `ahead` returned if the command declares it."""
LinesRenderer = Callable[[Any], Sequence[str]]
Ahead = Callable[[Any, Any], Any]
"""`(tx, request)`: the slow part of a write, run beforehand in a read transaction."""
Reissue = Callable[[Any, dict[str, Any], str], str]
"""`(tx, answer, digest)`: a new credential to replace the one in an earlier answer."""
Adviser = Callable[[Any], Any]


class Role(enum.IntEnum):
    """What a caller may do; each role includes the roles before it."""

    VIEWER = 1
    AGENT = 2
    MANAGER = 3
    OPERATOR = 4


class Command(msgspec.Struct, frozen=True, eq=False):
    """The complete declaration of one command."""

    cmd: str
    portal: str
    room: str
    handler: Handler
    request: type[Request]
    result: type[Result]
    example: Request
    summary: str
    writes: bool
    op: str | None
    role: Role
    tier: Literal["gold", "advanced", "audit"]
    profile: str
    trim: tuple[Trim, ...]
    lines: LinesRenderer | None
    destructive: bool
    idempotent: bool
    reveals: tuple[str, ...]
    unkept: tuple[str, ...]
    reissue: Reissue | None
    needs_workspace: bool
    writes_with: tuple[str, ...]
    writes_role: Role
    asks: bool
    ahead: Ahead | None
    also: tuple[str, ...]
    slow: bool

    def writes_given(self, args: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments writes; some reads have arguments that write."""
        return self.writes or asks_to_write(args, self.writes_with)

    @property
    def how(self) -> str:
        """The portal arguments that select this command."""
        return f"op={self.op}" if self.op else f"op=call cmd={self.cmd}"

    def fields(self) -> tuple[str, ...]:
        return self.request.__struct_encode_fields__


class Outline(NamedTuple):
    """The part of a declaration that is needed to offer the command as an action."""

    cmd: str
    portal: str
    op: str | None
    role: Role
    writes_role: Role
    writes: bool
    writes_with: tuple[str, ...]
    destructive: bool
    needs_workspace: bool

    def writes_given(self, args: Mapping[str, Any]) -> bool:
        return self.writes or asks_to_write(args, self.writes_with)


class Registry:
    """All commands of a house, indexed by name, by portal and op, and by request type."""

    def __init__(self, rooms: Iterable[Room]) -> None:
        self.rooms = tuple(rooms)
        for room in self.rooms:
            room.load()
        found = [command for room in self.rooms for command in room.commands]
        self.commands = {c.cmd: c for c in sorted(found, key=lambda c: c.cmd)}
        self.openers = tuple(
            opener  # in an order that does not depend on which module was imported first
            for room in self.rooms
            for opener in sorted(room.openers, key=lambda one: one.resolve.__module__)
        )
        self.advisers = tuple(adviser for room in self.rooms for adviser in room.advisers)
        self.loops = tuple(loop for room in self.rooms for loop in room.loops)
        self.checks = tuple(check for room in self.rooms for check in room.checks)
        self.holders = tuple(holder for room in self.rooms for holder in room.holders)
        self.rebuilders = tuple(one for room in self.rooms for one in room.rebuilders)
        self.arrivers = tuple(one for room in self.rooms for one in room.arrivers)
        self.targets = tuple(one for room in self.rooms for one in room.targets)
        self.recoverers = tuple(one for room in self.rooms for one in room.recoverers)
        self.reactions = tuple(one for room in self.rooms for one in room.reactions)
        self.tidiers = tuple(one for room in self.rooms for one in room.tidiers)
        self.vouchers = tuple(one for room in self.rooms for one in room.vouchers)
        self.clampers = tuple(one for room in self.rooms for one in room.clampers)
        self.provided = {what: one for r in self.rooms for what, one in r.provided.items()}
        self.by_request = {c.request: c for c in found}
        self.ops = {(c.portal, c.op): c for c in found if c.op}
        self.aliases = {word: c.cmd for c in self for word in c.also}
        if len(self.aliases.keys() - self.commands.keys()) != sum(len(c.also) for c in found):
            raise ValueError("two commands declare the same name")
        for kind, index in (("name", self.commands), ("request type", self.by_request)):
            if len(index) != len(found):
                raise ValueError(f"two commands share a {kind}")
        if strangers := {c.portal for c in found} - set(PORTALS):
            raise ValueError(f"no such portal: {', '.join(sorted(strangers))}")

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands.values())

    def __contains__(self, cmd: object) -> bool:
        return cmd in self.commands

    def known(self, cmd: str) -> Command | None:
        """The command with that name, ignoring case and surrounding spaces."""
        return self.commands.get(cmd) or self.commands.get(cmd.strip().lower())

    def get(self, cmd: str) -> Command:
        """The same; raises UnknownCmd, with the nearest name, if there is none."""
        command = self.known(cmd)
        if command is not None:
            return command
        near = self.meant(cmd)
        raise UnknownCmd(
            f"cmd: there is no command {cmd[:80]!r}",
            recovery=f"did you mean {near!r}?" if near else "list them with system.cmd.list",
            hints=[_unknown("cmd", near)],
        )

    def stands_for(self, name: str) -> Command | None:
        """The command with this name in any spelling, or with this name among its `also`."""
        word = plain_name(name)
        return self.commands.get(self.aliases.get(word, word))

    def meant(self, name: str) -> str | None:
        """The command name that a wrong one means: a declared `also`, or else a likely typo."""
        if found := self.stands_for(name):
            return found.cmd
        word = plain_name(name)
        family, _, rest = word.partition(".")
        beside = [one.partition(".")[2] for one in self.commands if one.startswith(f"{family}.")]
        if not beside:
            return nearest(word, self.commands)
        near = nearest(rest, beside)  # the shared family must not make names look similar
        return f"{family}.{near}" if near else None

    def find(self, request: Request) -> Command | None:
        """The command that takes this type of request, if this house has it."""
        return self.by_request.get(type(request))

    def request_of(self, cmd: str) -> type[Request]:
        """The request type of a command; a sparse registry imports only that type's module."""
        return self.get(cmd).request

    def outline(self, request: Request) -> Command | Outline | None:
        """What is needed to offer this request as an action; None if there is no such command.

        A sparse registry returns it without loading the command.
        """
        return self.find(request)

    def of(self, request: Request) -> Command:
        """Like `find`, but raises KeyError if there is no such command."""
        command = self.find(request)
        if command is None:
            raise KeyError(type(request).__name__)
        return command

    def route(self, tool: str, op: str | None, cmd: str | None) -> Command:
        """The command that a portal call selects."""
        tool = portal_named(tool)
        if tool in self.commands:
            return self.commands[tool]
        op = (op or ("call" if cmd else "")).strip().lower()
        if op == "call":
            if not cmd or not cmd.strip():
                example = next((c for c in self if c.portal == tool), None)
                shown = f"; fix: cmd={example.cmd}" if example else ""
                raise InvalidInput(f"cmd: expected a command of {tool} (missing){shown}")
            command = self.get(cmd)
            if command.portal != tool:
                raise UnknownCmd(
                    f"cmd: {command.cmd!r} is not a command of the tool {tool!r}",
                    recovery=f"call the tool {command.portal!r} with the same arguments",
                    hints=[_unknown("cmd", command.cmd)],
                )
            return command
        if aliased := self.ops.get((tool, op)):
            return aliased
        offered = ", ".join(["call", *self.ops_of(tool)])
        asked = f"op: {tool!r} has no op {op[:80]!r}" if op else "op: missing"
        near = nearest(op, self.ops_of(tool))
        known = (self.stands_for(f"{tool}.{op}") or self.stands_for(op)) if op else None
        if known is not None:
            fix = f"use {known.how}" + ("" if known.portal == tool else f" of {known.portal!r}")
        elif near:
            fix = f"did you mean op={near}? others: {offered}"
            known = self.ops[tool, near]
        else:
            fix = f"use one of {offered}; op=call takes cmd=<command>"
        raise UnknownOp(asked, recovery=fix, hints=[_unknown("op", known.cmd if known else None)])

    def ops_of(self, tool: str) -> list[str]:
        return [c.op for c in self if c.portal == tool and c.op]


def _unknown(field: str, near: str | None) -> dict[str, Any]:
    return {"kind": "unknown", "field": field, "nearest": near}
