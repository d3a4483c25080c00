"""Writes agents' output to disk as it is printed, so that a runner's death loses nothing.

A slice writes to a locked file in the store's folder, next to a note of which slice it is. Once the
output is stored and its usage counted, both are removed. An unlocked file belongs to a slice whose
runner was killed or lost its claim; the next runner stores and counts it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from longhouse.executors import TokenUsage, result_of
from longhouse.kernel.delegation import JOB_ID
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.claim import usage_told
from longhouse.runner.outputs import Outputs
from longhouse.runner.runner_context import RunnerContext
from longhouse.supervisor import Ended, StreamCapture

__all__ = ["SliceFile", "SliceNote", "account_for_lost", "begin"]

_CHUNK = 1 << 20


class SliceNote(NamedTuple):
    """Identifies a slice, and holds what its session had used before."""

    job: str
    revision: int
    slice: int
    executor: str
    session: str | None = None
    total: TokenUsage = TokenUsage()


class SliceFile(NamedTuple):
    """The output file of one slice, locked while this object is in use."""

    note: SliceNote
    file: FileIO
    path: Path

    def remove(self) -> None:
        """Delete the file and its note once the output is stored and counted."""
        for path in (self.path.with_suffix(".json"), self.path):
            with suppress(OSError):
                path.unlink()
        self.file.close()


def begin(home: Path, workspace: str, note: SliceNote) -> SliceFile:
    """Create the file for a slice that is about to start."""
    folder = _folder(home, workspace)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{note.job}-{note.revision}-{note.slice}.jsonl"
    path.unlink(missing_ok=True)
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "r+b", buffering=0)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    told = {**note._asdict(), "total": list(note.total)}
    path.with_suffix(".json").write_text(json.dumps(told), encoding="utf-8")
    return SliceFile(note, file, path)


def account_for_lost(context: RunnerContext) -> None:
    """Store and count every slice that its runner could not report."""
    for one in _left(_folder(context.home, context.workspace)):
        try:
            _account(context, one)
        except LonghouseError as error:
            context.log("slice.uncounted", job=one.note.job, code=error.code, why=error.message)
            one.file.close()
            if error.code != "UNKNOWN_ID":
                continue
        one.remove()


def _account(context: RunnerContext, one: SliceFile) -> None:
    note, executor = one.note, context.executors.get(one.note.executor)
    printed = StreamCapture()
    one.file.seek(0)
    while chunk := one.file.read(_CHUNK):
        printed.feed(chunk)
    printed.whole = one.file
    outputs = Outputs(context.plane, note.job, context.options.max_output_bytes)
    stored = outputs.transcript(note.slice, printed)
    used = TokenUsage()
    if executor is not None:
        ended = Ended("lost", None, None, printed, StreamCapture(), 0.0)
        result = result_of(executor, ended, one.path.parent)
        same = result.session is not None and result.session == note.session
        used = result.usage.since(note.total, executor.totals) if same else result.usage
    usage = usage_told(used, note.executor, began=printed.total > 0)
    context.plane.write(
        "jobs.account",
        job=note.job,
        claim_revision=note.revision,
        slice=note.slice,
        refs=[stored.ref] if stored.ref else [],
        idempotency_key=f"slice-{note.job}-{note.revision}-{note.slice}",
        **({"usage": usage} if usage else {}),
    )
    context.log("slice.recovered", job=note.job, slice=note.slice, transcript=stored.ref)


def _folder(home: Path, workspace: str) -> Path:
    return home / "slices" / workspace


def _left(folder: Path) -> Iterator[SliceFile]:
    for told in sorted(folder.glob("*.json")):
        path = told.with_suffix(".jsonl")
        try:
            kept = json.loads(told.read_text(encoding="utf-8"))
            note = SliceNote(**{**kept, "total": TokenUsage(*kept["total"])})
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except (OSError, ValueError, TypeError, KeyError):
            continue
        file = os.fdopen(fd, "r+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = re.match(JOB_ID, note.job) and os.fstat(fd).st_nlink
        except OSError:  # its slice is running, or another runner is accounting for it
            ours = False
        if not ours:
            file.close()
            continue
        yield SliceFile(note, file, path)
