"""A task is what its frames say: what `verify` compares the rows with."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.processes.frames import Frame
from longhouse.processes.reading import ENDLESS
from longhouse.processes.records import Process
from longhouse.processes.room import room, sql
from longhouse.processes.state import IllegalFrame, fold
from longhouse.store.tx import Tx

__all__ = ["all_frames", "differences"]

_PAGE = 500


@room.check("a background process is what its frames say")
def differences(tx: Tx) -> Iterator[str]:
    """Fold the frames of every task once more and compare."""
    before = ENDLESS
    while rows := tx.all(sql.tasks_newest, before=before, limit=_PAGE):
        before = rows[-1]["n"]
        for row in rows:
            process = Process.from_row(row)
            try:
                told = fold(all_frames(tx, process))
            except IllegalFrame as error:
                yield f"{process.task_id}: its frames tell no legal story: {error}"
                continue
            if told != process.state or (row["status"], row["next_at"]) != (
                told.status,
                told.next_seq,
            ):
                yield f"{process.task_id} is {row['status']}, by its frames it is {told.status}"


def all_frames(tx: Tx, process: Process) -> Iterator[Frame]:
    """Every frame of a task, oldest first."""
    at = 0
    while frames := process.frames(tx, at, _PAGE):
        for expected, frame in enumerate(frames, at):
            if frame["seq"] != expected:
                raise IllegalFrame(f"frame {expected} is missing")
            yield frame
        at += len(frames)
