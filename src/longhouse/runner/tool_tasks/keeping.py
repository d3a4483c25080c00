"""Sends a task's output to the server as it grows, if the server cannot read our folder.

The server says how much it has, so any runner continues where the last one stopped. Bytes that the
log's cap removed before they were sent are skipped; the server keeps the same head and tail.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import Conflict, LonghouseError, StoreError
from longhouse.kernel.tool_tasks import Stream
from longhouse.runner.host.journal import read_journal
from longhouse.runner.tool_tasks.deltas import LogReader

__all__ = ["LogKeeper", "clear_old"]

PART_BYTES = 1_000_000
AT_A_TIME = 8
"""How many parts of one log are sent before the next log gets a turn."""

Send = Callable[..., dict[str, Any]]
"""Calls `tool.output_append` for one task."""


def clear_old(folder: Path, before_ms: int, besides: Collection[str]) -> None:
    """Remove the folders of tasks that ended before then, except those in `besides`."""
    for task in folder.glob("PROC-*"):
        records, _ = read_journal(task / "journal.jsonl")
        last = records[-1] if records else {}
        ended = last.get("kind") == "ended" and last["ts"] < before_ms
        if ended and task.name not in besides:
            shutil.rmtree(task, ignore_errors=True)


class LogKeeper:
    """Sends the logs of one task."""

    def __init__(self, send: Send, folder: Path) -> None:
        self._send = send
        self._folder = folder
        self._kept: dict[Stream, int] = {}
        self.trouble: str | None = None
        """Why some of it could not be stored."""

    def keep(self, log: LogReader, stop: int) -> int:
        """Send some of the log up to `stop`; returns the offset that frames may now report.

        Bytes are sent before the frames that refer to them. If they cannot be stored, frames
        report them anyway.
        """
        try:
            for _ in range(AT_A_TIME if stop and not self.trouble else 0):
                if not self._go_on(log, stop):
                    break
        except LonghouseError as error:
            self._note(error)
        return stop if self.trouble else min(stop, self._kept.get(log.stream, stop))

    def seal(self, stream: Stream, seal: dict[str, Any]) -> dict[str, Any]:
        """The seal of a log, with its artifact, or the reason why there is none."""
        if not seal["bytes_total"]:
            return seal
        log = LogReader(self._folder, stream)
        total = seal["bytes_total"]
        kept: dict[str, Any] = {}
        try:
            while self._go_on(log, total):
                pass
            kept = self._send(stream=stream, offset_bytes=self._kept[stream], eof=True)
        except LonghouseError as error:
            self._note(error)
        finally:
            log.close()
        if "artifact" not in kept:
            self.trouble = self.trouble or "it was not stored: the server has different bytes"
            return {**seal, "error": seal["error"] or self.trouble}
        return {
            **seal,
            "bytes_stored": kept["bytes_stored"],
            "truncated": "gap" in kept,
            "gap": kept.get("gap"),
            "stored_sha256": kept["artifact"],
            "artifact": kept["artifact"],
        }

    def _note(self, error: LonghouseError) -> None:
        """Remember why it is not stored; a Conflict is raised: another runner now sends it."""
        if error.code == Conflict.code:
            raise error
        self.trouble = f"it was not stored: {error.message}"

    def _go_on(self, log: LogReader, stop: int) -> bool:
        stream = log.stream
        if stream not in self._kept:
            self._kept[stream] = self._send(stream=stream, offset_bytes=0)["next_offset"]
        at = self._kept[stream]
        if at >= stop:
            return False
        data, gap_to, _ = log.read(at, min(stop, at + PART_BYTES))
        if not data and gap_to <= at:
            return False  # the program has truncated its log
        more = {"skip_to": min(gap_to, stop)} if not data else {}
        sent = self._send(
            stream=stream,
            offset_bytes=at,
            content_b64=base64.b64encode(data).decode(),
            **more,
        )
        if sent["next_offset"] == at:
            raise StoreError("the server accepts no more of this log")
        self._kept[stream] = sent["next_offset"]
        return bool(sent["next_offset"] < stop)
