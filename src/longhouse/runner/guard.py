"""Stands between the runner and one child: whatever becomes of either, the child's tree ends.

Started as a program of its own, with nothing but the standard library. As a subreaper it inherits
every orphan of the tree, also those that made their own session, so none escapes. The tree ends
when the child does, when the runner says so or dies (its end of the pipe closes), and when the
lease that the runner keeps renewing has run out: a frozen runner's child stops before another
runner may take the job.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
KILL_FOR_S = 5.0
LOOK_S = 0.02

_clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds that also pass while the machine sleeps."""
    return time.clock_gettime(_clock)


def main(argv: list[str]) -> int:
    control, status, grace_s, *command = argv
    guard = Guard(int(control), float(grace_s))
    report = guard.run(command)
    os.write(int(status), json.dumps(report).encode())
    return 0


class Guard:
    """One child, from its start to the end of its last descendant."""

    def __init__(self, control: int, grace_s: float) -> None:
        self._control = control
        self._grace_s = grace_s
        self._lease_ends: float | None = None
        self._child = 0
        self._ended: int | None = None
        self._ended_by = 0

    def run(self, command: list[str]) -> dict[str, object]:
        become_subreaper()
        wake = _wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        try:
            self._child = os.posix_spawnp(
                command[0], command, os.environ, setpgroup=0,  # noqa: TID251  (it only passes it on)
                setsigdef=[signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD],
            )  # fmt: skip
        except OSError as error:
            return {"why": "unstarted", "error": f"{command[0]}: {error.strerror}"}
        why = self._watch(wake)
        killed, left = self._end_tree()
        code = self._ended
        return {
            "why": why, "code": None if self._ended_by else code, "signal": self._ended_by or None,
            "killed": killed, "left": left,
        }  # fmt: skip

    def _watch(self, wake: int) -> str:
        """Wait for a reason to end the tree."""
        while True:
            left_s = None if self._lease_ends is None else max(0.0, self._lease_ends - now())
            ready = select.select([self._control, wake], [], [], left_s)[0]
            if wake in ready and set(os.read(wake, 64)) - {signal.SIGCHLD}:
                return "signal"
            self._reap()
            if self._ended is not None:
                return "exit"
            if self._control in ready and not self._heard():
                return "asked"
            if self._lease_ends is not None and now() >= self._lease_ends:
                return "lease"

    def _heard(self) -> bool:
        """Read the runner's word: the seconds for which the lease was renewed. False: the end."""
        words = os.read(self._control, 4096).split()
        if words:
            self._lease_ends = now() + float(words[-1])
        return bool(words)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child:
                code = os.waitstatus_to_exitcode(status)
                self._ended, self._ended_by = max(code, 0), max(-code, 0)

    def _end_tree(self) -> tuple[int, list[int]]:
        """TERM, grace, KILL; how many had to be killed, and which are there even then."""
        ends = now() + self._grace_s
        asked: set[int] = set()
        while (tree := self._tree()) and now() < ends:
            # What appears meanwhile is asked as well, and each only once.
            _send(tree - asked, signal.SIGTERM)
            asked |= tree
            time.sleep(LOOK_S)
        killed: set[int] = set()
        ends = now() + KILL_FOR_S
        while (tree := self._tree()) and now() < ends:
            _send(tree, signal.SIGKILL)
            killed |= tree
            time.sleep(0 if tree - killed else LOOK_S)
        self._reap()
        return len(killed), sorted(self._tree())

    def _tree(self) -> set[int]:
        """Every living descendant; without /proc the child's group has to do."""
        self._reap()
        try:
            return descendants(os.getpid())
        except OSError:
            return {self._child} if self._ended is None else set()


def become_subreaper() -> None:
    """Have every orphan below this process handed to it; only Linux can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> set[int]:
    """The processes below one, without those that have ended and only wait to be collected."""
    children: dict[int, list[int]] = {}
    ended = set()
    for name in os.listdir("/proc"):  # noqa: PTH208  (pathlib costs the guard its start)
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        children.setdefault(int(parent), []).append(int(name))
        if state == b"Z":
            ended.add(int(name))
    found: set[int] = set()
    rest = [root]
    while rest:
        below = children.get(rest.pop(), [])
        found.update(below)
        rest += below
    return found - ended


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _wake_on(*numbers: int) -> int:
    """A pipe that gets the number of each of these signals."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return reading


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
