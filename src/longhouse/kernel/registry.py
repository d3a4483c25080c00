"""One declaration per command; every surface, schema, help text and action is derived from it.

A room declares its commands on a `Room`, beside the functions that carry them out. The composition
root joins the rooms into one `Registry`; nothing else knows which commands exist.
"""

from __future__ import annotations

import enum
import importlib
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from longhouse.kernel.budget import Trim
from longhouse.kernel.contributions import (
    Check,
    Holder,
    Loop,
    Opener,
    Reaction,
    Rebuilder,
    Recoverer,
    TargetResolver,
    Tidier,
    Voucher,
    always,
    asks_to_write,
)
from longhouse.kernel.errors import (
    InvalidInput,
    Suggestion,
    UnknownCmd,
    UnknownOp,
)
from longhouse.kernel.names import (
    PORTALS,
    nearest,
    other_names,
    plain_name,
    portal_named,
    portal_of,
)
from longhouse.kernel.values import Request, Result, agree, only

__all__ = [
    "PORTALS",
    "Command",
    "Outline",
    "Registry",
    "Role",
    "Room",
    "plain_name",
    "portal_named",
    "portal_of",
]

_CMD = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z")

_GENERATOR = 0x20
"""The flag of a function that yields, as `inspect` names it, which is slow to import."""

Handler = Callable[..., Any]
"""`(tx, request)`, and what was made ahead."""
LinesRenderer = Callable[[Any], Sequence[str]]
Ahead = Callable[[Any, Any], Any]
"""`(tx, request)`: the slow part of a write, done before it in a read transaction."""
Reissue = Callable[[Any, dict[str, Any], str], str]
"""`(tx, answer, digest)`: a credential in place of the one that an earlier answer carried."""
Adviser = Callable[[Any], Any]
HandlerT = TypeVar("HandlerT", bound=Handler)
AdviserT = TypeVar("AdviserT", bound=Adviser)
LoopT = TypeVar("LoopT", bound=Callable[[Any], None])
ReactionT = TypeVar("ReactionT", bound=Callable[[Any], object])
RecovererT = TypeVar("RecovererT", bound=Callable[[Any], Iterable[Suggestion]])
TargetResolverT = TypeVar("TargetResolverT", bound=Callable[[Any, str], Any])
TidierT = TypeVar("TidierT", bound=Callable[[Any, Any], object])
VoucherT = TypeVar("VoucherT", bound=Voucher)
ProvidedT = TypeVar("ProvidedT", bound=Callable[..., Any])


class Role(enum.IntEnum):
    """What a caller may do; each role may do all that the roles before it may."""

    VIEWER = 1
    AGENT = 2
    MANAGER = 3
    OPERATOR = 4


class Command(msgspec.Struct, frozen=True, eq=False):
    """Everything that is known about one command."""

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
    reissue: Reissue | None
    needs_workspace: bool
    writes_with: tuple[str, ...]
    writes_role: Role
    asks: bool
    ahead: Ahead | None
    also: tuple[str, ...]
    slow: bool

    def writes_given(self, args: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments writes: a read may have arguments that do."""
        return self.writes or asks_to_write(args, self.writes_with)

    @property
    def how(self) -> str:
        """How its tool is told to carry it out."""
        return f"op={self.op}" if self.op else f"op=call cmd={self.cmd}"

    def fields(self) -> tuple[str, ...]:
        return self.request.__struct_encode_fields__


class Outline(NamedTuple):
    """As much of a command as is needed to offer it as an action."""

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


class Room:
    """Collects what one room contributes to the house; each method below declares one kind of it.

    `modules` are those of its package that declare something. Named here and not imported by the
    package, they can be imported one by one.
    """

    def __init__(self, name: str, modules: Iterable[str] = ()) -> None:
        self.name = name
        self.modules = tuple(modules)
        self.commands: list[Command] = []
        self.openers: list[Opener] = []
        self.advisers: list[Adviser] = []
        self.loops: list[Loop] = []
        self.checks: list[Check] = []
        self.holders: list[Holder] = []
        self.rebuilders: list[Rebuilder] = []
        self.targets: list[TargetResolver] = []
        self.recoverers: list[Recoverer] = []
        self.reactions: list[Reaction] = []
        self.tidiers: list[Tidier] = []
        self.vouchers: list[Voucher] = []
        self.provided: dict[str, Callable[..., Any]] = {}

    def load(self) -> None:
        """Let every module declare what it has to declare."""
        for module in self.modules:
            importlib.import_module(f"longhouse.{self.name}.{module}")

    def command(
        self,
        cmd: str,
        *,
        example: Request,
        writes: bool = False,
        op: str | None = None,
        role: Role | None = None,
        tier: Literal["gold", "advanced", "audit"] | None = None,
        profile: str = "default",
        trim: Iterable[Trim] = (),
        lines: LinesRenderer | None = None,
        destructive: bool = False,
        idempotent: bool = False,
        reveals: Iterable[str] = (),
        reissue: Reissue | None = None,
        needs_workspace: bool = True,
        writes_with: Iterable[str] = (),
        writes_role: Role = Role.AGENT,
        ahead: Ahead | None = None,
        also: str = "",
        slow: bool = False,
    ) -> Callable[[HandlerT], HandlerT]:
        """Declare the decorated `(tx, request) -> result` as this command.

        Request and result types come from the annotations, the summary from the docstring. What
        `ahead` returns is the third argument of the handler. `also` lists the names that callers
        try instead of `cmd`, which lead to it: "new" of `jobs.create` is `jobs.new`. What is `slow`
        reads more than the store, and never on an event loop.
        """
        if bool(reveals) != bool(reissue):
            raise ValueError(f"{cmd}: what reveals a credential says how to reissue it")
        if not _CMD.match(cmd):
            raise ValueError(f"{cmd!r} is not a command name")

        def declare(handler: HandlerT) -> HandlerT:
            hints = typing.get_type_hints(handler)
            request = only(hints, Request, cmd, "request")
            result = only({"return": hints["return"]}, Result, cmd, "result")
            agree(cmd, request, result)
            self.commands.append(
                Command(
                    cmd=cmd,
                    portal=portal_of(cmd),
                    room=self.name,
                    handler=handler,
                    request=request,
                    result=result,
                    example=example,
                    summary=(handler.__doc__ or "").strip().splitlines()[0],
                    writes=writes,
                    op=op,
                    role=role or (Role.AGENT if writes else Role.VIEWER),
                    tier=tier or ("gold" if op else "advanced"),
                    profile=profile,
                    trim=tuple(trim),
                    lines=lines,
                    destructive=destructive,
                    idempotent=idempotent or not writes,
                    reveals=tuple(reveals),
                    reissue=reissue,
                    needs_workspace=needs_workspace,
                    writes_with=tuple(writes_with),
                    writes_role=writes_role,
                    asks=bool(handler.__code__.co_flags & _GENERATOR),
                    ahead=ahead,
                    also=other_names(cmd, also),
                    slow=slow,
                )
            )
            return handler

        return declare

    def every(
        self, seconds: float, when: Callable[[Any], bool] = always
    ) -> Callable[[LoopT], LoopT]:
        """Register the decorated `(tx) -> None` as upkeep that the leading server runs."""

        def declare(run: LoopT) -> LoopT:
            self.loops.append(Loop(f"{self.name}.{run.__name__}", seconds, run, when))
            return run

        return declare

    def advises(self, adviser: AdviserT) -> AdviserT:
        """Register the decorated `(tx) -> Advice`: what `status` says and offers for this room."""
        self.advisers.append(adviser)
        return adviser

    def opens(
        self, pattern: str, what: str
    ) -> Callable[[Callable[[Any, Any, re.Match[str]], Any]], Any]:
        """Register the decorated `(tx, request, match) -> result` for ids that match in full."""

        def register(resolve: Callable[[Any, Any, re.Match[str]], Any]) -> Any:
            self.openers.append(Opener(re.compile(rf"(?:{pattern})\Z"), resolve, what))
            return resolve

        return register

    def check(self, what: str) -> Callable[[Holder], Holder]:
        """Register the decorated `(tx) -> complaints` for `verify`, once per workspace.

        A room whose tables are a fold of the log folds it again here and compares.
        """

        def register(complaints: Holder) -> Holder:
            self.checks.append(Check(self.name, what, complaints))
            return complaints

        return register

    def holds_artifacts(self, holder: Holder) -> Holder:
        """Register `(tx) -> digests or ids`: what it yields is never collected as garbage."""
        self.holders.append(holder)
        return holder

    def rebuilds(self, rebuilder: Rebuilder) -> Rebuilder:
        """Register `(tx) -> None`: makes an index anew after a workspace was imported.

        What an index holds follows from other tables, so no export carries it.
        """
        self.rebuilders.append(rebuilder)
        return rebuilder

    def resolves_targets(self, resolver: TargetResolverT) -> TargetResolverT:
        """Register `(tx, id) -> TargetInfo | None`: whether this room has a plan or task."""
        self.targets.append(resolver)
        return resolver

    def recovers(self, recoverer: RecovererT) -> RecovererT:
        """Register `(refusal) -> suggestions`: the calls that help after a failed one."""
        self.recoverers.append(recoverer)
        return recoverer

    def after(self, *cmds: str) -> Callable[[ReactionT], ReactionT]:
        """Register the decorated `(commit) -> None` to run after these commands have committed.

        It runs in servers, on a thread of its own; the answer neither waits for it nor depends on
        it, and a failure is logged.
        """

        def declare(run: ReactionT) -> ReactionT:
            self.reactions.append(Reaction(frozenset(cmds), run))
            return run

        return declare

    def vouches(self, voucher: VoucherT) -> VoucherT:
        """Register `(tx, name) -> bool`: whether a name is an identity that the caller may act as.

        It refuses an identity that is somebody else's; a name that it does not know is a label.
        """
        self.vouchers.append(voucher)
        return voucher

    def provides(self, what: str) -> Callable[[ProvidedT], ProvidedT]:
        """Register the decorated for a room beside this one, which asks for it by that name."""

        def declare(provided: ProvidedT) -> ProvidedT:
            self.provided[what] = provided
            return provided

        return declare

    def tidies(self, tidier: TidierT) -> TidierT:
        """Register `(db, call) -> None`: upkeep that goes over the whole store, now and then."""
        self.tidiers.append(tidier)
        return tidier


class Registry:
    """All commands of a house, found by name, by portal and op, or by request type."""

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
        self.targets = tuple(one for room in self.rooms for one in room.targets)
        self.recoverers = tuple(one for room in self.rooms for one in room.recoverers)
        self.reactions = tuple(one for room in self.rooms for one in room.reactions)
        self.tidiers = tuple(one for room in self.rooms for one in room.tidiers)
        self.vouchers = tuple(one for room in self.rooms for one in room.vouchers)
        self.provided = {what: one for r in self.rooms for what, one in r.provided.items()}
        self.by_request = {c.request: c for c in found}
        self.ops = {(c.portal, c.op): c for c in found if c.op}
        self.aliases = {word: c.cmd for c in self for word in c.also}
        if len(self.aliases.keys() - self.commands.keys()) != sum(len(c.also) for c in found):
            raise ValueError("a name stands for two commands")
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
        """The command of that name, trimmed and lower-cased."""
        return self.commands.get(cmd) or self.commands.get(cmd.strip().lower())

    def get(self, cmd: str) -> Command:
        """The same, or UnknownCmd with the nearest one."""
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
        """The command that declares this name, or has it in another spelling."""
        word = plain_name(name)
        return self.commands.get(self.aliases.get(word, word))

    def meant(self, name: str) -> str | None:
        """The name that a wrong one stands for, or else is a slip of the pen for."""
        if found := self.stands_for(name):
            return found.cmd
        word = plain_name(name)
        family, _, rest = word.partition(".")
        beside = [one.partition(".")[2] for one in self.commands if one.startswith(f"{family}.")]
        if not beside:
            return nearest(word, self.commands)
        near = nearest(rest, beside)  # the family is right: it must not count as likeness
        return f"{family}.{near}" if near else None

    def find(self, request: Request) -> Command | None:
        """The command that this request value is the arguments of, if this house has it."""
        return self.by_request.get(type(request))

    def request_of(self, cmd: str) -> type[Request]:
        """The request type of a command; a sparse registry imports no more than that."""
        return self.get(cmd).request

    def outline(self, request: Request) -> Command | Outline | None:
        """What is needed to offer this request as an action; None where there is no such command.

        A sparse registry knows it without loading the command.
        """
        return self.find(request)

    def of(self, request: Request) -> Command:
        """The same, for a request that is known to have one."""
        command = self.find(request)
        if command is None:
            raise KeyError(type(request).__name__)
        return command

    def route(self, tool: str, op: str | None, cmd: str | None) -> Command:
        """The command that a portal call means."""
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
