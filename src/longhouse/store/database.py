"""The store as the rest of the house sees it: run a function in a transaction, and be woken.

`read` and `write` take a function of a Tx and return what it returned. Writes of one lane are
grouped into one durable commit; nobody is answered before it. Reads see one snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from longhouse.kernel.errors import InternalError, LonghouseError, StoreError
from longhouse.store.engine import Connection, Engine, Lost, Row
from longhouse.store.group import GroupCommit, Work
from longhouse.store.tx import Asking, Call, Question, Refused, Sequences, Tx, check_guard, sql
from longhouse.store.wakeups import Wakeups

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Database"]

T = TypeVar("T")

Function = Callable[[Tx], T] | Callable[[Tx], Asking[T]]
"""What runs in a transaction."""

READ_THREADS = 4
NO_WORKSPACE = 0
"""The row id that no workspace has: reads of a workspace that does not exist find nothing."""


class _Write:
    __slots__ = ("asks", "call", "function", "workspace")

    def __init__(
        self, workspace: str, function: Callable[[Tx], Any], call: Call, asks: str | None
    ) -> None:
        self.workspace = workspace
        self.function = function
        self.call = call
        self.asks = asks


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
        self._boldest = _Guard.TOGETHER if engine.local else _Guard.ASKING
        self._closed = False

    def read(self, workspace: str, function: Function[T], call: Call) -> T:
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

    def write(
        self,
        workspace: str,
        function: Function[T],
        call: Call,
        *,
        asks: str | None = None,
    ) -> T:
        """Run `function` in a durable transaction; it makes the workspace on first use.

        One that `asks` returns a generator of questions; those that ask the same in a row may be
        answered together.
        """
        write = _Write(workspace, function, call, asks)
        return self._lane(workspace).run(write)  # type: ignore[no-any-return]

    async def read_async(self, workspace: str, function: Function[T], call: Call) -> T:
        """The same as `read`, without blocking the event loop."""
        from asyncio import get_running_loop

        readers = self._pool("reader", READ_THREADS)
        return await get_running_loop().run_in_executor(
            readers, self.read, workspace, function, call
        )

    async def write_async(
        self,
        workspace: str,
        function: Function[T],
        call: Call,
        *,
        asks: str | None = None,
    ) -> T:
        """The same as `write`, without blocking the event loop."""
        from asyncio import get_running_loop

        write = _Write(workspace, function, call, asks)
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

    def _read(self, workspace: str, function: Function[T], call: Call) -> T:
        if self._closed:
            raise StoreError("the store is closed")
        with self.engine.reader() as connection:
            connection.begin(write=False)
            try:
                ws = self._find(connection, workspace)
                return _result(Tx(connection, None, workspace, ws, call), function)
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
        """Run a batch, again with more care if one of it failed, and once more if it was lost.

        Savepoints are dear and failures are few, so a batch starts without. Handlers are functions
        of the transaction alone: running one again is the same as running it later.
        """
        guard = _Guard.ALONE if len(batch) == 1 else self._boldest
        lost_before = False
        while True:
            try:
                return self._attempt(lane, batch, guard)
            except Lost as lost:
                if lost_before or not lost.again:
                    raise
                lost_before = True
            except Exception:
                if guard not in _MORE_CAREFUL:
                    raise
                guard = _MORE_CAREFUL[guard]

    def _attempt(self, lane: str, batch: list[Work[_Write]], guard: _Guard) -> dict[str, int]:
        with self.engine.writer(lane) as connection:
            connection.begin(write=True)
            try:
                sequences = Sequences(connection, self._guard, company=len(batch))
                _run_all(sequences, batch, guard)
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
    ASKING = "all are run again, one after the other"
    TOGETHER = "it must have changed nothing, or all are run again with savepoints"
    SAVEPOINTS = "its savepoint is undone"


_MORE_CAREFUL = {_Guard.ASKING: _Guard.TOGETHER, _Guard.TOGETHER: _Guard.SAVEPOINTS}


class _Spoiled(Exception):
    """A write failed after it had changed something that others would commit."""


def _run_all(sequences: Sequences, batch: list[Work[_Write]], guard: _Guard) -> None:
    """Run a batch in its order; of works in a row that ask the same, the questions go together."""
    asking: list[_Asking] = []
    for work in batch:
        asks = work.payload.asks if guard is _Guard.ASKING else None
        if asking and asking[-1].asks != asks:
            _answer_all(sequences, asking)
        if asks is None:
            _run(sequences, work, guard)
        else:
            asking.append(_Asking(sequences, work))
    _answer_all(sequences, asking)


class _Asking:
    """A write that waits for the answer to its question."""

    __slots__ = ("_asked", "_question", "_steps", "_tx", "_work", "asks")

    def __init__(self, sequences: Sequences, work: Work[_Write]) -> None:
        write = work.payload
        self.asks = write.asks
        ws = sequences.enter(write.workspace, write.call.now_ms)
        self._work = work
        self._tx = Tx(sequences.connection, sequences, write.workspace, ws, write.call)
        self._steps: Asking[Any] = write.function(self._tx)
        self._question: Question | None = None
        try:
            self._question = next(self._steps)
            self._asked = sequences.connection.ask(*self._question)
        except StopIteration as end:  # it had nothing to ask
            work.result = end.value

    def answer(self, *, last: bool) -> None:
        """Go on with the answer; what it logs beyond its own event would come out of turn."""
        at = self._tx.last_seq()
        if self._question is not None:
            assert self._asked.rows is not None
            self._tx.heard(self._question, self._asked.rows)
            self._work.result = _answered(self._tx, self._steps, self._asked.rows)
        if isinstance(self._work.result, Refused) or (self._tx.last_seq() != at and not last):
            raise _Spoiled


def _answer_all(sequences: Sequences, asking: list[_Asking]) -> None:
    if asking:
        sequences.connection.settle()
        for one in asking:
            one.answer(last=one is asking[-1])
        asking.clear()


def _result(tx: Tx, function: Function[T]) -> T:
    """What comes of the function, its questions answered one by one."""
    made = function(tx)
    return _answered(tx, made) if isinstance(made, Generator) else made


def _answered(tx: Tx, steps: Asking[T], rows: list[Row] | None = None) -> T:
    """What comes of the steps when every question from here on is answered at once."""
    try:
        question = next(steps) if rows is None else steps.send(rows)
        while True:
            question = steps.send(tx.answer(question))
    except StopIteration as end:
        result: T = end.value
        return result


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
        result = _result(tx, function)
        if not isinstance(result, Refused):
            if guard is _Guard.SAVEPOINTS:
                sequences.write_log()  # here, so that a row that cannot be written is its own fault
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
    elif tx is None or tx.dirty or sequences.made:
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
