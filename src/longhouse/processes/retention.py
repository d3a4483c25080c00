"""Removes the output of ended tasks, by age and by total size.

A task's frames and the digests of its output stay forever; only its folder on this machine, or the
artifacts with a remote host's output, are removed. The removal is recorded first, so that later
readers learn what happened. Output cited as evidence is kept.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from longhouse.kernel.tool_tasks import host_folder
from longhouse.processes.cancelling import OPS
from longhouse.processes.facts import ProcessFacts
from longhouse.processes.keeping import LogEnd, unsealed
from longhouse.processes.records import Process, number_of, ref_of
from longhouse.processes.room import room, sql
from longhouse.store.artifacts import artifacts_of
from longhouse.store.database import Database
from longhouse.store.tx import Call, Tx

__all__ = ["cited_tasks", "remove_old_output"]

_DAY_MS: Final = 24 * 3_600_000
_MB: Final = 1 << 20


class _Old(NamedTuple):
    """Output to remove: its task, its size, and the limit it exceeds."""

    n: int
    bytes: int
    why: str


class _Ended(NamedTuple):
    """The output of an ended task; sorted, the oldest is removed first."""

    at_ms: int
    n: int
    bytes: int


@room.tidies
def remove_old_output(db: Database, call: Call) -> None:
    """Remove the output of ended tasks that is too old or exceeds the quota."""
    facts: ProcessFacts = call.facts.of(ProcessFacts)
    for workspace in db.workspaces():
        folder = host_folder(facts.store, workspace)
        sizes = _sizes(folder)
        for n, size in db.read(workspace, _stored, call):
            sizes[n] = sizes.get(n, 0) + size
        if not sizes:
            continue
        for old in db.read(workspace, partial(_choose, sizes=sizes), call):
            ends = db.read(workspace, partial(unsealed, n=old.n), call)
            if db.write(workspace, partial(_record, old=old, ends=ends), call):
                shutil.rmtree(folder / ref_of(old.n), ignore_errors=True)


def _sizes(folder: Path) -> dict[int, int]:
    """The disk space of each task's folder."""
    return {
        number_of(task.name): sum(map(_blocks, _entries(task.path))) * 512
        for task in _entries(folder)
        if task.name.startswith("PROC-") and task.is_dir(follow_symlinks=False)
    }


def _stored(tx: Tx) -> list[tuple[int, int]]:
    """The size of the artifacts with remote hosts' output, by task."""
    keeper, found = artifacts_of(tx), []
    for row in tx.all(sql.logs_kept):
        artifact = keeper.find(tx, row["handle"])
        found.append((row["n"], keeper.held(artifact, tx.ws)))
    return found


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """The entries of a folder; empty if it no longer exists."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _blocks(file: os.DirEntry[str]) -> int:
    """How many disk blocks a file uses; 0 if it no longer exists."""
    with suppress(FileNotFoundError):
        return file.stat(follow_symlinks=False).st_blocks
    return 0


def _choose(tx: Tx, *, sizes: Mapping[int, int]) -> list[_Old]:
    """The output to remove, including what an earlier run recorded but did not delete."""
    facts: ProcessFacts = tx.facts.of(ProcessFacts)
    chosen, ended = [], []
    for n, size in sizes.items():
        row = tx.one(sql.task_one, n=n)
        if row is None:
            continue
        process = Process.from_row(row)
        if row["removed_at_ms"] is not None:
            chosen.append(_Old(n, size, row["removed_why"]))
        elif process.state.ended:
            ended.append(_Ended(process.state.ended_at_ms or row["created_at_ms"], n, size))
    total = sum(sizes.values()) - sum(old.bytes for old in chosen)
    oldest_ms = tx.now_ms - facts.keep_days * _DAY_MS if facts.keep_days else 0
    cited: set[str] | None = None
    for at_ms, n, size in sorted(ended):
        too_old = at_ms < oldest_ms
        if not too_old and (not facts.quota_mb or total <= facts.quota_mb * _MB):
            break
        cited = cited_tasks(tx) if cited is None else cited
        if ref_of(n) not in cited:
            why = f"processes_keep_days={facts.keep_days}"
            chosen.append(_Old(n, size, why if too_old else f"processes_quota_mb={facts.quota_mb}"))
            total -= size
    return chosen


def cited_tasks(tx: Tx) -> set[str]:
    """The tasks whose output a record cites."""
    return {ref.partition("@")[0] for holds in tx.facts.registry.holders for ref in holds(tx)}


def _record(tx: Tx, *, old: _Old, ends: list[LogEnd]) -> bool:
    """Record the removal of output; False if the task has not ended."""
    for end in ends:
        artifacts_of(tx).seal(tx, end.handle, *end.whole)
    row = tx.one(sql.task_one, n=old.n)
    if row is not None and row["removed_at_ms"] is not None:
        return True
    if tx.one(sql.output_removed, n=old.n, now=tx.now_ms, why=old.why) is None:
        return False
    tx.append(OPS, ref_of(old.n), "output_removed", {"why": old.why, "bytes": old.bytes})
    return True
