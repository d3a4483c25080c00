"""Which processes belong to which task: one look at /proc for all of them.

A task's processes are its own session, what descends from it, what was seen to do so before, all
in its control group, and orphans that carry its mark in their environment. An orphan falls to the
host, as a subreaper, or to init when the host was killed. One without a mark belongs to the last
task that is left.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from longhouse.supervisor import guard
from longhouse.supervisor.groups import ControlGroup

__all__ = ["MARK", "TaskRoot", "Trees", "command_of"]

MARK = "LONGHOUSE_TASK"


class TaskRoot(NamedTuple):
    """The first process of a task: its pid, when it started (in ticks), and the task's mark.

    `ours` says that this host started it, and so has seen everything since.
    """

    pid: int
    started: int
    mark: str
    ours: bool = True
    group: ControlGroup | None = None


class Trees:
    """What was seen at the last look."""

    def __init__(self) -> None:
        self._seen: dict[TaskRoot, dict[int, int]] = {}
        self._marks: dict[tuple[int, int], str] = {}
        self._everybody = True
        """Orphans of a host that was killed are not our children: the first look is for all."""

    def look(self, roots: Iterable[TaskRoot], spare: str = "") -> dict[TaskRoot, set[int]]:
        """The living processes of each task, but for whoever holds the lock `spare`."""
        wanted = list(roots)
        among = guard.processes()
        among.pop(os.getpid(), None)
        orphans = self._orphans(among)
        sessions: dict[int, set[int]] = {}
        for pid, (_, _, session, _) in among.items():
            sessions.setdefault(session, set()).add(pid)
        families = [
            self._known(root, among)
            | self._session(root, sessions, among)
            | orphans.get(root.mark, set())
            | (root.group.pids() & among.keys() if root.group else set())
            for root in wanted
        ]
        if len(wanted) == 1:  # an orphan that nothing is known of can only come from there
            families[0] |= {
                pid
                for pid, one in among.items()
                if one[1] == os.getpid() and not self._marks[pid, one[3]]
            }
        spared = guard.holders(spare, among) if spare else set()
        *trees, below_spared = guard.below_each([*families, spared], among)
        spared |= below_spared
        found = {}
        for root, family, more in zip(wanted, families, trees, strict=True):
            living = {pid for pid in family if among[pid][0] != "Z"}
            found[root] = (living | more) - spared
        self._seen = {root: {pid: among[pid][3] for pid in pids} for root, pids in found.items()}
        return found

    def _known(self, root: TaskRoot, among: dict[int, guard.Process]) -> set[int]:
        seen = self._seen.get(root, {}).items()
        return {pid for pid, started in seen if pid in among and among[pid][3] == started}

    @staticmethod
    def _session(
        root: TaskRoot, sessions: dict[int, set[int]], among: dict[int, guard.Process]
    ) -> set[int]:
        """The processes of its session: its own only while nobody else can have got the number."""
        leader = among.get(root.pid)
        if leader is None and not root.ours:
            return set()
        if leader is not None and leader[3] != root.started:
            return set()
        return {pid for pid in sessions.get(root.pid, ()) if among[pid][3] >= root.started}

    def _orphans(self, among: dict[int, guard.Process]) -> dict[str, set[int]]:
        me = os.getpid()
        found: dict[str, set[int]] = {}
        marks = {}
        for pid, (_, parent, _, started) in among.items():
            if parent == me or self._everybody:
                mark = self._marks.get((pid, started))
                if mark is None:
                    mark = _mark_of(pid)
                marks[pid, started] = mark
                if mark:
                    found.setdefault(mark, set()).add(pid)
        self._marks, self._everybody = marks, False
        return found


def command_of(pid: int) -> str:
    """What a process runs, as its own command line or, without one, its name."""
    for name in ("cmdline", "comm"):
        try:
            words = Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").strip()
        except OSError:
            return ""
        if words:
            return words[:200].decode("utf-8", "replace")
    return ""


def _mark_of(pid: int) -> str:
    """The task that a process was started for, as its environment says; else empty."""
    prefix = MARK.encode() + b"="
    try:
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode("ascii", "replace")
    except OSError:
        return ""
    return ""
