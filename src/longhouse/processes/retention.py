"""How long output stays once its task has ended: by age, and by total size.

The frames of a task and the digests of its output stay for ever; its folder on this machine goes,
or the artifacts that hold the output of a host elsewhere. That is recorded first, so whoever reads
afterwards is told what happened. Output that evidence cites is kept.
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

__all__ = ["remove_old_output"]

_DAY_MS: Final = 24 * 3_600_000
_MB: Final = 1 << 20


class _Old(NamedTuple):
    """Output that goes: of which task, how much, and which limit says so."""

    n: int
    bytes: int
    why: str


class _Ended(NamedTuple):
    """Output of a task that has ended, in the order in which it goes."""

    at_ms: int
    n: int
    bytes: int


@room.tidies
def remove_old_output(db: Database, call: Call) -> None:
    """Remove the folders of ended tasks that are too old, or more than may be kept together."""
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
    """What each task's folder takes on disk."""
    return {
        number_of(task.name): sum(map(_blocks, _entries(task.path))) * 512
        for task in _entries(folder)
        if task.name.startswith("PROC-") and task.is_dir(follow_symlinks=False)
    }


def _stored(tx: Tx) -> list[tuple[int, int]]:
    """What the output of hosts elsewhere takes as artifacts, by task."""
    keeper, found = artifacts_of(tx), []
    for row in tx.all(sql.logs_kept):
        artifact = keeper.find(tx, row["handle"])
        found.append((row["n"], keeper.held(artifact, tx.ws)))
    return found


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing, if it has just gone."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _blocks(file: os.DirEntry[str]) -> int:
    """How many blocks a file takes; none, if it has just gone."""
    with suppress(FileNotFoundError):
        return file.stat(follow_symlinks=False).st_blocks
    return 0


def _choose(tx: Tx, *, sizes: Mapping[int, int]) -> list[_Old]:
    """The output that goes, and what an earlier round recorded as removed but did not finish."""
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
        cited = _cited(tx) if cited is None else cited
        if ref_of(n) not in cited:
            why = f"processes_keep_days={facts.keep_days}"
            chosen.append(_Old(n, size, why if too_old else f"processes_quota_mb={facts.quota_mb}"))
            total -= size
    return chosen


def _cited(tx: Tx) -> set[str]:
    """The tasks whose output some record points at."""
    return {ref.partition("@")[0] for holds in tx.facts.registry.holders for ref in holds(tx)}


def _record(tx: Tx, *, old: _Old, ends: list[LogEnd]) -> bool:
    """Write down that the output goes; False when the task has come to life meanwhile."""
    for end in ends:
        artifacts_of(tx).seal(tx, end.handle, *end.whole)
    row = tx.one(sql.task_one, n=old.n)
    if row is not None and row["removed_at_ms"] is not None:
        return True
    if tx.one(sql.output_removed, n=old.n, now=tx.now_ms, why=old.why) is None:
        return False
    tx.append(OPS, ref_of(old.n), "output_removed", {"why": old.why, "bytes": old.bytes})
    return True
