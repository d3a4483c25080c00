"""The store as the rest of the house sees it: run a function in a transaction, and be woken.

`read` and `write` take a function of a Tx and return what it returned. Writes of one lane are
grouped into one durable commit; nobody is answered before it. Reads see one snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from longhouse.kernel.errors import (
    InternalError,
    LonghouseError,
    ProjectGuardMismatch,
    StoreError,
)
from longhouse.kernel.refs import check_workspace
from longhouse.store.engine import Connection, Engine
from longhouse.store.group import GroupCommit, Work
from longhouse.store.tx import Call, Refused, Sequences, Tx, sql
from longhouse.store.wakeups import Wakeups

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["Database"]

T = TypeVar("T")

_ASYNC_READERS = 4
NO_WORKSPACE = 0
"""The row id that no workspace has: reads of a workspace that does not exist find nothing."""


class _Write:
    __slots__ = ("call", "function", "workspace")

    def __init__(self, workspace: str, function: Callable[[Tx], Any], call: Call) -> None:
        self.workspace = workspace
        self.function = function
        self.call = call


class Database:
    """One open store."""

    def __init__(self, engine: Engine, *, project_guard: str | None = None) -> None:
        self.engine = engine
        self.wakeups = Wakeups()
        self._guard = project_guard
        self._known: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._lanes: dict[str, GroupCommit[_Write]] = {}
        self._mutex = threading.Lock()
        self._readers: ThreadPoolExecutor | None = None

    def read(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        """Run `function` over one snapshot; a workspace that does not exist reads as empty."""
        with self.engine.reader() as connection:
            connection.begin(write=False)
            try:
                ws = self._find(connection, workspace)
                if ws is None:
                    ws = NO_WORKSPACE
                else:
                    self._remember(workspace, ws)
                return function(Tx(connection, None, workspace, ws, call))
            finally:
                connection.rollback()

    def write(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        """Run `function` in a durable transaction; it makes the workspace on first use."""
        return self._lane(workspace).run(_Write(workspace, function, call))  # type: ignore[no-any-return]

    def submit_read(self, workspace: str, function: Callable[[Tx], T], call: Call) -> Future[T]:
        """The same as `read`, answered later: for event loops."""
        with self._mutex:
            if self._readers is None:
                from concurrent.futures import ThreadPoolExecutor

                self._readers = ThreadPoolExecutor(_ASYNC_READERS, "longhouse-reader")
        return self._readers.submit(self.read, workspace, function, call)

    def submit_write(self, workspace: str, function: Callable[[Tx], T], call: Call) -> Future[T]:
        """The same as `write`, answered later: for event loops."""
        return self._lane(workspace).submit(_Write(workspace, function, call))

    def close(self) -> None:
        with self._mutex:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.close()
        if self._readers is not None:
            self._readers.shutdown()
        self.engine.close()

    def _lane(self, workspace: str) -> GroupCommit[_Write]:
        name = self.engine.lane(workspace)
        lane = self._lanes.get(name)
        if lane is None:
            with self._mutex:
                lane = self._lanes.setdefault(
                    name, GroupCommit(name, lambda batch: self._commit(name, batch))
                )
        return lane

    def _commit(self, lane: str, batch: list[Work[_Write]]) -> None:
        """Run a batch in one transaction and settle every work in it."""
        fresh: dict[str, int] = {}
        try:
            with self.engine.writer(lane) as connection:
                connection.begin(write=True)
                try:
                    sequences = Sequences(connection)
                    for work in batch:
                        self._run(connection, sequences, fresh, work)
                    moved = sequences.store()
                    connection.commit()
                except BaseException:
                    connection.rollback()
                    raise
        except BaseException as error:
            trouble = error if isinstance(error, LonghouseError) else _defect(error)
            for work in batch:
                work.trouble = work.trouble or trouble
            if not isinstance(error, Exception):
                raise
            return
        for name, ws in fresh.items():
            self._remember(name, ws)
        for ws, seq in moved.items():
            self.wakeups.publish(self._names[ws], seq)

    def _run(
        self, connection: Connection, sequences: Sequences, fresh: dict[str, int],
        work: Work[_Write],
    ) -> None:  # fmt: skip
        """Run one write in a savepoint; a refusal keeps its events and nothing else."""
        write = work.payload
        connection.savepoint()
        mark = sequences.mark()
        try:
            tx = self._open(connection, sequences, fresh, write)
            work.result = write.function(tx)
            if isinstance(work.result, Refused):
                connection.rollback_to_savepoint()
                sequences.undo(mark)
                connection.savepoint()
                tx = self._open(connection, sequences, fresh, write)
                for event in work.result.events:
                    tx.append(event.stream, event.subject, event.kind, event.data)
            connection.release()
            fresh[write.workspace] = tx.ws
        except Exception as error:
            connection.rollback_to_savepoint()
            sequences.undo(mark)
            work.trouble = error if isinstance(error, LonghouseError) else _defect(error)

    def _open(
        self, connection: Connection, sequences: Sequences, fresh: dict[str, int], write: _Write
    ) -> Tx:
        ws = fresh.get(write.workspace) or self._find(connection, write.workspace)
        if ws is None:
            ws = self._make(connection, write)
        return Tx(connection, sequences, write.workspace, ws, write.call)

    def _find(self, connection: Connection, workspace: str) -> int | None:
        if (ws := self._known.get(workspace)) is not None:
            return ws
        rows = connection.rows(sql.workspace_by_name, {"name": workspace})
        if not rows:
            return None
        stored = rows[0]["project_guard"]
        if self._guard and stored and stored != self._guard:
            raise ProjectGuardMismatch(
                f"workspace {workspace!r} belongs to project {stored}, this is {self._guard}",
                recovery="use another workspace (--workspace), or run from that project",
            )
        return int(rows[0]["ws"])

    def _make(self, connection: Connection, write: _Write) -> int:
        name = check_workspace(write.workspace)
        connection.rows(
            sql.workspace_add, {"name": name, "guard": self._guard, "now": write.call.now_ms}
        )
        return int(connection.rows(sql.workspace_by_name, {"name": name})[0]["ws"])

    def _remember(self, workspace: str, ws: int) -> None:
        self._names[ws] = workspace
        self._known[workspace] = ws


def _defect(error: BaseException) -> LonghouseError:
    """A defect of ours: the caller learns no details, the log of the server does."""
    if isinstance(error, MemoryError):
        return StoreError("out of memory; nothing was written")
    internal = InternalError()
    internal.__cause__ = error
    return internal
