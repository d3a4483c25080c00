"""Finds which processes belong to which task, with one scan of /proc for all of them.

A task's processes are those in its session, their descendants, processes seen as such before, all
in its control group, and orphans that carry its mark in their environment. An orphan's parent
becomes the host, which is a subreaper, or init if the host was killed. If only one task is left,
orphans without a mark belong to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from longhouse.supervisor import ControlGroup, guard

__all__ = ["MARK", "TaskRoot", "Trees", "command_of", "leader_marked"]

MARK = "LONGHOUSE_TASK"


class TaskRoot(NamedTuple):
    """The first process of a task: its pid, its start time (in ticks), and the task's mark.

    `ours` says that this host started it, and so has seen everything since then.
    """

    pid: int
    started: int
    mark: str
    ours: bool = True
    group: ControlGroup | None = None


class Trees:
    """Scans for the processes of tasks, and remembers the last result."""

    def __init__(self) -> None:
        self._seen: dict[TaskRoot, dict[int, int]] = {}
        self._owners: dict[int, str] = {}
        """Whose the last scan found our children to be; nobody's if they are spared."""
        self._holder: tuple[int, int] | None = None
        self._marks: dict[tuple[int, int], str] = {}
        self._everybody = True
        """A killed host's orphans are not our children, so the first scan covers all processes."""

    def look(self, roots: Iterable[TaskRoot], spare: str = "") -> dict[TaskRoot, set[int]]:
        """The living processes of each task, except the holder of the lock `spare`."""
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
        if len(wanted) == 1:  # an unknown orphan can only come from this task
            families[0] |= {
                pid
                for pid, one in among.items()
                if one[1] == os.getpid() and not self._marks[pid, one[3]]
            }
        spared = self._holders(spare, among) if spare else set()
        *trees, below_spared = guard.below_each([*families, spared], among)
        spared |= below_spared
        found = {}
        for root, family, more in zip(wanted, families, trees, strict=True):
            living = {pid for pid in family if among[pid][0] != "Z"}
            found[root] = (living | more) - spared
        self._seen = {root: {pid: among[pid][3] for pid in pids} for root, pids in found.items()}
        ours = {pid for pid, one in among.items() if one[1] == os.getpid()}
        self._owners = dict.fromkeys(spared & ours, "")
        for root, pids in found.items():
            self._owners |= dict.fromkeys(pids & ours, root.mark.rpartition("/")[2])
        return found

    def has_no_stray(self, roots: set[int], exited: set[str]) -> bool:
        """Whether no process can be of these tasks, whose programs have exited: a cheap answer.

        What they left behind is below our own children, as we are a subreaper. A child leaves the
        kernel's list only when we reap it, so reading the list misses none.
        """
        known = {pid for pid, name in self._owners.items() if name not in exited}
        strays = _children()
        return strays is not None and not strays - roots - known

    def reaped(self, pid: int) -> None:
        """This child is gone: its pid may be given away again."""
        self._owners.pop(pid, None)

    def _holders(self, spare: str, among: dict[int, guard.Process]) -> set[int]:
        """Who holds the lock; the last holder is asked first, since that is quick."""
        if self._holder is not None:
            pid, started = self._holder
            if pid in among and among[pid][3] == started and guard.holds_path(pid, spare):
                return {pid}
        found = guard.holders(spare, among)
        self._holder = next(((pid, among[pid][3]) for pid in found), None)
        return found

    def _known(self, root: TaskRoot, among: dict[int, guard.Process]) -> set[int]:
        seen = self._seen.get(root, {}).items()
        return {pid for pid, started in seen if pid in among and among[pid][3] == started}

    @staticmethod
    def _session(
        root: TaskRoot, sessions: dict[int, set[int]], among: dict[int, guard.Process]
    ) -> set[int]:
        """The processes of its session, unless the session id may have been reused."""
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


def _children() -> set[int] | None:
    """Our own children, with those that have not been reaped; None if the kernel does not say."""
    found: set[int] = set()
    try:
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:  # noqa: PTH123
                found.update(map(int, file.read().split()))
    except OSError:
        return None
    return found


def command_of(pid: int) -> str:
    """The command line of a process or, without one, its name."""
    for name in ("cmdline", "comm"):
        try:
            words = Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").strip()
        except OSError:
            return ""
        if words:
            return words[:200].decode("utf-8", "replace")
    return ""


def leader_marked(mark: str) -> tuple[int, int] | None:
    """The pid and start time of the session leader with this mark, if it is alive."""
    for pid, (state, _, session, started) in guard.processes().items():
        if pid == session and state != "Z" and _mark_of(pid) == mark:
            return pid, started
    return None


def _mark_of(pid: int) -> str:
    """The task mark in a process's environment; empty if there is none."""
    prefix = MARK.encode() + b"="
    try:
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if entry.startswith(prefix):
                return entry[len(prefix) :].decode("ascii", "replace")
    except OSError:
        return ""
    return ""
