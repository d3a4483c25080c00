"""The values that describe one call: its caller, its prepared form and its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from longhouse.kernel.budget import PROFILES, Budget
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.schema import Common
from longhouse.kernel.standing import PERSON
from longhouse.kernel.values import PastRequest, Request
from longhouse.store.sequence import sql
from longhouse.store.tx import Call, Refused, Tx, Wait
from longhouse.store.wakeups import ANYTHING

if TYPE_CHECKING:
    import asyncio

    from longhouse.kernel.registry import Registry
    from longhouse.store.database import Database

__all__ = [
    "Caller",
    "ClientSession",
    "HandlerOutcome",
    "Observer",
    "OwnTurns",
    "Prepared",
    "budget_of",
    "settled",
]


class OwnTurns:
    """The turns of a caller who shares its event loop with no one: always at once."""

    async def take(self, *, begun: bool = False) -> None:
        """Return when the caller may compute; `begun` for a call that did so before."""

    def charge(self, used_s: float) -> None:
        """Count what was computed for the caller in several rounds of the loop."""

    def away(self) -> AbstractContextManager[None]:
        """Not to count a call as under way while it waits for something to happen."""
        return nullcontext()

    def line_up(self, moved: asyncio.Future[None]) -> None:
        """Resolve a future when the caller may compute."""
        if not moved.done():
            moved.set_result(None)


class ClientSession:
    """What one client connection remembers between calls.

    `home` is the workspace it was opened for, `workspace` the one chosen since. A session that is
    not `kept` ends with its call. `key` identifies the connection, even across server restarts; a
    session without a key shares the workspace's focus and checkout. `nobody_in` has the workspaces
    where it is known not to have proved an identity, so that not every call has to look. A session
    with `lines` wants its reads in lines unless they say otherwise.
    """

    __slots__ = ("home", "kept", "key", "lines", "nobody_in", "workspace")

    def __init__(
        self, home: str | None = None, *, kept: bool = True, key: str | None = None
    ) -> None:
        self.home = home
        self.kept = kept
        self.key = key
        self.workspace: str | None = None
        self.nobody_in: set[str] = set()
        self.lines = False

    @property
    def current(self) -> str | None:
        return self.workspace or self.home


class Caller:
    """Who makes a call: the role, the owner of the token, and the session if there is one.

    `agent` is the name bound to the token: the caller acts as that agent and no other. `name`
    is a default chosen when the connection was set up; `said` is a name that the caller claims.
    `waits` is a context entered while a call waits, with which a surface can limit the number
    of waiting calls; `turns` says when a call may compute in an event loop that serves many.
    `runner` is true for a token made for a runner, `client` for that of a client that the
    person set up on this machine; `payer` is the token whose share of the store's threads and
    commits the caller uses, if that is not its own. Setting `revoked` ends those waits. A `large`
    request is decoded outside the event loop.
    """

    __slots__ = (
        "agent",
        "client",
        "large",
        "name",
        "owner",
        "payer",
        "revoked",
        "role",
        "runner",
        "said",
        "session",
        "turns",
        "waits",
        "workspaces",
    )

    def __init__(
        self,
        role: Role,
        *,
        owner: str = PERSON,
        agent: str | None = None,
        name: str | None = None,
        said: str | None = None,
        session: ClientSession | None = None,
        workspaces: tuple[str, ...] | None = None,
        waits: AbstractContextManager[None] | None = None,
        runner: bool = False,
        client: bool = False,
        payer: str | None = None,
        turns: OwnTurns | None = None,
    ) -> None:
        self.payer = payer
        self.turns = turns or OwnTurns()
        self.runner = runner
        self.client = client
        self.waits = waits or nullcontext()
        self.role = role
        self.owner = owner
        self.agent = agent
        self.name = name
        self.said = said
        self.session = session
        self.workspaces = workspaces
        self.revoked = False
        self.large = False

    @property
    def pays(self) -> str:
        """The token for which everything that the caller asks for is done."""
        return self.payer or self.owner.partition("/")[0]


class Observer(Protocol):
    """Receives every finished call, for metrics and logs."""

    def __call__(
        self, cmd: str, answer: Answer, seconds: float, defect: BaseException | None
    ) -> None: ...


class HandlerOutcome:
    """The handler's result, and the transaction with its warnings and suggestions."""

    __slots__ = ("answer", "new", "raw", "replayed", "result", "tx", "wait")

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.result: Any = None
        self.raw: bytes | None = None
        """The encoded result, if it had to be stored."""
        self.wait: Wait | None = None
        self.replayed = self.new = False
        self.answer: Answer | None = None
        """The answer, if it was built where the handler ran."""


class Prepared:
    """A call that has been decoded and permitted; its `work` runs in a transaction."""

    __slots__ = (
        "acts_as",
        "as_of",
        "budget",
        "call",
        "caller",
        "command",
        "common",
        "deadline",
        "knocks",
        "made_ahead",
        "on",
        "request",
        "seen",
        "started",
        "taught",
        "work",
        "workspace",
        "writes",
    )

    def __init__(
        self,
        command: Command,
        caller: Caller,
        common: Common,
        budget: Budget,
        request: Request,
        workspace: str,
        started: float,
        *,
        writes: bool,
    ) -> None:
        self.command = command
        self.caller = caller
        self.common = common
        self.budget = budget
        self.request = request
        self.workspace = workspace
        self.started = started
        self.writes = writes
        self.as_of = request.as_of if isinstance(request, PastRequest) else None
        self.acts_as: str | None = None
        """A name that the caller claims as its own, to be checked inside the transaction."""
        self.deadline: float | None = None
        self.seen = 0
        self.on = ANYTHING
        """What a waiting call is about."""
        self.knocks = 0
        """How many knocks there had been before the handler looked."""
        self.made_ahead: tuple[Any, ...] = ()
        self.taught: dict[str, Any] | None = None
        """The warning that teaches the right names, if others were understood."""
        self.call: Call
        self.work: Callable[[Tx], Any]

    @property
    def asks(self) -> str | None:
        """The command's name if its handler yields statements for batching, else None."""
        return self.command.cmd if self.command.asks else None

    @property
    def slow(self) -> bool:
        """Whether it is too much for an event loop: it reads more than the store, or the past."""
        return self.command.slow or self.as_of is not None

    def handled(self, tx: Tx, db: Database, registry: Registry) -> Any:
        """What the handler returns; a read as of an earlier seq sees the tables as they were."""
        seen = tx if self.as_of is None else self._rewound(tx, db, registry, self.as_of)
        made = self.command.handler(seen, self.request, *self.made_ahead)
        tx.rederive = seen.rederive
        return made

    def _rewound(self, tx: Tx, db: Database, registry: Registry, as_of: int) -> Tx:
        if self.writes:
            raise InvalidInput(
                "as_of: only a read can be answered as of an earlier seq; fix: leave as_of out"
            )
        return db.moments.at(tx, as_of, registry.rewinders)

    def work_ahead(self, tx: Tx) -> Any:
        assert self.command.ahead is not None
        return self.command.ahead(tx, self.request)

    def wait_left(self, outcome: HandlerOutcome | Refused) -> float | None:
        """Seconds that a waiting call may still wait; None once it has its result."""
        if isinstance(outcome, Refused) or outcome.wait is None:
            return None
        now = time.monotonic()
        ends = now + outcome.wait.timeout_ms / 1000
        self.deadline = ends if self.deadline is None else min(self.deadline, ends)
        if now < self.deadline:
            return self.deadline - now
        outcome.result, outcome.wait = outcome.wait.result, None
        return None


def settled(tx: Tx) -> bool:
    """Settle whose project the workspace is; True if there is nothing more to settle.

    In a database of its own that is so once any project was bound.
    """
    row = None if tx.facts.shares_database else tx.one(sql.workspace_binding)
    if row is not None and row["binding"] != "open":
        return True
    from longhouse.store.projects import settle_project

    return settle_project(tx)


def budget_of(command: Command, common: Common, own: dict[str, Any]) -> Budget:
    """The requested budget; a command may define some of these arguments itself.

    A size over the cap is lowered in the command's own arguments too.
    """

    def asked(knob: str) -> int | None:
        value = own.get(knob, getattr(common, knob, None))
        return value if type(value) is int else None

    budget = Budget.of(
        common.budget_profile or command.profile,
        max_chars=asked("max_chars"),
        context_budget=asked("context_budget"),
        max_bytes=common.max_bytes,
        max_lines=common.max_lines,
        limit=asked("limit"),
    )
    for knob, _ in budget.clamped:
        if knob in own:
            own[knob] = PROFILES[budget.profile].cap(knob)
    return budget
