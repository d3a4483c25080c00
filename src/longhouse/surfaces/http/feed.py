"""The shared tail of each workspace's log: read once per wake-up, serialized once, sent to all.

The log is the source of truth. A feed keeps a bounded ring of the newest events as bytes; followers
read from the ring by seq, or from the store if they are further behind. No follower has a queue, so
a slow one costs no memory.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import structlog

from longhouse.dispatch import (
    PAGE_ROWS,
    Filter,
    Frame,
    frame_of,
    log_page,
    log_stretch,
)
from longhouse.house import House
from longhouse.store.database import FOLLOWERS, HOUSE, QUICK, Way
from longhouse.store.tx import Call, Tx, sql

__all__ = ["Feed", "FeedPage", "Feeds"]

RING_FRAMES = 4096
RING_BYTES = 8 * 1024 * 1024
BATCH_BYTES = 256 * 1024
TURNS = 2
"""How many reads of the log the followers of one token have in flight; the others wait here."""
LOOK_AGAIN_S = 1.0
"""How often a followed log is polled anyway, because a wake-up may be late."""

log = structlog.get_logger()
T = TypeVar("T")


class FeedPage(NamedTuple):
    """Bytes to send, and the seq up to which they cover the log."""

    wire: bytes
    upto: int
    events: int


class Feed:
    """The tail of one workspace's log. Only the event loop touches its state."""

    def __init__(
        self, house: House, workspace: str, turns: Callable[[str], asyncio.Semaphore]
    ) -> None:
        self.workspace = workspace
        self.head = 0
        self.followers = 0
        self._house = house
        self._turns = turns
        self._frames: list[Frame] = []
        self._floor = 0
        self._bytes = 0
        self._moved = asyncio.Event()
        self._wake = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._latest: tuple[int, FeedPage] | None = None

    async def start(self) -> None:
        self.head = await self.stored_head()
        self._floor = self.head
        self._pump = asyncio.create_task(self._run(), name=f"feed-{self.workspace}")

    async def stored_head(self) -> int:
        """The end of the log in the store, which may be ahead of this feed."""
        _, head = await self._read(lambda tx: log_page(tx, 1 << 62, 1, None))
        return head

    def stop(self) -> None:
        if self._pump is not None:
            self._pump.cancel()

    def wake(self) -> None:
        self._wake.set()

    def stir(self) -> None:
        """Wake every follower, whether or not there is anything new."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def moved(self, after: int, timeout_s: float) -> bool:
        """Wait until there may be rows past `after`; False on timeout."""
        if self.head > after:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await self._moved.wait()
        except TimeoutError:
            return False
        return True

    def remembers(self, after: int) -> bool:
        """Whether what comes past `after` need not be read from the store."""
        return after >= self._floor

    async def page(self, after: int, wanted: Filter, owner: str = HOUSE) -> FeedPage:
        """The next bounded batch past `after`: from the ring, else from the store."""
        if not self.remembers(after):

            def read(tx: Tx) -> FeedPage:
                frames, upto = _log(tx, after, PAGE_ROWS, wanted.subject)
                return _joined(frames, upto, wanted)

            return await self._turn(read, owner)
        if self._latest is not None and wanted.everything and self._latest[0] == after:
            return self._latest[1]
        start = bisect_right(self._frames, after, key=_seq)
        page = _joined(self._frames[start:], self.head, wanted)
        if wanted.everything:
            self._latest = (after, page)
        return page

    async def stretch(self, after: int, until: int, wanted: Filter, owner: str = HOUSE) -> FeedPage:
        """The next bounded batch past `after` for a read that ends at `until`, from the store."""

        def read(tx: Tx) -> FeedPage:
            rows, upto = log_stretch(tx, after, until, wanted)
            return _joined([frame_of(row) for row in rows], upto, wanted)

        return await self._turn(read, owner)

    async def time_at(self, seq: int) -> int:
        """When the newest row up to a seq was written; 0 if there is none."""
        found = await self._read(lambda tx: tx.one(sql.log_time, upto=seq))
        return found["ts_ms"] if found else 0

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                while await self._read_on():
                    pass
            except Exception as error:
                # The store is busy or down: nothing is lost, because the log is in the store.
                log.warning("feed.stuck", workspace=self.workspace, error=repr(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._wake.wait()

    async def _read_on(self) -> bool:
        """Read one page of new rows; True if there may be more."""
        head = self.head
        frames, upto = await self._read(lambda tx: _log(tx, head, PAGE_ROWS, None))
        if upto <= self.head:
            return False
        self._frames += frames
        self._bytes += sum(len(frame.wire) for frame in frames)
        self._shrink()
        self.head = upto
        self._latest = None
        self.stir()
        return len(frames) == PAGE_ROWS

    def _shrink(self) -> None:
        """Drop the oldest quarter of the ring while it exceeds its limits."""
        while len(self._frames) > RING_FRAMES or self._bytes > RING_BYTES:
            gone = self._frames[: max(1, len(self._frames) // 4)]
            del self._frames[: len(gone)]
            self._bytes -= sum(len(frame.wire) for frame in gone)
            self._floor = gone[-1].seq

    async def _turn(self, function: Callable[[Tx], T], owner: str) -> T:
        """Read for a follower, when it is its turn among the followers of its token."""
        async with self._turns(owner):
            return await self._read(function, owner, FOLLOWERS)

    async def _read(self, function: Callable[[Tx], T], owner: str = HOUSE, way: Way = QUICK) -> T:
        dispatcher, db = self._house.dispatcher, self._house.db
        call = Call(now_ms=dispatcher.clock.now_ms(), ids=dispatcher.ids)
        return await db.apart(owner, lambda: db.read(self.workspace, function, call), way)


class Feeds:
    """The active feeds; each starts with its first follower and stops with its last."""

    def __init__(self, house: House) -> None:
        self.closing = False
        self._house = house
        self._feeds: dict[str, Feed] = {}
        self._opening = asyncio.Lock()
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._loop = asyncio.get_running_loop()
        self._end: Callable[[], None] | None = None
        """Stops to listen for commits; there is nothing to hear for while nobody follows."""

    @property
    def followers(self) -> int:
        return sum(feed.followers for feed in self._feeds.values())

    @asynccontextmanager
    async def follow(self, workspace: str) -> AsyncIterator[Feed]:
        async with self._opening:
            feed = self._feeds.get(workspace)
            if feed is None:
                feed = Feed(self._house, workspace, self._turns)
                await feed.start()
                self._feeds[workspace] = feed
                if self._end is None:
                    self._end = self._house.db.wakeups.listen(self._hear)
                    feed.wake()  # what was committed while it started
            feed.followers += 1
        try:
            yield feed
        finally:
            feed.followers -= 1
            if not feed.followers and self._feeds.get(workspace) is feed:
                del self._feeds[workspace]
                feed.stop()
            if not self._feeds:
                self._hear_no_more()

    def _turns(self, owner: str) -> asyncio.Semaphore:
        """The gate of one token's followers, which exists while one of them is at it."""
        return self._gates.setdefault(owner, asyncio.Semaphore(TURNS))

    def end_streams(self) -> None:
        """End all streams, because the server is about to stop; followers reconnect later."""
        self.closing = True
        for feed in self._feeds.values():
            feed.stir()

    def _hear_no_more(self) -> None:
        if self._end is not None:
            self._end()
            self._end = None

    def close(self) -> None:
        self._hear_no_more()
        for feed in self._feeds.values():
            feed.stop()

    def _hear(self, workspace: str, _seq: int, _rows: object) -> None:
        """Wake the workspace's feed; called in the thread that committed."""
        if workspace in self._feeds:
            with suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._wake, workspace)

    def _wake(self, workspace: str) -> None:
        if feed := self._feeds.get(workspace):
            feed.wake()


def _seq(frame: Frame) -> int:
    return frame.seq


def _log(tx: Tx, after: int, limit: int, subject: str | None) -> tuple[list[Frame], int]:
    """Events past `after`, and the seq up to which they are complete."""
    rows, upto = log_page(tx, after, limit, subject)
    return [frame_of(row) for row in rows], upto


def _joined(frames: list[Frame], upto: int, wanted: Filter) -> FeedPage:
    """As many of these frames as fit into one batch."""
    taken: list[bytes] = []
    size = 0
    for index, frame in enumerate(frames):
        if size > BATCH_BYTES:
            return FeedPage(b"".join(taken), frames[index - 1].seq, len(taken))
        if wanted.takes(frame):
            taken.append(frame.wire)
            size += len(frame.wire)
    return FeedPage(b"".join(taken), upto, len(taken))
