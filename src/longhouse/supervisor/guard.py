"""Stands between an owner and one child: whatever happens to either, the child's tree ends.

A program of its own, with nothing but the standard library. As a subreaper it inherits every orphan
of the tree, also those in sessions of their own, so none escapes. The tree ends when the child
does, when the owner says so or dies (its end of the pipe closes), and when the lease that the owner
keeps renewing has run out: the child of a frozen runner stops before another may take the job.
Should the guard itself be killed, the kernel kills the child, and the owner ends the rest
(strays.py). One process is nobody's child wherever it was started: the one that the kernel says
holds the lock named by `spare`, with what it started.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` costs the guard its start
    from collections.abc import Callable

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WAKING = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
KILL_FOR_S = 5.0
_LOCKED = ["FLOCK", "ADVISORY", "WRITE"]
LOOK_S = 0.02

_clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds that also pass while the machine sleeps."""
    return time.clock_gettime(_clock)


def main(argv: list[str]) -> int:
    control, status, grace_s, spare, *command = argv
    for fd in (control, status):  # the owner waits for their end: no child may hold them open
        os.set_inheritable(int(fd), False)
    guard = Guard(int(control), float(grace_s), spare)
    report = guard.run(command)
    os.write(int(status), json.dumps(report).encode())
    return 0


class Guard:
    """One child, from its start to the end of its last descendant."""

    def __init__(self, control: int, grace_s: float, spare: str = "") -> None:
        self._control = control
        self._spare = spare
        self._grace_s = grace_s
        self._lease_ends: float | None = None
        self._child = 0
        self._ended: int | None = None
        self._ended_by = 0

    def run(self, command: list[str]) -> dict[str, object]:
        become_subreaper()
        wake = _wake_on(*WAKING)
        try:
            self._child = start(command)
        except OSError as error:
            return {"why": "unstarted", "error": f"{command[0]}: {error.strerror}"}
        why = self._watch(wake)
        killed, left = end_tree(self._tree, self._grace_s)
        code = self._ended
        return {
            "why": why,
            "code": None if self._ended_by else code,
            "signal": self._ended_by or None,
            "killed": killed,
            "left": left,
        }

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
        """Read for how many seconds the lease was renewed; False when the owner closed the pipe."""
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

    def _tree(self) -> set[int]:
        """Every living descendant; without /proc the child's group has to do."""
        self._reap()
        try:
            among = processes()
            spared = holders(self._spare, among)
            return below({os.getpid()}, among) - spared - below(spared, among)
        except OSError:
            return {self._child} if self._ended is None else set()


def end_tree(tree: Callable[[], set[int]], grace_s: float) -> tuple[int, list[int]]:
    """TERM, grace, KILL; how many had to be killed, and which are there even then."""
    ends = now() + grace_s
    asked: set[int] = set()
    while (found := tree()) and now() < ends:
        # What appears meanwhile is asked as well, and each only once.
        _send(found - asked, signal.SIGTERM)
        asked |= found
        time.sleep(LOOK_S)
    killed: set[int] = set()
    ends = now() + KILL_FOR_S
    while (found := tree()) and now() < ends:
        _send(found, signal.SIGKILL)
        time.sleep(0 if found - killed else LOOK_S)
        killed |= found
    return len(killed), sorted(tree())


def start(command: list[str]) -> int:
    """The child, in a group of its own, killed by the kernel when this process is; or OSError."""
    guard = os.getpid()
    trouble, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for number in (*WAKING, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == guard:
                os.execvpe(command[0], command, os.environ)  # noqa: S606, TID251  (passed on)
        except OSError as error:
            os.write(told, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(told)
    errno = os.read(trouble, 16)
    os.close(trouble)
    if errno:
        os.waitpid(child, 0)
        raise OSError(int(errno), os.strerror(int(errno)))
    return child


def become_subreaper() -> None:
    """Have every orphan below this process handed to it."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    """Tell the kernel what it should do for this process; a no-op on other systems than Linux."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def processes() -> dict[int, tuple[str, int, int]]:
    """State, parent and session of every process; OSError where there is no /proc."""
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  (pathlib costs the guard its start)
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, parent, _, session = file.read().rpartition(b")")[2].split()[:4]
        except OSError:
            continue
        found[int(name)] = state.decode(), int(parent), int(session)
    return found


def below(roots: set[int], among: dict[int, tuple[str, int, int]]) -> set[int]:
    """The descendants of these, without zombies."""
    children: dict[int, list[int]] = {}
    for pid, (_, parent, _) in among.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    rest = list(roots)
    while rest:
        more = children.get(rest.pop(), [])
        found.update(more)
        rest += more
    return {pid for pid in found if among[pid][0] != "Z"}


def holders(lock: str, among: dict[int, tuple[str, int, int]]) -> set[int]:
    """Which of these hold this lock and lead a session of their own, as the kernel tells."""
    try:
        wanted = os.stat(lock)  # noqa: PTH116  (pathlib costs the guard its start)
    except OSError:
        return set()
    leaders = (pid for pid, (_, _, session) in among.items() if pid == session)
    return {pid for pid in leaders if holds(pid, wanted)}


def holds(pid: int, wanted: os.stat_result) -> bool:
    """Whether one of its open files is that one, locked by it for itself alone."""
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            found = os.stat(f"/proc/{pid}/fd/{fd}")  # noqa: PTH116
            if (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino):
                continue
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:  # noqa: PTH123
                if any(line.split()[2:6] == [*_LOCKED, str(pid)] for line in file):
                    return True
    except OSError:
        return False  # it has ended, or is another user's
    return False


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _wake_on(*numbers: int) -> int:
    """A pipe that receives the number of each of these signals."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return reading


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
