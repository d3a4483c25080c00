"""The transaction passed to a handler: one workspace, with time, ids and the log.

A Tx reads and writes through named queries, allocates from the workspace's one sequence, and
appends to the log. It is valid for one call only. The same state and arguments give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from collections.abc import Sequence as Several
from typing import Any, NamedTuple, TypeVar

import msgspec

from longhouse.kernel.clock import Ids, rfc3339
from longhouse.kernel.envelope import Warned
from longhouse.kernel.errors import InternalError, LonghouseError, Suggestion
from longhouse.kernel.standing import Standing
from longhouse.kernel.values import Draft, Request, Value
from longhouse.store.engine import Connection, Row
from longhouse.store.log import LogEvent, LogRow
from longhouse.store.queries import Query
from longhouse.store.sequence import Sequence, Sequences, sql
from longhouse.store.wakeups import ANYTHING, Concern

__all__ = [
    "Asking",
    "Call",
    "Concern",
    "LogEvent",
    "LogRow",
    "Question",
    "Refused",
    "Tx",
    "Wait",
    "sql",
]

T = TypeVar("T")


class Refused:
    """A refusal that leaves a record: the handler's writes are undone, but these events commit.

    `also` may write anything else that should persist despite the refusal.
    """

    __slots__ = ("also", "error", "events")

    def __init__(
        self,
        error: LonghouseError,
        events: Several[LogEvent],
        also: Callable[[Tx], None] | None = None,
    ) -> None:
        self.error = error
        self.events = tuple(events)
        self.also = also


class Wait:
    """No answer yet: run the handler again after a commit; on timeout, answer with `result`.

    `again` replaces the request for the following runs. A commit that does not concern the wait
    (`on`) does not run it again.
    """

    __slots__ = ("again", "on", "result", "timeout_ms")

    def __init__(
        self,
        result: Value,
        timeout_ms: int,
        again: Request | None = None,
        *,
        on: Concern = ANYTHING,
    ) -> None:
        self.result = result
        self.timeout_ms = timeout_ms
        self.again = again
        self.on = on


class Question(NamedTuple):
    """A statement that a handler yields; it resumes with the rows."""

    query: Query
    params: dict[str, Any]


Asking = Generator[Question, list[Row], T]
"""The generator of a handler that yields its statement (`rows = yield tx.ask(…)`).

Where a round trip costs more than the statement, adjacent calls of one command send theirs
together. After its statement such a handler also sees what the other calls' statements did, so it
may only report what its own statement did, and must not decide anything else.
"""


_PERSON = Standing()


class Call:
    """Who calls, with which credential; `facts` describe the house, `session` the connection.

    Without `now_ms` the time of the call is the store's own, read under the lock. `key` is its
    idempotency key.
    """

    __slots__ = ("actor", "by", "facts", "ids", "key", "now_ms", "pays", "session")

    def __init__(
        self,
        *,
        ids: Ids,
        now_ms: int | None = None,
        actor: str | None = None,
        by: Standing = _PERSON,
        facts: Any = None,
        session: Any = None,
        key: str | None = None,
        pays: str | None = None,
    ) -> None:
        self.now_ms = now_ms
        self.ids = ids
        self.actor = actor
        self.by = by
        self.facts = facts
        self.session = session
        self.key = key
        self.pays = pays or by.pays

    def at(self, now_ms: int | None) -> Call:
        """The same call at another time."""
        return Call(
            now_ms=now_ms,
            ids=self.ids,
            key=self.key,
            actor=self.actor,
            by=self.by,
            facts=self.facts,
            session=self.session,
            pays=self.pays,
        )


class Tx:
    """One transaction of one call; `dirty` is true once it may have changed something.

    `shared` is common to adjacent calls of the same command in a batch: one may leave what it read
    there for the next. A handler whose result concludes something from rows that a budget may cut
    sets `rederive`, which concludes it again from the rows that are left. `as_of` is the seq that a
    read of the past sees.
    """

    __slots__ = (
        "_connection",
        "_sequence",
        "_sequences",
        "actor",
        "as_of",
        "by",
        "dirty",
        "facts",
        "ids",
        "now_ms",
        "rederive",
        "session",
        "shared",
        "suggestions",
        "warnings",
        "workspace",
        "ws",
    )

    def __init__(
        self,
        connection: Connection,
        call: Call,
        *,
        workspace: str,
        ws: int,
        now_ms: int,
        sequences: Sequences | None = None,
        sequence: Sequence | None = None,
        shared: dict[type, Any] | None = None,
        as_of: int | None = None,
    ) -> None:
        self._connection = connection
        self.as_of = as_of
        self._sequences = sequences
        self._sequence = sequence
        self.dirty = False
        self.workspace = workspace
        self.ws = ws
        self.now_ms = now_ms
        self.ids = call.ids
        self.actor = call.actor
        self.by = call.by
        self.facts = call.facts
        self.session = call.session
        self.shared = {} if shared is None else shared
        self.warnings: list[Warned] = []
        self.suggestions: list[Suggestion] = []
        self.rederive: Callable[[dict[str, Any]], None] | None = None

    @classmethod
    def to_write(
        cls,
        sequences: Sequences,
        workspace: str,
        call: Call,
        shared: dict[type, Any] | None = None,
    ) -> Tx:
        """A write transaction, which enters the workspace."""
        sequence = sequences.entered.get(workspace) or sequences.enter(workspace)
        return cls(
            sequences.connection,
            call,
            workspace=workspace,
            ws=sequence.ws,
            now_ms=sequence.now_ms if call.now_ms is None else call.now_ms,
            sequences=sequences,
            sequence=sequence,
            shared=shared,
        )

    @property
    def writes(self) -> bool:
        return self._sequences is not None

    def rewound(self, to: Callable[[Connection], Any], seq: int, now_ms: int) -> Tx:
        """The same reader's transaction on the tables as they were at a seq."""
        past = Tx(
            to(self._connection),
            Call(
                ids=self.ids, actor=self.actor, by=self.by, facts=self.facts, session=self.session
            ),
            workspace=self.workspace,
            ws=self.ws,
            now_ms=now_ms,
            as_of=seq,
        )
        past.warnings = self.warnings
        return past

    @property
    def now(self) -> str:
        return rfc3339(self.now_ms)

    def all(self, query: Query, **params: Any) -> list[Row]:
        """Every row; `:ws` is bound automatically."""
        params["ws"] = self.ws
        if query.about_log:
            self._about_to(query)
        return self._rows(query, params)

    def one(self, query: Query, **params: Any) -> Row | None:
        """The first row, if any; for a conditional write, None means that it did not happen."""
        params["ws"] = self.ws
        if query.about_log:
            self._about_to(query)
        rows = self._rows(query, params)
        return rows[0] if rows else None

    def value(self, query: Query, **params: Any) -> Any:
        """The first column of the first row, or None."""
        rows = self.all(query, **params)
        return next(iter(rows[0].values())) if rows else None

    def ask(self, query: Query, **params: Any) -> Question:
        """A statement to yield, or to pass to `answer`."""
        params["ws"] = self.ws
        if query.about_log:
            self._about_to(query)
        return Question(query, params)

    def answer(self, question: Question) -> list[Row]:
        """Run one statement and return its rows."""
        return self._rows(*question)

    def _rows(self, query: Query, params: dict[str, Any]) -> list[Row]:
        dirty, self.dirty = self.dirty, True  # a failed statement affects more than this call
        rows = self._connection.rows(query, params)
        self.dirty = dirty or query.writes
        return rows

    def answers(self, questions: Several[Question]) -> list[list[Row]]:
        """Run several statements in one round trip and return their rows."""
        dirty, self.dirty = self.dirty, True  # as in `_rows`
        asked = [self._connection.ask(*question) for question in questions]
        self._connection.settle()
        self.dirty = dirty or any(question.query.writes for question in questions)
        return [one.result for one in asked]

    def run(self, query: Query, **params: Any) -> None:
        """Run a statement and discard its rows."""
        params["ws"] = self.ws
        if query.about_log:
            self._about_to(query)
        self.dirty = True
        self._connection.run(query, params)

    def many(self, query: Query, rows: Several[dict[str, Any]]) -> None:
        """One statement for many rows; `:ws` is bound automatically."""
        self._about_to(query)
        self.dirty = True
        self._connection.many(query, [{**row, "ws": self.ws} for row in rows])

    def seqs(self, count: int) -> int:
        """Allocate `count` consecutive numbers and return the first."""
        sequence = self._sequence or self._writing()
        sequence.at += count
        return sequence.at - count + 1

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
        """Append one log row and return its seq: a new one, or one allocated before with `seqs`.

        The row accounts for the `span` consecutive seqs that end with it.
        """
        sequence = self._sequence or self._writing()
        if seq is None:
            seq = sequence.at = sequence.at + 1
        if self.now_ms > sequence.ts_ms:
            sequence.ts_ms = self.now_ms
        assert self._sequences is not None
        self._sequences.logged.append(
            {
                "ws": self.ws,
                "seq": seq,
                "ts_ms": sequence.ts_ms,
                "stream": stream,
                "subject": subject,
                "kind": kind,
                "actor": self.actor,
                "data": msgspec.json.encode(data or {}).decode(),
                "span": span,
            }
        )
        return seq

    @property
    def ts_ms(self) -> int:
        """The time of the next log row: now, but never before the newest row."""
        newest = (self._sequence or self._writing()).ts_ms
        return max(self.now_ms, newest)

    def count(self, name: str, step: int = 1) -> int:
        """Increment the workspace's counter and return it."""
        value = self.counted(name) + step
        self._writing().counters[name] = value
        return value

    def counted(self, name: str) -> int:
        """The value of the workspace's counter."""
        if self._sequence is not None and name in self._sequence.counters:
            return self._sequence.counters[name]
        return int(self.value(sql.counter_now, name=name) or 0)

    def counting(self, name: str) -> int:
        """How many workspaces have this counter, with those of this transaction."""
        assert self._sequences is not None
        self.all(sql.workspaces_count_alone, name=name)
        stored: int = self.value(sql.workspaces_counting, name=name)
        return stored + self._sequences.counting(name)

    def remembered(self, key: str) -> Row | None:
        """The stored answer to this key, which must be the call's own."""
        return (self._sequence or self._writing()).answers.get(key)

    def remember(self, key: str, cmd: str, digest: str, answer: str) -> None:
        """Store the answer to the call's key, atomically with the call's writes."""
        row = {"ws": self.ws, "key": key, "cmd": cmd, "digest": digest, "answer": answer}
        row["ts_ms"] = self.now_ms
        (self._sequence or self._writing()).answers[key] = row
        assert self._sequences is not None
        self._sequences.answered.append(row)

    def remember_anew(self, key: str, answer: str) -> None:
        """Replace the stored answer to a key."""
        assert self._sequences is not None
        self._sequences.write_gathered()
        self.run(sql.idempotency_reissued, key=key, answer=answer)
        answers = self._writing().answers
        answers[key] = {**answers[key], "answer": answer}

    def knock(self, key: str) -> None:
        """After the commit, wake those who wait for this key (`Concern.knocks`), in all processes.

        For what is not logged. Someone who waits in another process is woken by any key.
        """
        self._writing()
        assert self._sequences is not None
        self._sequences.knocks.append((self.workspace, key))

    def last_seq(self) -> int:
        """The newest seq visible to this transaction."""
        if self._sequence is not None:
            return self._sequence.at
        if self.as_of is not None:
            return self.as_of
        return int(self.value(sql.seq_now) or 0)

    def warn(self, code: str, message: str, recovery: str | None = None) -> None:
        self.warnings.append(Warned(code=code, message=message, recovery=recovery))

    def suggest(
        self,
        request: Request | Draft,
        why: str,
        *,
        priority: str = "medium",
        action_id: str | None = None,
    ) -> None:
        """Suggest a next call; dispatch turns it into a portal call."""
        self.suggestions.append(Suggestion(request, why, priority=priority, action_id=action_id))

    def _writing(self) -> Sequence:
        if self._sequence is None:
            raise InternalError("a read command tried to write")
        return self._sequence

    def _about_to(self, query: Query) -> None:
        """Before a statement that touches the log, write the rows collected for it."""
        if self._sequences is not None and query.about_log:
            self.dirty = self._sequences.write_log() or self.dirty
