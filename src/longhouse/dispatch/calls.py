"""The values of one call on its way through: who calls, what was understood, what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from longhouse.kernel.budget import Budget
from longhouse.kernel.envelope import Answer
from longhouse.kernel.registry import Command, Role
from longhouse.kernel.schema import Common
from longhouse.kernel.values import Request
from longhouse.store.tx import Call, Refused, Tx, Wait

__all__ = ["Caller", "ClientSession", "HandlerOutcome", "Observer", "Prepared"]


class ClientSession:
    """What one client connection remembers between calls.

    `home` is the workspace that it was opened for, `workspace` the one chosen since. One that is
    not `kept` ends with its call.
    """

    __slots__ = ("home", "kept", "workspace")

    def __init__(self, home: str | None = None, *, kept: bool = True) -> None:
        self.home = home
        self.kept = kept
        self.workspace: str | None = None

    @property
    def current(self) -> str | None:
        return self.workspace or self.home


class Caller:
    """Who calls: a role, a name for the record, and a session where the surface has one."""

    __slots__ = ("name", "role", "session", "waits")

    def __init__(
        self,
        role: Role,
        *,
        name: str | None = None,
        session: ClientSession | None = None,
        waits: AbstractContextManager[None] | None = None,
    ) -> None:
        """`waits` is entered while a call waits; a surface may bound by it how many do."""
        self.waits = waits or nullcontext()
        self.role = role
        self.name = name
        self.session = session


class Observer(Protocol):
    """Hears of every finished call: metrics and logs."""

    def __call__(
        self, cmd: str, answer: Answer, seconds: float, defect: BaseException | None
    ) -> None: ...


class HandlerOutcome:
    """What the handler made of it, with the notes its transaction gathered."""

    __slots__ = ("replayed", "result", "tx", "wait")

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.result: Any = None
        self.wait: Wait | None = None
        self.replayed = False


class Prepared:
    """A call that has been understood and allowed; its `work` runs in a transaction."""

    __slots__ = (
        "budget",
        "call",
        "caller",
        "command",
        "common",
        "deadline",
        "made_ahead",
        "request",
        "seen",
        "started",
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
        self.deadline: float | None = None
        self.seen = 0
        self.made_ahead: tuple[Any, ...] = ()
        self.call: Call
        self.work: Callable[[Tx], Any]

    @property
    def asks(self) -> str | None:
        """Of which kind the questions are that its work yields, if it does."""
        return self.command.cmd if self.command.asks else None

    def work_ahead(self, tx: Tx) -> Any:
        assert self.command.ahead is not None
        return self.command.ahead(tx, self.request)

    def wait_left(self, outcome: HandlerOutcome | Refused) -> float | None:
        """Seconds that a waiting call may still wait, None when it has its answer."""
        if isinstance(outcome, Refused) or outcome.wait is None:
            return None
        now = time.monotonic()
        ends = now + outcome.wait.timeout_ms / 1000
        self.deadline = ends if self.deadline is None else min(self.deadline, ends)
        if now < self.deadline:
            return self.deadline - now
        outcome.result, outcome.wait = outcome.wait.result, None
        return None
