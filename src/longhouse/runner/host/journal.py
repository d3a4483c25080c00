"""The host's record of one task, for others to read: JSON, one record per line.

A record is written completely or not at all: a write cut short by a full disk is undone, and a line
torn by a crash is cut off when the file is opened again. Space is reserved in advance, so that the
end of a task that filled the disk can still be recorded.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from longhouse.kernel.private_files import open_private
from longhouse.runner.host import sparse_files

__all__ = ["JOURNAL", "Journal", "Record", "read_journal"]

JOURNAL = "journal.jsonl"
RESERVED_BYTES = 16 * 1024

Record = dict[str, Any]


class Journal:
    """The file, open for appending; `records` holds all its records."""

    def __init__(self, path: Path) -> None:
        self._fd = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            is_new = os.fstat(self._fd).st_size == 0
            self.records, whole = ([], 0) if is_new else read_journal(path)
            self._ops = {one["op_id"]: one for one in self.records if one["kind"] == "op"}
            if os.fstat(self._fd).st_size > whole:
                os.ftruncate(self._fd, whole)
            sparse_files.reserve(self._fd, whole + RESERVED_BYTES)
        except BaseException:
            os.close(self._fd)
            raise

    def add(self, kind: str, /, **facts: Any) -> Record:
        """Append one record, or raise OSError and leave the file as it was."""
        record = {"kind": kind, "ts": time.time_ns() // 1_000_000, **facts}
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        before = os.fstat(self._fd).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            os.ftruncate(self._fd, before)
            raise
        self.records.append(record)
        if kind == "op":
            self._ops[record["op_id"]] = record
        return record

    def op(self, op_id: str) -> Record | None:
        """The record of an operation; indexed, since a terminal may have had very many."""
        return self._ops.get(op_id)

    def close(self) -> None:
        os.close(self._fd)


def read_journal(path: Path, offset: int = 0) -> tuple[list[Record], int]:
    """The complete records from `offset` on, and the offset after them; none without a file."""
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return [], offset
    whole = data.rpartition(b"\n")[0]
    records = [json.loads(line) for line in whole.splitlines()]
    return records, offset + len(whole) + bool(whole)
