"""What a handler gets: one transaction in one workspace, with time, ids and the log.

A Tx reads and writes through named queries, allocates from the workspace's one sequence, and
appends to the log. It is valid for one call only. Same state and arguments, same bytes out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from longhouse.kernel.clock import Ids, rfc3339
from longhouse.kernel.envelope import Warned
from longhouse.kernel.errors import (
    InternalError,
    LonghouseError,
    ProjectGuardMismatch,
    Suggestion,
)
from longhouse.kernel.refs import check_workspace
from longhouse.kernel.values import Request, Value
from longhouse.store.engine import Connection, Row
from longhouse.store.queries import Queries, Query

__all__ = [
    "Asking",
    "Call",
    "LogEvent",
    "LogRow",
    "Question",
    "Refused",
    "Sequences",
    "Tx",
    "Wait",
    "check_guard",
    "sql",
]

sql = Queries("longhouse.store")

T = TypeVar("T")


class LogEvent(Value, frozen=True, kw_only=True):
    """What happened, before it has a seq."""

    stream: str
    subject: str
    kind: str
    data: dict[str, Any] = {}


class LogRow(Value, frozen=True, kw_only=True):
    """One row of the log."""

    seq: int
    ts_ms: int
    stream: str
    subject: str
    kind: str
    actor: str | None
    data: dict[str, Any]

    @property
    def ref(self) -> str:
        return f"{self.subject}@{self.seq}"

    @classmethod
    def from_row(cls, row: Row) -> LogRow:
        return cls(**{**row, "data": msgspec.json.decode(row["data"])})


class Refused:
    """A refusal that leaves a record: the handler's writes are undone, these events commit.

    `also` may write what else stays true although the call was refused.
    """

    __slots__ = ("also", "error", "events")

    def __init__(
        self,
        error: LonghouseError,
        events: Sequence[LogEvent],
        also: Callable[[Tx], None] | None = None,
    ) -> None:
        self.error = error
        self.events = tuple(events)
        self.also = also


class Wait:
    """Nothing to answer yet: ask the handler again after a commit; at the deadline, `result`."""

    __slots__ = ("result", "timeout_ms")

    def __init__(self, result: Value, timeout_ms: int) -> None:
        self.result = result
        self.timeout_ms = timeout_ms


class Question(NamedTuple):
    """A statement that a handler yields, to go on with its rows."""

    query: Query
    params: dict[str, Any]


Asking = Generator[Question, list[Row], T]
"""What a handler returns that yields its question (`rows = yield tx.ask(…)`) instead of waiting.

Where a round trip costs more than the statement, the questions of one command travel together.
After its question such a handler sees what others that asked the same have done as well: so it may
only tell of what its own statement did, and must not decide anything anew.
"""


class Kept(NamedTuple):
    """What one call of a transaction learnt of a workspace; only these writes leave it true."""

    ws: int
    learnt: Any
    despite: Container[Query]


class Call:
    """Who calls and with what standing; `facts` describe the house, `session` the connection."""

    __slots__ = ("actor", "facts", "ids", "now_ms", "session")

    def __init__(
        self,
        *,
        now_ms: int,
        ids: Ids,
        actor: str | None = None,
        facts: Any = None,
        session: Any = None,
    ) -> None:
        self.now_ms = now_ms
        self.ids = ids
        self.actor = actor
        self.facts = facts
        self.session = session


class Sequences:
    """The workspaces that one write transaction has entered, each locked, with what it counts.

    A sequence is read once under the workspace's lock, counted in memory and stored once before
    commit: so seq order is commit order, without a gap and without a statement per number. The
    same goes for the workspace's counters, and log rows are written together, before commit or
    when someone reads the log. `made` once it has made a workspace; `company` writes share the
    transaction.
    """

    __slots__ = (
        "_at",
        "_counters",
        "_entered",
        "_guard",
        "_log",
        "_logged",
        "company",
        "connection",
        "kept",
        "made",
    )

    def __init__(self, connection: Connection, guard: str | None, company: int = 1) -> None:
        self.connection = connection
        self.company = company
        self.kept: Kept | None = None
        self._guard = guard
        self._entered: dict[str, tuple[int, int]] = {}
        self._at: dict[int, int] = {}
        self._counters: dict[tuple[int, str], int] = {}
        self._log: list[dict[str, Any]] = []
        self._logged = 0
        self.made = False

    def enter(self, workspace: str, now_ms: int) -> int:
        """The row id of the workspace, locked until commit; it is made on first use."""
        entered = self._entered.get(workspace)
        if entered is None:
            row = self._lock(workspace) or self._make(workspace, now_ms)
            check_guard(workspace, row["project_guard"], self._guard)
            entered = self._entered[workspace] = (row["ws"], row["seq"])
            self._at[entered[0]] = entered[1]
        return entered[0]

    def take(self, ws: int, count: int = 1) -> int:
        """Allocate `count` numbers and return the first."""
        at = self._at[ws]
        self._at[ws] = at + count
        return at + 1

    def at(self, ws: int) -> int:
        return self._at[ws]

    def count(self, ws: int, name: str, step: int) -> int:
        """Count a counter of the workspace up by `step` and return it."""
        self._counters[ws, name] = value = self.counted(ws, name) + step
        return value

    def counted(self, ws: int, name: str) -> int:
        """How far a counter is, with what this transaction counted."""
        value = self._counters.get((ws, name))
        if value is None:
            rows = self.connection.rows(sql.counter_now, {"ws": ws, "name": name})
            value = int(rows[0]["value"]) if rows else 0
        return value

    def log(self, row: dict[str, Any]) -> None:
        """A row for the log."""
        self._log.append(row)

    def write_log(self) -> None:
        """Write the log rows that wait."""
        if self._logged < len(self._log):
            self.connection.many(sql.log_append, self._log[self._logged :])
            self._logged = len(self._log)

    def mark(self) -> Mark:
        return self._entered.copy(), self._at.copy(), self._counters.copy(), len(self._log)

    def undo(self, mark: Mark | None) -> None:
        """As it was at the mark, or at the start: what was entered since is locked no more."""
        self._entered, self._at, self._counters, logged = mark or ({}, {}, {}, 0)
        del self._log[logged:]
        self._logged = min(self._logged, logged)
        self.kept = None

    def store(self) -> dict[str, int]:
        """Write back what moved; the result maps those workspaces to their new seq."""
        self.write_log()
        for (ws, name), value in self._counters.items():
            row = {"ws": ws, "name": name, "value": value}
            self.connection.run(sql.counter_store, row)
        moved = {}
        for name, (ws, stored) in self._entered.items():
            if (seq := self._at[ws]) != stored:
                self.connection.run(sql.seq_store, {"ws": ws, "seq": seq})
                moved[name] = seq
        return moved

    def _lock(self, workspace: str) -> Row | None:
        rows = self.connection.rows(sql.workspace_lock, {"name": workspace})
        return rows[0] if rows else None

    def _make(self, workspace: str, now_ms: int) -> Row:
        name = check_workspace(workspace)
        self.made = True
        self.connection.rows(sql.workspace_add, {"name": name, "guard": self._guard, "now": now_ms})
        row = self._lock(name)
        assert row is not None
        return row


Mark = tuple[dict[str, tuple[int, int]], dict[int, int], dict[tuple[int, str], int], int]


def check_guard(workspace: str, stored: str | None, ours: str | None) -> None:
    """Refuse a workspace that another project has bound to itself."""
    if stored and ours and stored != ours:
        raise ProjectGuardMismatch(
            f"workspace {workspace!r} belongs to project {stored}, this is {ours}",
            recovery="use another workspace (--workspace), or run from that project",
        )


class Tx:
    """One transaction of one call; `dirty` once it may have changed something."""

    __slots__ = (
        "_connection",
        "_sequences",
        "actor",
        "dirty",
        "facts",
        "ids",
        "now_ms",
        "session",
        "suggestions",
        "warnings",
        "workspace",
        "ws",
    )

    def __init__(
        self,
        connection: Connection,
        sequences: Sequences | None,
        workspace: str,
        ws: int,
        call: Call,
    ) -> None:
        self._connection = connection
        self._sequences = sequences
        self.dirty = False
        self.workspace = workspace
        self.ws = ws
        self.now_ms = call.now_ms
        self.ids = call.ids
        self.actor = call.actor
        self.facts = call.facts
        self.session = call.session
        self.warnings: list[Warned] = []
        self.suggestions: list[Suggestion] = []

    @property
    def now(self) -> str:
        return rfc3339(self.now_ms)

    def all(self, query: Query, **params: Any) -> list[Row]:
        """Every row; `:ws` is bound by itself."""
        return self.answer(self.ask(query, **params))

    def one(self, query: Query, **params: Any) -> Row | None:
        """The first row, if any: for a conditional write, None means it did not happen."""
        rows = self.all(query, **params)
        return rows[0] if rows else None

    def value(self, query: Query, **params: Any) -> Any:
        """The first column of the first row, or None."""
        rows = self.all(query, **params)
        return next(iter(rows[0].values())) if rows else None

    def ask(self, query: Query, **params: Any) -> Question:
        """A question to yield."""
        params["ws"] = self.ws
        self._about_to(query)
        return Question(query, params)

    def answer(self, question: Question) -> list[Row]:
        """The answer to a question, waited for."""
        dirty, self.dirty = self.dirty, True
        rows = self._connection.rows(question.query, question.params)
        self.dirty = dirty
        self.heard(question, rows)
        return rows

    def answers(self, questions: Sequence[Question]) -> list[list[Row]]:
        """The answers to several questions, in one round trip."""
        dirty, self.dirty = self.dirty, True
        asked = [self._connection.ask(*question) for question in questions]
        self._connection.settle()
        self.dirty = dirty
        answers = [one.rows or [] for one in asked]
        for question, rows in zip(questions, answers, strict=True):
            self.heard(question, rows)
        return answers

    def heard(self, question: Question, rows: list[Row]) -> None:
        """Note whether the answer to a question means that something was changed."""
        self.dirty = self.dirty or question.query.changed_something(rows)

    def run(self, query: Query, **params: Any) -> None:
        """Run a statement whose rows nobody wants."""
        params["ws"] = self.ws
        self._about_to(query)
        self.dirty = True
        self._connection.run(query, params)

    def many(self, query: Query, rows: Sequence[dict[str, Any]]) -> None:
        """One statement for many rows; `:ws` is bound by itself."""
        self._about_to(query)
        self.dirty = True
        self._connection.many(query, [{**row, "ws": self.ws} for row in rows])

    def seqs(self, count: int) -> int:
        """Allocate `count` consecutive numbers and return the first."""
        if self._sequences is None:
            raise InternalError("a read command tried to write")
        return self._sequences.take(self.ws, count)

    def append(
        self,
        stream: str,
        subject: str,
        kind: str,
        data: dict[str, Any] | None = None,
        *,
        seq: int | None = None,
        span: int = 1,
    ) -> int:
        """Append one log row and return its seq (its own, or one taken before with `seqs`).

        One row may account for the `span` consecutive seqs that end with it.
        """
        seq = self.seqs(1) if seq is None else seq
        assert self._sequences is not None
        self.dirty = True
        self._sequences.log(
            {
                "ws": self.ws,
                "seq": seq,
                "ts_ms": self.now_ms,
                "stream": stream,
                "subject": subject,
                "kind": kind,
                "actor": self.actor,
                "data": msgspec.json.encode(data or {}).decode(),
                "span": span,
            }
        )
        return seq

    def count(self, name: str, step: int = 1) -> int:
        """Count the workspace's counter up and return it."""
        if self._sequences is None:
            raise InternalError("a read command tried to write")
        return self._sequences.count(self.ws, name, step)

    def counted(self, name: str) -> int:
        """How far the workspace's counter is."""
        if self._sequences is not None:
            return self._sequences.counted(self.ws, name)
        return int(self.value(sql.counter_now, name=name) or 0)

    @property
    def company(self) -> int:
        """How many writes share the transaction; a read is alone."""
        return self._sequences.company if self._sequences else 1

    def keep(self, learnt: object, *, despite: Container[Query]) -> None:
        """Leave what was learnt to the next call of the transaction, if only these write."""
        if self._sequences is not None:
            self._sequences.kept = Kept(self.ws, learnt, despite)

    def recall(self, kind: type[T]) -> T | None:
        """What a call before this one kept, if it still holds."""
        kept = self._sequences.kept if self._sequences else None
        holds = kept is not None and kept.ws == self.ws and isinstance(kept.learnt, kind)
        return kept.learnt if kept and holds else None

    def last_seq(self) -> int:
        """The newest seq that this transaction can see."""
        if self._sequences is not None:
            return self._sequences.at(self.ws)
        return int(self.value(sql.seq_now) or 0)

    def warn(self, code: str, message: str, recovery: str | None = None) -> None:
        self.warnings.append(Warned(code=code, message=message, recovery=recovery))

    def suggest(
        self, request: Request, why: str, *, priority: str = "medium", action_id: str | None = None
    ) -> None:
        """Offer a next call; the surface turns it into a complete portal call."""
        self.suggestions.append(Suggestion(request, why, priority=priority, action_id=action_id))

    def _about_to(self, query: Query) -> None:
        """Before a statement: the log is written if it is about it, and what it outdates goes."""
        if self._sequences is not None:
            if query.about_log:
                self._sequences.write_log()
            kept = self._sequences.kept
            if kept is not None and query.writes and query not in kept.despite:
                self._sequences.kept = None
