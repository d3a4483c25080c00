"""Copies the bytes of a log as it is at one moment, though it may grow and be cut meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from longhouse.kernel.errors import StoreBusy
from longhouse.store.artifacts.blobs import Blob, Blobs, LogBytes
from longhouse.store.artifacts.growing import Gap, cut_for

__all__ = ["copied", "count_lines", "kept"]

_STEP = 1 << 20
_TRIES = 5
"""How often to copy a log whose middle is cut out meanwhile."""
_EMPTY = LogBytes(lambda _at, _n: b"", 0, None)


def copied(
    look: Callable[[], LogBytes | None], blobs: Blobs, *, cap: int | None, now_ms: int
) -> tuple[Blob, int, Gap | None]:
    """Store the bytes that would stay if the log ended now; also its size and its gap."""

    def copy() -> tuple[Blob, int, Gap | None]:
        log = look() or _EMPTY
        gap = cut_for(cap, log.size, log.gap, partial(count_lines, log.pread))
        blob = blobs.stage(kept(log, gap), now_ms=now_ms, digest=None, most=None)
        return blob, log.size, gap

    for _ in range(_TRIES - 1):
        with suppress(StoreBusy):
            return copy()
    return copy()


def kept(log: LogBytes, gap: Gap | None) -> Iterator[bytes]:
    """The bytes of a log that stay, in order."""
    for start, end in ((0, gap.at), (gap.end, log.size)) if gap else ((0, log.size),):
        for at in range(start, end, _STEP):
            yield log.pread(at, min(_STEP, end - at))


def count_lines(pread: Callable[[int, int], bytes], start: int, end: int) -> int:
    ranges = range(start, end, _STEP)
    return sum(pread(at, min(_STEP, end - at)).count(b"\n") for at in ranges)
