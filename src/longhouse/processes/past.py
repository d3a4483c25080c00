"""Background processes as of an earlier seq: their frames up to there, folded as `verify` does.

A process that has no later frame is as its row says. How its host was is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from longhouse.kernel.contributions import Then
from longhouse.kernel.tool_tasks import DELTAS
from longhouse.processes.fold import all_frames
from longhouse.processes.frames import STREAM
from longhouse.processes.reading import ENDLESS
from longhouse.processes.records import Process, ref_of
from longhouse.processes.room import room, sql
from longhouse.processes.state import StreamState, TaskState, apply, fold
from longhouse.store.engine import Row
from longhouse.store.history import events_of, newest_of
from longhouse.store.tx import Tx

__all__ = ["processes_then"]

_PAGE = 500
_MOST_FRAMES = 2_000
"""Up to this many frames are folded one by one; of a longer stream, only the newest output is."""


@room.rewinds("tool_tasks")
def processes_then(tx: Tx, then: Then) -> Iterator[tuple[str, Row]]:
    """The processes that had been requested then."""
    before = ENDLESS
    while rows := tx.all(sql.tasks_newest, before=before, limit=_PAGE):
        before = rows[-1]["n"]
        for row in rows:
            if row["created_seq"] > then.seq:
                continue
            if row["last_seq"] <= then.seq:
                removed = row["removed_at_ms"]
                late = removed is not None and removed > then.now_ms
                yield "tool_tasks", {**row, "removed_at_ms": None if late else removed}
            else:
                yield "tool_tasks", _folded(tx, row, then)


def _folded(tx: Tx, row: Row, then: Then) -> Row:
    last = tx.one(sql.frame_upto, n=row["n"], upto=then.seq)
    assert last is not None
    frames = last["at"] + 1
    state = _whole(tx, row, frames) if frames <= _MOST_FRAMES else _brief(tx, row, then)
    state = msgspec.structs.replace(state, next_seq=frames)
    return {
        **row,
        "status": state.status,
        "next_at": frames,
        "state": msgspec.json.encode(state).decode(),
        "last_seq": last["seq"],
        "host_id": None,
        "held": None,
        "removed_at_ms": None,
    }


def _whole(tx: Tx, row: Row, frames: int) -> TaskState:
    every = all_frames(tx, Process.from_row(row))
    return fold(frame for _, frame in zip(range(frames), every, strict=False))


def _brief(tx: Tx, row: Row, then: Then) -> TaskState:
    """The same for a long stream: the frames that are not output, and how far the output was."""
    task = ref_of(row["n"])
    state = TaskState()
    told = events_of(tx, STREAM, [task], upto=then.seq, without=DELTAS.values())
    for event in told[task]:
        state = apply(state, event.kind, event.data)
    for stream, kind in DELTAS.items():
        found = newest_of(tx, STREAM, [task], then.seq, kind=kind).get(task)
        if found is not None and stream in state.streams and not state.ended:
            far = found.data["offset_bytes"] + found.data["bytes"]
            state = msgspec.structs.replace(
                state, streams={**state.streams, stream: StreamState(bytes=far)}
            )
    return state
