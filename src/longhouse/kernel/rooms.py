"""`Room`: a room's commands and everything else it contributes to the house.

Each room creates one `Room` and adds declarations to it beside its code. The composition root joins
them into a `Registry`, through which alone dispatch and the house reach the rooms.
"""

from __future__ import annotations

import importlib
import re
import typing
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

from longhouse.kernel.budget import Trim
from longhouse.kernel.contributions import (
    Arriver,
    Check,
    Clamper,
    Holder,
    Loop,
    Opener,
    Reaction,
    Rebuilder,
    Recognizer,
    Recoverer,
    Rewinder,
    Searchable,
    TargetResolver,
    Then,
    Tidier,
    Voucher,
    always,
)
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.names import other_names, portal_of
from longhouse.kernel.refs import RefKind
from longhouse.kernel.registry import Adviser, Ahead, Command, Handler, LinesRenderer, Reissue, Role
from longhouse.kernel.values import Request, Result, agree, only

__all__ = ["Room"]

_CMD = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z")

_GENERATOR = 0x20
"""`inspect.CO_GENERATOR`; importing `inspect` is slow."""
HandlerT = TypeVar("HandlerT", bound=Handler)
AdviserT = TypeVar("AdviserT", bound=Adviser)
LoopT = TypeVar("LoopT", bound=Callable[[Any], object])
ReactionT = TypeVar("ReactionT", bound=Callable[[Any], object])
RecovererT = TypeVar("RecovererT", bound=Callable[[Any], Iterable[Suggestion]])
TargetResolverT = TypeVar("TargetResolverT", bound=Callable[[Any, str], Any])
TidierT = TypeVar("TidierT", bound=Callable[[Any, Any], object])
RewoundT = TypeVar("RewoundT", bound=Callable[[Any, Then], Iterable[tuple[str, dict[str, Any]]]])
RecognizerT = TypeVar("RecognizerT", bound=Recognizer)
VoucherT = TypeVar("VoucherT", bound=Voucher)
SearchedT = TypeVar("SearchedT", bound=Callable[[Any, Any, Any], Iterable[Any]])
ProvidedT = TypeVar("ProvidedT", bound=Callable[..., Any])


class Room:
    """Collects what one room contributes to the house; each method declares one kind of thing.

    `modules` lists the modules of the package that declare something. The package does not import
    them, so that they can be imported one at a time.
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
        self.arrivers: list[Arriver] = []
        self.targets: list[TargetResolver] = []
        self.recoverers: list[Recoverer] = []
        self.reactions: list[Reaction] = []
        self.tidiers: list[Tidier] = []
        self.vouchers: list[Voucher] = []
        self.recognizers: list[Recognizer] = []
        self.clampers: list[Clamper] = []
        self.searchables: list[Searchable] = []
        self.rewinders: list[Rewinder] = []
        self.provided: dict[str, Callable[..., Any]] = {}

    def load(self) -> None:
        """Import every module, which makes its declarations."""
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
        additive: bool = False,
        idempotent: bool = False,
        reveals: Iterable[str] = (),
        whole: bool = False,
        unkept: Iterable[str] = (),
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
        `ahead` returns is the third argument of the handler. `also` lists other names that callers
        use for `cmd`: "new" for `jobs.create` is `jobs.new`. An `additive` write only adds, or
        moves only what is the caller's own; it runs under such names too.
        A `slow` command reads more than the store, and never runs on an event loop. Not even a
        digest of the arguments named in `unkept` is stored. A program acts on a `whole`
        answer: no budget cuts it, so its handler bounds it.
        """
        if bool(reveals) != bool(reissue):
            raise ValueError(f"{cmd}: `reveals` and `reissue` must be given together")
        if not _CMD.match(cmd):
            raise ValueError(f"{cmd!r} is not a valid command name")

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
                    additive=additive,
                    idempotent=idempotent or not writes,
                    reveals=tuple(reveals),
                    whole=whole,
                    unkept=tuple(unkept),
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
        self, seconds: float, when: Callable[[Any], bool] = always, *, by_hand: bool = False
    ) -> Callable[[LoopT], LoopT]:
        """Register the decorated `(tx) -> None` as maintenance that the leading server runs."""

        def declare(run: LoopT) -> LoopT:
            self.loops.append(Loop(f"{self.name}.{run.__name__}", seconds, run, when, by_hand))
            return run

        return declare

    def advises(self, adviser: AdviserT) -> AdviserT:
        """Register the decorated `(tx) -> Advice`: this room's part of `status`."""
        self.advisers.append(adviser)
        return adviser

    def opens(
        self,
        kind: str,
        pattern: str,
        what: str,
        example: str,
        *,
        mention: str | None = "",
        proves: bool = True,
        cites: bool = True,
        general: bool = False,
    ) -> Callable[[Callable[[Any, Any, re.Match[str]], Any]], Any]:
        """Register the decorated `(tx, request, match) -> result` for refs that match entirely.

        Texts are searched for `mention`, or for the pattern where it is left out. Only kinds that
        show what was done prove work.
        """
        ref = RefKind(
            kind=kind,
            what=what,
            pattern=pattern,
            example=example,
            mention=pattern if mention == "" else mention,
            proves=proves,
            cites=cites,
            general=general,
        )

        def register(resolve: Callable[[Any, Any, re.Match[str]], Any]) -> Any:
            self.openers.append(Opener(ref, re.compile(rf"(?:{pattern})\Z"), resolve))
            return resolve

        return register

    def check(self, what: str) -> Callable[[Holder], Holder]:
        """Register the decorated `(tx) -> complaints` for `verify`, once per workspace.

        A room whose tables are derived from the log derives them again here and compares.
        """

        def register(complaints: Holder) -> Holder:
            self.checks.append(Check(self.name, what, complaints))
            return complaints

        return register

    def holds_artifacts(self, holder: Holder) -> Holder:
        """Register `(tx) -> digests or ids`: artifacts that must not be garbage-collected."""
        self.holders.append(holder)
        return holder

    def rebuilds(self, rebuilder: Rebuilder) -> Rebuilder:
        """Register `(tx) -> None`: rebuilds an index after a workspace has been imported.

        An index is derived from other tables, so exports do not contain it.
        """
        self.rebuilders.append(rebuilder)
        return rebuilder

    def clamps(self, clamper: Clamper) -> Clamper:
        """Register `(tx) -> None`: shortens what a clock that was ahead has made too long.

        It runs when the store's clock has not continued the one before it, and every minute.
        """
        self.clampers.append(clamper)
        return clamper

    def arrives(self, arriver: Arriver) -> Arriver:
        """Register `(tx, arrival) -> held`: disarms rows that an import or a restore brought.

        Every room that can run something, or that lets someone act, declares one.
        """
        self.arrivers.append(arriver)
        return arriver

    def resolves_targets(self, resolver: TargetResolverT) -> TargetResolverT:
        """Register `(tx, id) -> TargetInfo | None`: finds a plan or task of this room."""
        self.targets.append(resolver)
        return resolver

    def recovers(self, recoverer: RecovererT) -> RecovererT:
        """Register `(refusal) -> suggestions`: calls that help after a failed one."""
        self.recoverers.append(recoverer)
        return recoverer

    def after(self, *cmds: str) -> Callable[[ReactionT], ReactionT]:
        """Register the decorated `(commit) -> None` to run after these commands have committed.

        It runs only in servers, on a separate thread. The answer does not wait for it or depend on
        it, and a failure is logged.
        """

        def declare(run: ReactionT) -> ReactionT:
            self.reactions.append(Reaction(frozenset(cmds), run))
            return run

        return declare

    def vouches(self, voucher: VoucherT) -> VoucherT:
        """Register `(tx, name) -> bool`: whether a name is an identity that the caller may act as.

        It raises for an identity that is someone else's; a name it does not know is only a label.
        """
        self.vouchers.append(voucher)
        return voucher

    def recognizes(self, recognizer: RecognizerT) -> RecognizerT:
        """Register `(tx) -> name`: the identity that the call's connection has proved to be."""
        self.recognizers.append(recognizer)
        return recognizer

    def provides(self, what: str) -> Callable[[ProvidedT], ProvidedT]:
        """Register the decorated function for another room, which asks for it by that name."""

        def declare(provided: ProvidedT) -> ProvidedT:
            self.provided[what] = provided
            return provided

        return declare

    def searchable(
        self, kind: str, rows: Callable[[Any, int, int], Iterable[int]]
    ) -> Callable[[SearchedT], SearchedT]:
        """Register the decorated `(tx, seqs, look) -> documents`: what search finds of a kind."""

        def declare(read: SearchedT) -> SearchedT:
            self.searchables.append(Searchable(kind, read, rows))
            return read

        return declare

    def rewinds(self, *tables: str) -> Callable[[RewoundT], RewoundT]:
        """Register the decorated `(tx, then) -> (table, row)`: these tables as they were then.

        A command whose request is a `PastRequest` reads them with `as_of`.
        """

        def declare(rows: RewoundT) -> RewoundT:
            self.rewinders.append(Rewinder(frozenset(tables), rows))
            return rows

        return declare

    def tidies(self, tidier: TidierT) -> TidierT:
        """Register `(db, call) -> None`: occasional maintenance of the whole store."""
        self.tidiers.append(tidier)
        return tidier
