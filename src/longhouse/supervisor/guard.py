"""The guard between an owner and one child: whatever happens to either, the child's tree ends.

A separate program that uses only the standard library. As a subreaper it inherits every orphan of
the tree, even those in other sessions, so none escapes. It ends the tree when the child exits, when
the owner asks for it or dies (its end of the pipe closes), and when the lease that the owner keeps
renewing expires: a frozen runner's child stops before another runner may take the job. If the
guard itself is killed, the kernel kills the child, and the owner ends the rest (strays.py). One
process is spared wherever it was started, with its descendants: the one that, according to the
kernel, holds the lock named by `spare`.

The code that starts programs, finds them in /proc and ends them is shared with the process host.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` would slow the guard's start
    from collections.abc import Callable

    Process = tuple[str, int, int, int]

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WAKING = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
KILL_FOR_S = 5.0
LONGEST_LOOK_S = 0.16
_LOCKED = ["FLOCK", "ADVISORY", "WRITE"]
LOOK_S = 0.02

_clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds on a clock that keeps running while the machine sleeps."""
    return time.clock_gettime(_clock)


def main(argv: list[str]) -> int:
    control, status, grace_s, spare, *command = argv
    for fd in (control, status):  # the owner waits for them to close: no child may inherit them
        os.set_inheritable(int(fd), False)
    guard = Guard(int(control), float(grace_s), spare)
    report = guard.run(command)
    os.write(int(status), json.dumps(report).encode())
    return 0


class Guard:
    """Guards one child, from its start to the end of its last descendant."""

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
        wake = wake_on(*WAKING)
        try:
            self._child = start(command, in_child=_with(os.getpid()))
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
        """Read a lease renewal from the owner; False if the owner closed the pipe."""
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
        """Every living descendant; without /proc, only the child."""
        self._reap()
        try:
            among = processes()
            spared = holders(self._spare, among)
            return below({os.getpid()}, among) - spared - below(spared, among)
        except OSError:
            return {self._child} if self._ended is None else set()


def end_tree(tree: Callable[[], set[int]], grace_s: float) -> tuple[int, list[int]]:
    """TERM, grace, KILL; returns how many had to be killed, and which survived even that."""
    ending = TreeEnding(tree, grace_s)
    while (pause_s := ending.step()) is not None:
        time.sleep(pause_s)
    return len(ending.killed), ending.left


class TreeEnding:
    """Ends a tree one step at a time, for owners that cannot block."""

    def __init__(self, tree: Callable[[], set[int]], grace_s: float) -> None:
        self.killed: set[int] = set()
        self.left: list[int] = []
        """The processes that survived KILL."""
        self._tree = tree
        self._kill_at = now() + grace_s
        self._asked: set[int] = set()
        self._pause_s = LOOK_S

    def step(self) -> float | None:
        """Send the signals that are due; returns the seconds to the next step, None at the end."""
        found = self._tree()
        if not found or now() >= self._kill_at + KILL_FOR_S:
            self.left = sorted(self._tree())  # checks again, after the last KILL
            return None
        if now() < self._kill_at:
            # Processes that appear meanwhile get TERM too, each only once.
            _send(found - self._asked, signal.SIGTERM)
            self._asked |= found
            self._pause_s = min(self._pause_s * 1.5, LONGEST_LOOK_S)
            return min(self._pause_s, self._kill_at - now())
        _send(found, signal.SIGKILL)
        fresh = found - self.killed
        self.killed |= found
        return 0 if fresh else LOOK_S


def start(
    command: list[str],
    env: dict[str, str] | None = None,
    *,
    in_child: Callable[[], None],
    on_fork: Callable[[int], None] = lambda _pid: None,
) -> int:
    """Start a child with default signal handlers; returns its pid, or raises OSError.

    `in_child` runs in the child before the program; `on_fork` is called with the child's pid.
    """
    return started(*begin(command, env, in_child=in_child, on_fork=on_fork))


def begin(
    command: list[str],
    env: dict[str, str] | None = None,
    *,
    in_child: Callable[[], None],
    on_fork: Callable[[int], None],
) -> tuple[int, int]:
    """Fork a child that becomes the program by itself; `started` tells whether it did."""
    trouble, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.set_wakeup_fd(-1)
            for number in (*WAKING, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            in_child()
            os.execvpe(command[0], command, os.environ if env is None else env)  # noqa: S606, TID251
        except OSError as error:
            os.write(told, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(told)
    try:
        on_fork(child)
    except BaseException:
        os.close(trouble)
        discard(child)
        raise
    return child, trouble


def started(child: int, trouble: int) -> int:
    """Wait until the child runs its program; returns its pid, or raises OSError."""
    try:
        errno = os.read(trouble, 16)
    except BaseException:
        discard(child)
        raise
    finally:
        os.close(trouble)
    if errno:
        os.waitpid(child, 0)
        raise OSError(int(errno), os.strerror(int(errno)))
    return child


def discard(child: int) -> None:
    """Kill a child that must not run, and wait for its end."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _with(owner: int) -> Callable[[], None]:
    """Give the child its own group, and have the kernel kill it when its owner dies."""

    def in_child() -> None:
        os.setpgid(0, 0)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != owner:
            os._exit(127)

    return in_child


def become_subreaper() -> None:
    """Become the parent of every orphaned descendant."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    """Call prctl for this process; a no-op on systems other than Linux."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def processes() -> dict[int, Process]:
    """State, parent, session and start time of every process; OSError if there is no /proc."""
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  (pathlib would slow the guard's start)
        if name.isdigit() and (one := process(int(name))):
            found[int(name)] = one
    return found


def process(pid: int) -> Process | None:
    """State, parent, session and start time (ticks since boot) of a process; None if gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19])


def lives(pid: int, started: int) -> bool:
    """Whether this very process is alive, and not another with the same pid."""
    found = process(pid)
    return found is not None and found[3] == started and found[0] != "Z"


def below(roots: set[int], among: dict[int, Process]) -> set[int]:
    """The descendants of these processes, without zombies."""
    return below_each([roots], among)[0]


def below_each(families: list[set[int]], among: dict[int, Process]) -> list[set[int]]:
    """The descendants of each of these sets, without zombies."""
    children: dict[int, list[int]] = {}
    for pid, (_, parent, _, _) in among.items():
        children.setdefault(parent, []).append(pid)
    return [_below(roots, children, among) for roots in families]


def _below(roots: set[int], children: dict[int, list[int]], among: dict[int, Process]) -> set[int]:
    found: set[int] = set()
    rest = list(roots)
    while rest:
        more = children.get(rest.pop(), [])
        found.update(more)
        rest += more
    return {pid for pid in found if among[pid][0] != "Z"}


def holders(lock: str, among: dict[int, Process]) -> set[int]:
    """Which of these processes hold this lock, according to the kernel, and lead a session."""
    try:
        wanted = os.stat(lock)  # noqa: PTH116  (pathlib would slow the guard's start)
    except OSError:
        return set()
    leaders = (pid for pid, (_, _, session, _) in among.items() if pid == session)
    return {pid for pid in leaders if holds(pid, wanted)}


def holds_path(pid: int, lock: str) -> bool:
    """Whether the process holds an exclusive lock on the file of this name."""
    try:
        return holds(pid, os.stat(lock))  # noqa: PTH116
    except OSError:
        return False


def holds(pid: int, wanted: os.stat_result) -> bool:
    """Whether the process has this file open and holds an exclusive lock on it."""
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            found = os.stat(f"/proc/{pid}/fd/{fd}")  # noqa: PTH116
            if (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino):
                continue
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:  # noqa: PTH123
                if any(line.split()[2:6] == [*_LOCKED, str(pid)] for line in file):
                    return True
    except OSError:
        return False  # it has exited, or belongs to another user
    return False


def _send(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def wake_on(*numbers: int) -> int:
    """A pipe that receives the number of each of these signals when it arrives."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return reading


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
