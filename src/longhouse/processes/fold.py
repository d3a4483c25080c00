"""`verify` for tasks: folds the frames again and compares the result with the rows."""

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


@room.check("a background process matches its frames")
def differences(tx: Tx) -> Iterator[str]:
    """Fold the frames of every task again and report differences from its row."""
    before = ENDLESS
    while rows := tx.all(sql.tasks_newest, before=before, limit=_PAGE):
        before = rows[-1]["n"]
        for row in rows:
            process = Process.from_row(row)
            try:
                told = fold(all_frames(tx, process))
            except IllegalFrame as error:
                yield f"{process.task_id}: its frames are not a legal sequence: {error}"
                continue
            if told != process.state or (row["status"], row["next_at"]) != (
                told.status,
                told.next_seq,
            ):
                yield f"{process.task_id} is {row['status']}, but its frames say {told.status}"


def all_frames(tx: Tx, process: Process) -> Iterator[Frame]:
    """Every frame of a task, oldest first."""
    at = 0
    while frames := process.frames(tx, at, _PAGE):
        for expected, frame in enumerate(frames, at):
            if frame["seq"] != expected:
                raise IllegalFrame(f"frame {expected} is missing")
            yield frame
        at += len(frames)
