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
from longhouse.kernel.names import PORTALS, nearest, plain_name, portal_named, portal_of, spaced
from longhouse.kernel.values import Draft, Request, Result, kind_of

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


_FORCES = ("force", "force_update", "override", "takeover_stale")
"""Arguments that make a write replace what is there."""


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
    additive: bool
    idempotent: bool
    reveals: tuple[str, ...]
    whole: bool
    unkept: tuple[str, ...]
    reissue: Reissue | None
    needs_workspace: bool
    writes_with: tuple[str, ...]
    writes_role: Role
    asks: bool
    ahead: Ahead | None
    also: Mapping[str, Mapping[str, Any]]
    slow: bool

    def writes_given(self, args: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments writes; some reads have arguments that write."""
        return self.writes or asks_to_write(args, self.writes_with)

    def may_be_guessed(self, args: Mapping[str, Any]) -> bool:
        """Whether a call under other names than its own is carried out: it reads, or adds.

        One that says nothing but a word, and would act on the task in focus, is asked about.
        """
        if not self.writes_given(args):
            return True
        if not args and "task" in self.fields():
            return False
        return self.additive and not any(args.get(name) for name in _FORCES)

    @property
    def how(self) -> str:
        """The portal arguments that select this command."""
        return f"op={self.op}" if self.op else f"op=call cmd={self.cmd}"

    @property
    def where(self) -> str:
        """The tool and the arguments that select this command, in words."""
        flat = self.cmd == self.portal
        return f"the tool {self.portal!r}" + ("" if flat else f" with {self.how}")

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
        openers = (
            opener  # in an order that does not depend on which module was imported first
            for room in self.rooms
            for opener in sorted(room.openers, key=lambda one: one.resolve.__module__)
        )
        self.openers = tuple(sorted(openers, key=lambda one: one.ref.general))
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
        self.recognizers = tuple(one for room in self.rooms for one in room.recognizers)
        self.clampers = tuple(one for room in self.rooms for one in room.clampers)
        self.searchables = tuple(one for room in self.rooms for one in room.searchables)
        self.rewinders = tuple(one for room in self.rooms for one in room.rewinders)
        self.provided = {what: one for r in self.rooms for what, one in r.provided.items()}
        self.by_request = {c.request: c for c in found}
        self.ops = {(c.portal, c.op): c for c in found if c.op}
        self.spelled = {plain_name(cmd): cmd for cmd in self.commands}
        self.aliases: dict[str, list[str]] = {}
        for command in self:
            for word in command.also:
                self.aliases.setdefault(plain_name(word), []).append(command.cmd)
        if taken := self.aliases.keys() & self.spelled.keys():
            raise ValueError(f"names of commands are declared as other names: {sorted(taken)}")
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
        """The command with this name in any spelling, or the only one with it among its `also`."""
        word = plain_name(name)
        others = self.aliases.get(word, ())
        others = [cmd for cmd in others if not self._is_second(cmd, word)] or others
        name = others[0] if len(others) == 1 else self.spelled.get(word, word)
        return self.commands.get(name)

    def called(self, tool: str, word: str) -> list[tuple[int, Command, Mapping[str, Any]]]:
        """The commands of a tool that a word may mean, each with the arguments that it implies.

        By name (0; of the tool's other family: 1), by declared other name (2), by one that is a
        second meaning or by the same words in another order (3), with another verb (4), without a
        verb that says no more than its noun, or if each of its words alone means the same (5).
        """
        joined, apart = plain_name(word), plain_name(spaced(word))
        return self._called(tool, joined) or (self._called(tool, apart) if apart != joined else [])

    def _called(self, tool: str, name: str) -> list[tuple[int, Command, Mapping[str, Any]]]:
        from longhouse.kernel.synonyms import about, is_plural, is_verb, looks_at

        families = sorted({c.partition(".")[0] for c in self.commands if portal_of(c) == tool})
        first, _, rest = name.partition(".")
        if rest and first in families and first != tool:
            return self._within(tool, [first], rest)
        bare = rest if rest and first in (tool, tool.removesuffix("s")) else name
        family, others = about(bare, families)
        if family and others:  # `list_agents`, `kill_process`: the word says whose
            several = looks_at(others) == "" and any(is_plural(one) for one in bare.split("."))
            listed = self._within(tool, [family], "list") if several else []  # `get_agents`
            return listed or self._within(tool, [family], others)
        own = self._named(f"{tool}.{bare}")
        here = any(self.commands[cmd].portal == tool for cmd in own)
        if not here and (own or is_verb(bare)):
            exact = [one for one in families if f"{one}.{bare}" in self.spelled]
            families = exact or [tool]  # a bare verb is about the tool's own things
        return self._within(tool, families, bare)

    def _within(
        self, tool: str, families: list[str], bare: str
    ) -> list[tuple[int, Command, Mapping[str, Any]]]:
        from longhouse.kernel.synonyms import is_plural, is_verb, looks_at, same_words, verb_adds

        found: dict[str, tuple[int, Mapping[str, Any]]] = {}
        for whole in (*(f"{one}.{bare}" for one in families), bare):
            for cmd, implied in self._named(whole).items():
                level = 3 if self._is_second(cmd, whole) else 2
                level = int(families[0] != tool) if self.spelled.get(whole) == cmd else level
                found.setdefault(cmd, (level, implied))
        several = is_plural(bare.rpartition(".")[2])
        reads = several and ("." not in bare or looks_at(bare) is not None)  # `comments`
        for level, verbs in ((3, False), (4, True)):
            said = same_words(bare, verbs=verbs)
            for cmd, whole, implied in () if found else self._wordings(tool):
                family, _, rest = whole.partition(".")
                words = rest if family in families else whole  # `files.reserve` is of no family
                if not said or same_words(words, verbs=verbs) != said:
                    continue
                if not (reads and self.commands[cmd].writes):
                    found.setdefault(cmd, (level, implied))
        first, _, rest = bare.partition(".")
        before, _, last = bare.rpartition(".")
        for verb, noun in ((first, rest), (last, before)):  # `add_comment`, `comment.add`
            if found or not noun or is_verb(noun) or (adds := verb_adds(verb)) is None:
                continue
            for _, command, implied in self._within(tool, families, noun):
                if command.additive if adds else not command.writes:
                    found[command.cmd] = (5, implied)
        if not found and rest:  # `tail_logs`: each word alone means the same
            parts = [self._within(tool, families, one) for one in bare.split(".")]
            common = set.intersection(*({one[1].cmd for one in part} for part in parts))
            found = {c.cmd: (5, given) for _, c, given in parts[0] if c.cmd in common}
        here = ((level, self.commands[cmd], given) for cmd, (level, given) in found.items())
        return [one for one in here if one[1].portal == tool]

    def _named(self, whole: str) -> dict[str, Mapping[str, Any]]:
        """The commands with this full name or other name, each with what the name implies."""
        found: dict[str, Mapping[str, Any]] = {}
        if cmd := self.spelled.get(whole):
            found[cmd] = {}
        for cmd in self.aliases.get(whole, ()):
            others = self.commands[cmd].also.items()
            found[cmd] = next(given for name, given in others if plain_name(name) == whole)
        return found

    def _is_second(self, cmd: str, whole: str) -> bool:
        """Whether a name is declared as a second meaning of the word, for `word~`."""
        return any(plain_name(one) == whole and one[-1] == "~" for one in self.commands[cmd].also)

    def _wordings(self, tool: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for command in self:
            if command.portal == tool:
                yield command.cmd, command.cmd, {}
                yield from ((command.cmd, word, given) for word, given in command.also.items())

    def meant(self, name: str) -> str | None:
        """The command name that a wrong one means: a declared `also`, or else a likely typo."""
        if found := self.stands_for(name):
            return found.cmd
        word = plain_name(name)
        family, _, rest = word.partition(".")
        if (tool := portal_of(word)) in PORTALS and rest:
            worded = self.called(tool, word)
            if worded:
                return worded[0][1].cmd if len(worded) == 1 else None
        beside = [one.partition(".")[2] for one in self.commands if one.startswith(f"{family}.")]
        if not beside:
            return nearest(word, self.commands)
        near = nearest(rest, beside)  # the shared family must not make names look similar
        return f"{family}.{near}" if near else None

    def find(self, request: Request | Draft) -> Command | None:
        """The command that takes this type of request, if this house has it."""
        kind = kind_of(request)
        return self.commands.get(kind) if isinstance(kind, str) else self.by_request.get(kind)

    def outline(self, request: Request | Draft) -> Command | Outline | None:
        """What is needed to offer this request as an action; None if there is no such command.

        A sparse registry returns it without loading the command.
        """
        return self.find(request)

    def of(self, request: Request | Draft) -> Command:
        """Like `find`, but raises KeyError if there is no such command."""
        command = self.find(request)
        if command is None:
            raise KeyError(str(kind_of(request)))
        return command

    def route(self, tool: str, op: str | None, cmd: str | None) -> Command:
        """The command that a portal call selects."""
        tool = portal_named(tool)
        if tool in self.commands:
            return self.commands[tool]
        op = (op or ("call" if cmd else "")).strip().lower()
        if op == "call":
            if not cmd or not cmd.strip():
                raise InvalidInput(
                    f"cmd: expected a command of {tool} (missing)",
                    recovery=f"choose one from system op=cmd.list args.prefix={tool}.",
                )
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
            fix = f"use {known.how}" if known.portal == tool else f"use {known.where}"
        elif near:
            fix = f"did you mean op={near}? others: {offered}"
            known = self.ops[tool, near]
        else:
            fix = f"use one of {offered}; op=call takes cmd=<command>"
        hint = _unknown("op", known.cmd if known else None)
        raise UnknownOp(asked, recovery=fix, hints=[{**hint, "tool": tool}])

    def ops_of(self, tool: str) -> list[str]:
        return [c.op for c in self if c.portal == tool and c.op]


def _unknown(field: str, near: str | None) -> dict[str, Any]:
    return {"kind": "unknown", "field": field, "nearest": near}
