"""A write transaction's state per workspace: the lock, the time, the sequence, the log.

A workspace is entered once, under its lock, in one round trip that reads its sequence, the time,
the time of its newest log row, and the stored answers to the batch's idempotency keys. After that,
numbers are counted in memory, log rows and answers are collected, and everything is written once
before commit. Seq order is therefore commit order, without gaps or a statement per number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from longhouse.kernel.errors import ProjectGuardMismatch
from longhouse.kernel.refs import check_workspace
from longhouse.store.engine import Connection, Row
from longhouse.store.queries import Queries

__all__ = ["START", "Advance", "Mark", "Sequence", "Sequences", "check_guard", "sql"]

sql = Queries("longhouse.store")


class Sequence:
    """One workspace that the transaction has entered."""

    __slots__ = ("answers", "at", "counters", "now_ms", "stored", "ts_ms", "ws")

    def __init__(self, ws: int, seq: int, now_ms: int, ts_ms: int) -> None:
        self.ws = ws
        self.at = self.stored = seq
        self.now_ms = now_ms
        """The store's time when the lock was taken."""
        self.ts_ms = ts_ms
        """The time of the newest log row; the next one is never earlier."""
        self.counters: dict[str, int] = {}
        self.answers: dict[str, Row] = {}
        """The stored answers to the batch's keys."""


class Advance(NamedTuple):
    """What a commit did to a workspace: its seq, and the log rows that brought it there.

    The rows are None if something else did, such as an import.
    """

    seq: int
    rows: list[Row] | None


class Mark(NamedTuple):
    """A saved state of the transaction, to go back to."""

    entered: dict[str, tuple[Sequence, int, int, dict[str, int], dict[str, Row]]]
    logged: int
    answered: int
    knocked: int


START = Mark({}, 0, 0, 0)


class Sequences:
    """The workspaces that one write transaction has entered.

    `keys` holds its calls' idempotency keys by workspace; `made` is true once it created one.
    """

    __slots__ = (
        "_guard",
        "_keys",
        "_written",
        "_written_answers",
        "answered",
        "connection",
        "entered",
        "knocks",
        "logged",
        "made",
    )

    def __init__(
        self, connection: Connection, guard: str | None, keys: Mapping[str, Iterable[str]]
    ) -> None:
        self.connection = connection
        self.made = False
        self.knocks: list[tuple[str, str]] = []
        """The workspaces and keys to announce after the commit, since they are not in the log."""
        self._guard = guard
        self._keys = keys
        self.entered: dict[str, Sequence] = {}
        self.logged: list[Row] = []
        """The rows for the log; they are written before the next statement that is about it."""
        self.answered: list[Row] = []
        """The answers to keys."""
        self._written = self._written_answers = 0

    def counting(self, name: str) -> int:
        """How many of the entered workspaces have a value of this counter that is not stored."""
        return sum(name in one.counters for one in self.entered.values())

    def write_log(self) -> bool:
        """Write the log rows collected so far; returns whether there were any."""
        rows = self.logged[self._written :]
        if rows:
            self.connection.many(sql.log_append, rows)
            self._written = len(self.logged)
        return bool(rows)

    def write_gathered(self) -> None:
        """Write the log rows and answers collected so far."""
        if self._written < len(self.logged):
            self.write_log()
        if self._written_answers < len(self.answered):
            self.connection.many(sql.idempotency_put, self.answered[self._written_answers :])
            self._written_answers = len(self.answered)

    def mark(self) -> Mark:
        entered = {
            name: (one, one.at, one.ts_ms, one.counters.copy(), one.answers.copy())
            for name, one in self.entered.items()
        }
        return Mark(entered, len(self.logged), len(self.answered), len(self.knocks))

    def undo(self, mark: Mark = START) -> None:
        """Go back to the mark, or to the start; workspaces entered since then are unlocked."""
        self.entered = {}
        for name, (one, at, ts_ms, counters, answers) in mark.entered.items():
            one.at, one.ts_ms, one.counters, one.answers = at, ts_ms, counters, answers
            self.entered[name] = one
        del self.logged[mark.logged :]
        del self.answered[mark.answered :]
        del self.knocks[mark.knocked :]
        self._written = min(self._written, mark.logged)
        self._written_answers = min(self._written_answers, mark.answered)

    def store(self) -> dict[str, Advance]:
        """Write everything that changed; returns the workspaces that moved."""
        self.write_gathered()
        moved: dict[str, Advance] = {}
        for name, one in self.entered.items():
            for counter, value in one.counters.items():
                row = {"ws": one.ws, "name": counter, "value": value}
                self.connection.run(sql.counter_store, row)
            if one.at != one.stored:
                self.connection.run(sql.seq_store, {"ws": one.ws, "seq": one.at})
                rows, left = self.logged, one.at - one.stored
                if len(self.entered) > 1:
                    rows = [row for row in rows if row["ws"] == one.ws]
                for logged in rows:
                    left -= logged["span"]
                moved[name] = Advance(one.at, None if left else rows)
        return moved

    def enter(self, workspace: str) -> Sequence:
        """The workspace, locked until commit; it is created on first use."""
        keys = self._keys.get(workspace)
        listed = msgspec.json.encode(sorted(keys)).decode() if keys else None
        row, now_ms, ts_ms, answers = self.connection.enter(workspace, listed)
        if row is None:
            self._make(workspace, now_ms)
            return self.enter(workspace)
        if row["project_guard"] != self._guard:
            check_guard(workspace, row["project_guard"], self._guard)
        entered = Sequence(row["ws"], row["seq"], now_ms, ts_ms or 0)
        if answers:
            entered.answers = {one["key"]: one for one in answers}
        self.entered[workspace] = entered
        return entered

    def _make(self, workspace: str, now_ms: int) -> None:
        """Create the workspace, unless another writer was first."""
        name = check_workspace(workspace)
        self.made = True
        self.connection.run(sql.workspace_add, {"name": name, "guard": self._guard, "now": now_ms})


def check_guard(workspace: str, stored: str | None, ours: str | None) -> None:
    """Refuse a workspace that another project has bound to itself."""
    if stored and ours and stored != ours:
        raise ProjectGuardMismatch(
            f"workspace: {workspace!r} belongs to project {stored}, but this is {ours}",
            recovery="use another workspace (--workspace), or run from that project",
        )
