"""Opens the refs of this room: `PROC-…` and `PROC-…@<seq>`."""

from __future__ import annotations

import re
from typing import Any

from longhouse.kernel.errors import LonghouseError, Suggestion, UnknownId
from longhouse.kernel.tool_tasks import TASK_ID
from longhouse.processes.fetching import shown_text
from longhouse.processes.frames import Frame
from longhouse.processes.output import StreamOutput, read_with
from longhouse.processes.records import Process, number_of, view_of
from longhouse.processes.room import room, sql
from longhouse.processes.types.output import FetchOutput
from longhouse.processes.types.tasks import ListTasks, ProcessOpened
from longhouse.store.tx import Tx

__all__ = ["open_process"]

_TAIL_LINES = 10
_TAIL_BYTES = 2_000


@room.opens(
    "process",
    rf"(?P<task>{TASK_ID})(?:@(?P<seq>[0-9]{{1,16}}))?",
    "a background process",
    "PROC-001",
)
def open_process(tx: Tx, req: Any, match: re.Match[str]) -> ProcessOpened:
    """A background process with its newest frames and the end of its output."""
    row = tx.one(sql.task_one, n=number_of(match["task"]))
    if row is None:
        raise _unknown(f"there is no {match['task']}")
    process = Process.from_row(row)
    tail: dict[str, str] = {}
    if match["seq"] is None:
        first = max(0, process.state.next_seq - req.limit)
        frames = process.frames(tx, first, req.limit)
        tx.suggest(FetchOutput(task_id=process.task_id, tail_lines=50), "read its output")
        tail = _tails(tx, process)
    else:
        place = tx.value(sql.frame_at, n=row["n"], seq=int(match["seq"]))
        if place is None:
            raise _unknown(f"{match['task']} has no frame {match[0]}")
        first = int(place)
        frames = process.frames(tx, first, 1)
    return ProcessOpened(
        kind="process",
        id=match[0],
        task=view_of(tx, process),
        frames=[_short(frame) for frame in frames],
        has_more_frames=first > 0,
        tail=tail,
    )


def _tails(tx: Tx, process: Process) -> dict[str, str]:
    tails: dict[str, str] = {}
    for stream, state in process.state.streams.items():
        if not state.bytes:
            continue
        try:
            tails[stream] = read_with(tx, process, stream, _tail)
        except LonghouseError:
            continue  # its bytes are on another machine; the frames still describe them
    return tails


def _tail(output: StreamOutput) -> str:
    return shown_text(output, output.view.last_lines(_TAIL_LINES, _TAIL_BYTES))


def _short(frame: Frame) -> Frame:
    chunk = frame.get("chunk")
    return {**frame, "chunk": f"{chunk[:200]}…"} if chunk and len(chunk) > 200 else frame


def _unknown(what: str) -> UnknownId:
    return UnknownId(
        f"id: {what}",
        recovery="list background processes with tool.task_list",
        suggest=[Suggestion(ListTasks(), "list them")],
    )
