"""The store as the rest of the house sees it: run a function in a transaction, and be woken.

`read` and `write` take a function of a Tx and return what it returned. Writes of one lane are
grouped into one durable commit; nobody is answered before it. Reads see one snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from longhouse.kernel.errors import InternalError, LonghouseError, StoreError
from longhouse.store.engine import Connection, Engine, Lost
from longhouse.store.group import GroupCommit, Work
from longhouse.store.tx import Call, Refused, Sequences, Tx, check_guard, sql
from longhouse.store.wakeups import Wakeups

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Database"]

T = TypeVar("T")

READ_THREADS = 4
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
        self.wakeups = Wakeups(engine.signal, self._seqs)
        self._guard = project_guard
        self._known: dict[str, int] = {}
        self._lanes: dict[str, GroupCommit[_Write]] = {}
        self._mutex = threading.Lock()
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._closed = False

    def read(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        """Run `function` over one snapshot; a workspace that does not exist reads as empty."""
        try:
            return self._read(workspace, function, call)
        except Lost as lost:
            if not lost.again:
                raise lost.error from lost
        try:
            return self._read(workspace, function, call)
        except Lost as lost:
            raise lost.error from lost

    def write(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        """Run `function` in a durable transaction; it makes the workspace on first use."""
        return self._lane(workspace).run(_Write(workspace, function, call))  # type: ignore[no-any-return]

    async def read_async(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        """The same as `read`, without blocking the event loop."""
        from asyncio import get_running_loop

        readers = self._pool("reader", READ_THREADS)
        return await get_running_loop().run_in_executor(
            readers, self.read, workspace, function, call
        )

    async def write_async(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        """The same as `write`, without blocking the event loop."""
        from asyncio import get_running_loop

        write = _Write(workspace, function, call)
        return await self._lane(workspace).submit(write, get_running_loop())  # type: ignore[no-any-return]

    def workspaces(self) -> list[str]:
        """The names of all workspaces of the store."""
        return sorted(self._seqs())

    def close(self) -> None:
        """Let what waits finish, then let go of everything; a closed store stays closed."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            lanes, pools = list(self._lanes.values()), list(self._pools.values())
        for lane in lanes:
            lane.close()
        for pool in pools:
            pool.shutdown()
        self.wakeups.close()
        self.engine.close()

    def _read(self, workspace: str, function: Callable[[Tx], T], call: Call) -> T:
        if self._closed:
            raise StoreError("the store is closed")
        with self.engine.reader() as connection:
            connection.begin(write=False)
            try:
                ws = self._find(connection, workspace)
                return function(Tx(connection, None, workspace, ws, call))
            finally:
                connection.rollback()

    def _find(self, connection: Connection, workspace: str) -> int:
        ws = self._known.get(workspace)
        if ws is None:
            rows = connection.rows(sql.workspace_by_name, {"name": workspace})
            if not rows:
                return NO_WORKSPACE
            check_guard(workspace, rows[0]["project_guard"], self._guard)
            ws = self._known[workspace] = rows[0]["ws"]
        return ws

    def _lane(self, workspace: str) -> GroupCommit[_Write]:
        name = self.engine.lane(workspace)
        lane = self._lanes.get(name)
        if lane is None:
            with self._mutex:
                if self._closed:
                    raise StoreError("the store is closed; nothing was written")
                lane = self._lanes.setdefault(
                    name, GroupCommit(lambda batch: self._commit(name, batch), self._start)
                )
        return lane

    def _start(self, lead: Callable[[], None]) -> None:
        self._pool("writer", self.engine.lanes).submit(lead)

    def _pool(self, name: str, threads: int) -> ThreadPoolExecutor:
        pool = self._pools.get(name)
        if pool is None:
            from concurrent.futures import ThreadPoolExecutor

            with self._mutex:
                pool = self._pools.setdefault(
                    name, ThreadPoolExecutor(threads, f"longhouse-{name}")
                )
        return pool

    def _commit(self, lane: str, batch: list[Work[_Write]]) -> None:
        """Run a batch in one transaction, and give every work its result or its trouble."""
        trouble: LonghouseError
        try:
            moved = self._persist(lane, batch)
        except Lost as lost:
            trouble = lost.error
        except Exception as error:
            trouble = _trouble(error)
        else:
            for workspace, seq in moved.items():
                self.wakeups.publish(workspace, seq)
            if moved:
                self.engine.announce()
            return
        for work in batch:
            work.trouble = trouble

    def _persist(self, lane: str, batch: list[Work[_Write]]) -> dict[str, int]:
        """Run a batch, again with savepoints if one of it failed, and once more if it was lost.

        Savepoints are dear and failures are few, so a batch starts without. Handlers are functions
        of the transaction alone: running one again is the same as running it later.
        """
        guard = _Guard.ALONE if len(batch) == 1 else _Guard.TOGETHER
        lost_before = False
        while True:
            try:
                return self._attempt(lane, batch, guard)
            except Lost as lost:
                if lost_before or not lost.again:
                    raise
                lost_before = True
            except Exception:
                if guard is not _Guard.TOGETHER:
                    raise
                guard = _Guard.SAVEPOINTS

    def _attempt(self, lane: str, batch: list[Work[_Write]], guard: _Guard) -> dict[str, int]:
        with self.engine.writer(lane) as connection:
            connection.begin(write=True)
            try:
                sequences = Sequences(connection, self._guard)
                for work in batch:
                    _run(sequences, work, guard)
                moved = sequences.store()
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
        return moved

    def _seqs(self) -> dict[str, int]:
        """How far every workspace is."""
        with self.engine.reader() as connection:
            connection.begin(write=False)
            try:
                return {r["name"]: r["seq"] for r in connection.rows(sql.workspace_seqs, {})}
            finally:
                connection.rollback()


class _Guard(Enum):
    """What keeps the failure of one write from harming others."""

    ALONE = "its transaction is undone"
    TOGETHER = "it must have changed nothing, or all are run again with savepoints"
    SAVEPOINTS = "its savepoint is undone"


class _Spoiled(Exception):
    """A write failed after it had changed something that others would commit."""


def _run(sequences: Sequences, work: Work[_Write], guard: _Guard) -> None:
    """Run one write of a batch; a refusal keeps its events and nothing else."""
    write = work.payload
    work.result, work.trouble = _guarded(sequences, write, write.function, guard)
    if isinstance(work.result, Refused):
        refused = work.result

        def record(tx: Tx) -> None:
            for event in refused.events:
                tx.append(event.stream, event.subject, event.kind, event.data)
            if refused.also:
                refused.also(tx)

        _, work.trouble = _guarded(sequences, write, record, guard)


def _guarded(
    sequences: Sequences, write: _Write, function: Callable[[Tx], Any], guard: _Guard
) -> tuple[Any, LonghouseError | None]:
    """Run the function so that its failure or refusal leaves nothing and harms no other."""
    connection = sequences.connection
    mark = None if guard is _Guard.ALONE else sequences.mark()
    tx, result, trouble = None, None, None
    if guard is _Guard.SAVEPOINTS:
        connection.savepoint()
    try:
        ws = sequences.enter(write.workspace, write.call.now_ms)
        tx = Tx(connection, sequences, write.workspace, ws, write.call)
        result = function(tx)
        if not isinstance(result, Refused):
            if guard is _Guard.SAVEPOINTS:
                connection.release()
            return result, None
    except Lost:
        raise
    except Exception as error:
        trouble = _trouble(error)
    sequences.undo(mark)
    if guard is _Guard.ALONE:
        connection.rollback()
        connection.begin(write=True)
    elif guard is _Guard.SAVEPOINTS:
        connection.undo()
    elif tx is None or tx.dirty:
        raise _Spoiled
    return result, trouble


def _trouble(error: Exception) -> LonghouseError:
    """The error as the caller hears it; of a defect of ours only the server's log tells more."""
    if isinstance(error, LonghouseError):
        return error
    if isinstance(error, MemoryError):
        return StoreError("out of memory; nothing was written")
    internal = InternalError()
    internal.__cause__ = error
    return internal
