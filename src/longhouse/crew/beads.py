"""Beads as a source of work items: read from files that `bd` exported, and never written.

Nothing here runs a program, and a file is untrusted: no link is followed, nothing but a regular
file is read, and none that is too long. `longhouse beads refresh` has `bd` list its issues into our
own file, and `bd` may export one itself: the newer of the two is used, and read again when it
changes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.crew.issues import Issue, items_of, parse_all
from longhouse.crew.items import TrackerReading, WorkItem
from longhouse.store.tx import Tx

__all__ = ["BeadsItems"]


class _Snapshot(NamedTuple):
    stamp: tuple[Any, ...]
    digest: str = ""
    issues: Sequence[Issue] = ()
    whole: bool = True
    items: Sequence[WorkItem] = ()
    ids: Sequence[str] = ()
    by_id: dict[str, WorkItem] = {}


NOTHING = _Snapshot(())
MOST_BYTES = 64 << 20
"""The longest export that is read: many thousand issues."""


class BeadsItems:
    """Work items from the newest of these files."""

    name = "beads"

    def __init__(self, *files: Path) -> None:
        self._files = files
        self._snapshot = NOTHING
        self._told: tuple[Any, ...] = ()

    def knows(self, item_id: str) -> bool:  # noqa: ARG002
        """Never: an export may be out of date, so an id that it lacks may still be an issue."""
        return False

    def get(self, tx: Tx, item_id: str) -> WorkItem | None:  # noqa: ARG002
        return self._now().by_id.get(item_id)

    def assign(self, tx: Tx, item_id: str, assignee: str) -> bool:  # noqa: ARG002
        """Never: only `bd` changes its tracker."""
        return False

    def in_progress_of(self, tx: Tx, assignee: str) -> Sequence[WorkItem]:  # noqa: ARG002
        return [i for i in self._now().items if i.in_progress and i.assignee == assignee]

    def page(
        self,
        tx: Tx,  # noqa: ARG002
        *,
        after: str | None,
        limit: int,
        open_only: bool,
    ) -> Sequence[WorkItem]:
        now = self._now()
        start = bisect_right(now.ids, after) if after else 0
        rest = islice(now.items, start, None)
        return list(islice((i for i in rest if not (open_only and i.done)), limit))

    def moved(self) -> bool:
        newest = self._newest()
        return newest is not None and newest != self._told

    def look(self) -> TrackerReading | None:
        now = self._now()
        return TrackerReading(now.stamp, now.digest, now.issues, now.whole) if now.stamp else None

    def told(self, look: TrackerReading) -> None:
        self._told = look.stamp

    def _newest(self) -> tuple[Any, ...] | None:
        """The newest file, with the attributes that show whether it has changed."""
        found = []
        for path in self._files:
            with suppress(OSError), _opened(path) as (_, seen):
                found.append((path, seen.st_mtime_ns, seen.st_size, seen.st_ino))
        return max(found, key=lambda stamp: stamp[1], default=None)

    def _now(self) -> _Snapshot:
        """The contents of the newest file, read again only when it has changed."""
        stamp = self._newest()
        if stamp is None:
            return NOTHING
        if stamp != self._snapshot.stamp:
            try:
                content = _read(stamp[0])
            except OSError:
                return NOTHING
            issues, whole = parse_all(content.decode("utf-8", "replace"))
            items = items_of(issues)
            self._snapshot = _Snapshot(
                stamp,
                hashlib.sha256(content).hexdigest(),
                issues,
                whole,
                items,
                [item.id for item in items],
                {item.id: item for item in items},
            )
        return self._snapshot


@contextmanager
def _opened(path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """A file and its attributes; OSError if it, or its folder, is a link, or it is unusable."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    folder = os.open(path.parent, flags | os.O_DIRECTORY)
    try:
        handle = os.open(path.name, flags | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > MOST_BYTES:
            raise OSError(f"{path} is not a regular file, or too long")
        yield handle, seen
    finally:
        os.close(handle)


def _read(path: Path) -> bytes:
    with _opened(path) as (handle, seen), os.fdopen(os.dup(handle), "rb") as file:
        return file.read(seen.st_size)
