"""The store's interface for the rest of the house: transactions and wake-ups.

`read` and `write` take a function of a Tx and return its result. Writes of one lane are grouped
into one durable commit, and none is answered before it. A read sees one snapshot.

For event loops, reads run on threads of their own kind (`Way`), which owners share fairly. A read
that is too much for its kind is abandoned and runs again on the threads for long ones.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from longhouse.kernel.effort import Allowance, Overdrawn, within
from longhouse.kernel.errors import LonghouseError, ReadTooLong, StoreBusy, StoreError
from longhouse.store.batch import (
    Function,
    Write,
    result_of,
    run_apart,
    run_together,
    trouble_of,
)
from longhouse.store.engine import Connection, Lost, StoreEngine, StoreFull
from longhouse.store.group import GroupCommit, LoneThread, Work
from longhouse.store.sequence import Advance, Sequences, check_guard, sql
from longhouse.store.tx import Call, Tx
from longhouse.store.wakeups import Wakeups

if TYPE_CHECKING:
    from concurrent.futures import Future

    from longhouse.store.fair import FairPool, Rests
    from longhouse.store.past import Moments

__all__ = ["CHECKS", "FOLLOWERS", "HOUSE", "LONG", "QUICK", "STAGING", "Database", "Way"]

T = TypeVar("T")


MOST_WAITING = 1_000_000


class Way(NamedTuple):
    """One kind of read: its threads, how many of them one owner may hold, and what it may do."""

    name: str
    threads: int
    share: int
    units: int
    seconds: float
    most_waiting: int = MOST_WAITING
    paced: bool = False
    rests: Rests = "never"


CHECKS = Way("checks", 2, 1, 1 << 30, 5.0)
"""Who is calling, and whether a token has ended: never behind anyone's reads."""
QUICK = Way("reader", 4, 2, 1 << 20, 2.0)
LONG = Way("long", 2, 1, 4 << 30, 10.0, most_waiting=64, paced=True, rests="always")
"""Whatever is too much for the quick readers: files, long logs, large artifacts."""
STAGING = Way("staging", 2, 1, 1 << 62, math.inf, most_waiting=64, paced=True, rests="always")
"""Bytes that a write stores ahead: the quota limits them, and a write is not given up half-way."""
FOLLOWERS = Way("follower", 2, 1, 4 << 30, 10.0, rests="crowded")
"""Pages of the log for streams that are behind."""
HOUSE = ""
"""The owner of reads that no caller asked for."""
QUEUED_S = 10.0
"""How long a read may wait for its turn; after that it fails with StoreBusy."""
LATELY_S = 30.0
MOST_KINDS = 4_096
LANES_SHARE = 1
"""How many lanes one owner's writes may hold at the same time, if others have written lately."""
COUNTED_S = 0.02
"""Of what one read computes, how much its owner owes others; longer ones rest on their threads."""
NO_WORKSPACE = 0
"""A row id that no workspace has: reads of a workspace that does not exist find nothing."""


class Database:
    """One open store."""

    def __init__(self, engine: StoreEngine, *, project_guard: str | None = None) -> None:
        self.engine = engine
        self.wakeups = Wakeups(engine.signal, self._seqs)
        self._guard = project_guard
        self._known: dict[str, int] = {}
        self._lanes: dict[str, GroupCommit[Write]] = {}
        self._mutex = threading.Lock()
        self._writers: FairPool | LoneThread | None = None
        self._readers: dict[str, FairPool] = {}
        self._background: set[Hashable] = set()
        self._lately: dict[tuple[str, str], float] = {}
        """Until when an owner's work of a kind starts as a long read."""
        self._moments: Moments | None = None
        self._closed = False
        self.used: Callable[[str, float], object] = lambda _owner, _seconds: None
        """Is told, by any thread, for how long it was busy for an owner."""
        self.full = False
        """Whether the disk was full at the last write: writes fail, but reads still work."""

    def read(self, workspace: str, function: Function[T], call: Call) -> T:
        """Run `function` on one snapshot; a workspace that does not exist reads as empty."""
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
        """Run `function` in a durable transaction; creates the workspace on first use.

        A function with `asks` returns a generator of statements; adjacent ones with equal `asks`
        may send them together.
        """
        write = Write(workspace, function, call, asks)
        return self._lane(workspace).run(write, call.pays)  # type: ignore[no-any-return]

    async def read_async(
        self,
        workspace: str,
        function: Function[T],
        call: Call,
        way: Way = QUICK,
        *,
        larger: Way | None = None,
        kind: str = "",
    ) -> T:
        """The same as `read`, without blocking the event loop."""
        owner = call.pays
        read = partial(self.read, workspace, function, call)
        return await self.apart(owner, read, way, larger=larger, kind=kind)

    async def apart(
        self,
        owner: str,
        work: Callable[[], T],
        way: Way = QUICK,
        *,
        larger: Way | None = None,
        kind: str = "",
    ) -> T:
        """Run work that may be repeated on a thread; what is too much for it becomes a long read.

        An owner is the token that a call came with, without the session. `larger` replaces the
        long read. If work of this `kind` was lately too much, it is not tried as a quick one.
        """
        from asyncio import wrap_future

        if way is QUICK and self._lately.get((owner, kind), 0.0) > time.monotonic():
            way = larger or LONG
        if way is QUICK:
            try:
                return await wrap_future(self._submit(owner, work, way))
            except Overdrawn:
                way = larger or LONG
                if kind:
                    if len(self._lately) >= MOST_KINDS:
                        self._lately.clear()
                    self._lately[owner, kind] = time.monotonic() + LATELY_S
        try:
            return await wrap_future(self._submit(owner, work, way))
        except Overdrawn:
            raise ReadTooLong from None

    def read_long(self, workspace: str, function: Function[T], call: Call) -> T:
        """The same as `read`, within the limits of a long read."""
        try:
            with within(Allowance(LONG.units, LONG.seconds, paced=True)):
                return self.read(workspace, function, call)
        except Overdrawn:
            raise ReadTooLong from None

    def in_background(self, owner: str, key: Hashable, work: Callable[[], object]) -> None:
        """Start work on the threads for long reads, once at a time for each key.

        It sets its own limits, because it may also write. If too much of this owner's work is
        waiting it is not started; whoever asks again later has better luck.
        """
        with self._mutex:
            if key in self._background:
                return
            self._background.add(key)
        try:
            started = self._pool(LONG).submit(owner.partition("/")[0], work)
        except LonghouseError:
            self._background.discard(key)
        else:
            started.add_done_callback(partial(self._ended, key))

    def _ended(self, key: Hashable, work: Future[object]) -> None:
        self._background.discard(key)
        if not (self._closed or work.cancelled()) and (error := work.exception()) is not None:
            import logging

            logging.getLogger("longhouse.background").warning("failed", exc_info=error)

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait until no read runs on a thread; False on timeout."""
        return all(pool.settle(timeout_s) for pool in tuple(self._readers.values()))

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

        write = Write(workspace, function, call, asks)
        lane, owner = self._lane(workspace), call.pays
        return await lane.submit(write, get_running_loop(), owner)  # type: ignore[no-any-return]

    @property
    def moments(self) -> Moments:
        """The tables as they were at earlier seqs."""
        if self._moments is None:
            from longhouse.store.past import Moments

            self._moments = Moments()
        return self._moments

    def time(self, call: Call) -> int:
        """The time of the call, in milliseconds."""
        now_ms: int = self.read("", lambda tx: tx.now_ms, call)
        return now_ms

    def workspaces(self) -> list[str]:
        """The names of all workspaces in the store."""
        try:
            return sorted(self._seqs())
        except Lost as lost:
            raise lost.error from lost

    def close(self) -> None:
        """Finish the queued writes, then release everything; a closed store stays closed."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            lanes, readers = list(self._lanes.values()), list(self._readers.values())
        for lane in lanes:
            lane.close()
        if self._writers is not None:
            self._writers.close()
        for pool in readers:
            pool.close()
        self.wakeups.close()
        self.engine.close()

    def _read(self, workspace: str, function: Function[T], call: Call) -> T:
        if self._closed:
            raise StoreError("the store is closed")
        with self.engine.reader() as connection:
            connection.begin(write=False)
            try:
                ws = self._find(connection, workspace)
                now_ms = connection.now_ms() if call.now_ms is None else call.now_ms
                tx = Tx(connection, call, workspace=workspace, ws=ws, now_ms=now_ms)
                return result_of(tx, function)
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

    def _lane(self, workspace: str) -> GroupCommit[Write]:
        name = self.engine.lane(workspace)
        lane = self._lanes.get(name)
        if lane is None:
            with self._mutex:
                if self._closed:
                    raise StoreError("the store is closed; nothing was written")
                lane = self._lanes.setdefault(
                    name,
                    GroupCommit(lambda batch: self._commit(name, batch), self._start, self._count),
                )
        return lane

    def _start(self, owner: str, lead: Callable[[], None]) -> None:
        """Lead a lane on a thread, in turn with the lanes of other owners."""
        with self._mutex:
            if self._writers is None:
                self._writers = _writers(self.engine.lanes)
        self._writers.submit(owner, lead)

    def _count(self, owner: str, seconds: float) -> None:
        if owner != HOUSE:
            self.used(owner, min(seconds, COUNTED_S))

    def _submit(self, owner: str, work: Callable[[], T], way: Way) -> Future[T]:
        """Queue work for a thread; it fails if it waits too long for its turn."""
        waits_until = time.monotonic() + QUEUED_S

        def run() -> T:
            if time.monotonic() > waits_until:
                raise StoreBusy("too many reads of this token are waiting for the store")
            with within(Allowance(way.units, way.seconds, paced=way.paced)):
                return work()

        return self._pool(way).submit(owner, run)

    def _pool(self, way: Way) -> FairPool:
        pool = self._readers.get(way.name)
        if pool is None:
            from longhouse.store.fair import FairPool

            with self._mutex:
                if self._closed:
                    raise StoreError("the store is closed")
                made = FairPool(
                    way.name,
                    way.threads,
                    way.share,
                    way.most_waiting,
                    rests=way.rests,
                    used=self._count,
                )
                pool = self._readers.setdefault(way.name, made)
        return pool

    def _commit(self, lane: str, batch: list[Work[Write]]) -> None:
        """Run a batch in one transaction, and give every work its result or its error."""
        trouble: LonghouseError
        try:
            moved, knocks = self._persist(lane, batch)
        except Lost as lost:
            trouble = lost.error
        except Exception as error:
            trouble = trouble_of(error)
        else:
            for workspace, (seq, rows) in moved.items():
                self.wakeups.publish(workspace, seq, rows)
            for workspace, key in knocks:
                self.wakeups.knock(workspace, (key,))
            if moved:
                self.full = False
            return
        if isinstance(trouble, StoreFull):
            self.full = True
        for work in batch:
            work.trouble = trouble

    def _persist(
        self, lane: str, batch: list[Work[Write]]
    ) -> tuple[dict[str, Advance], list[tuple[str, str]]]:
        """Run a batch: apart if it cannot run together, and again if its connection was lost."""
        apart = len(batch) == 1
        lost_before = False
        while True:
            moved: dict[str, Advance] = {}
            knocks: list[tuple[str, str]] = []
            try:
                self._attempt(lane, batch, moved, knocks, apart=apart)
                return moved, knocks
            except Lost as lost:
                committed = lost.committed() if lost.committed else False
                if committed:
                    self.engine.announce(knock=bool(knocks))
                    return moved, knocks
                if committed is None or lost_before or not (lost.again or lost.committed):
                    raise
                lost_before = True
            except Exception:
                if apart:
                    raise
                apart = True

    def _attempt(
        self,
        lane: str,
        batch: list[Work[Write]],
        moved: dict[str, Advance],
        knocks: list[tuple[str, str]],
        *,
        apart: bool,
    ) -> None:
        """Run a batch in one transaction; says before the commit what it moves."""
        keys: dict[str, set[str]] = {}
        for work in batch:
            work.result = work.trouble = None
            if key := work.payload.call.key:
                keys.setdefault(work.payload.workspace, set()).add(key)
        with self.engine.writer(lane) as connection:
            connection.begin(write=True)
            try:
                sequences = Sequences(connection, self._guard, keys)
                (run_apart if apart else run_together)(sequences, batch)
                moved.update(sequences.store())
                knocks += sequences.knocks
                connection.commit()
                if moved or knocks:
                    self.engine.announce(knock=bool(knocks))
            except BaseException:
                connection.rollback()
                raise

    def _seqs(self) -> dict[str, int]:
        """The current seq of every workspace."""
        with self.engine.reader() as connection:
            connection.begin(write=False)
            try:
                return {r["name"]: r["seq"] for r in connection.rows(sql.workspace_seqs, {})}
            finally:
                connection.rollback()


def _writers(lanes: int) -> FairPool | LoneThread:
    """The threads that lead lanes; a single lane is shared by nobody."""
    if lanes == 1:
        return LoneThread("longhouse-writer")
    from longhouse.store.fair import FairPool

    return FairPool("writer", lanes, LANES_SHARE, MOST_WAITING, alone=lanes)
