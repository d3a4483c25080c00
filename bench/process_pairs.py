"""Background processes in company: 1,000 starts in pairs, triples and bursts, and 500 tiny tasks.

- Every one of 1,000 processes (pipes and terminals, started together in groups, some while the
  runner is killed) reports its own exit code and its own lines, once and in order.
- 500 tiny tasks, from the first `POST /tasks` to the last exit code: at most 4 times what a bare
  Python supervisor needs that starts the same 500 programs, keeps the output of each in a file and
  each exit code on disk. The peer was once one that keeps nothing; that ratio is printed, too.

Where the time of one tiny task goes, in milliseconds of processor time, on two processors that did
nothing else (1.5 ms from end to end, since the steps of different tasks overlap; the supervisor
needs 0.38, and 0.33 if it keeps nothing):

    0.10  client   one POST each, on eight connections
    0.48  server   the POST: HTTP, checks, policy, two frames, a commit that eight calls share
    0.50  server   the claim of 32 tasks while the host starts the 32 before, and then their frames,
                   three each (decided, running, exited), of eight tasks or more in one call
    0.08  server   the list
    0.33  runner   policy, request, journals read, frames made
    0.24  host     vfork and exec, and the session
    0.27  host     five inodes (folder, spec, journal, two logs) and the reserved space
    0.06  host     the exit: one read of the host's children, digests, the last record
    0.30  the program

It was 2.1 for the server (a long list was measured again for each row that did not fit), 2.8 for
the host (fork, and a scan of all processes for every few ends), 0.4 for the client (another
library).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench._harness import interleave, report, timed
from bench.process_tasks import World, world
from tools.postgres import Postgres

STARTS = 1_000
GROUPS = (2, 3, 8)
KILL_EVERY = 150
TINY = 500
AT_ONCE = 32
"""How many programs the bare supervisor runs at the same time."""


def script(n: int) -> tuple[list[str], int, str]:
    """A program, its exit code, and what it prints."""
    code, lines = n % 7, n % 5
    said = f"for i in $(seq {lines}); do echo {n}-$i; done; exit {code}"
    return ["bash", "-c", said], code, "".join(f"{n}-{i}\n" for i in range(1, lines + 1))


def company(here: World, promise: str) -> None:
    """Groups started together, and a runner that is killed now and then."""
    tasks: dict[int, str] = {}
    n = 0
    with ThreadPoolExecutor(max(GROUPS)) as pool:
        while n < STARTS:
            size = min(GROUPS[n % len(GROUPS)], STARTS - n)
            numbers = range(n, n + size)
            tasks.update(zip(numbers, pool.map(lambda one: _post(here, one), numbers), strict=True))
            if n // KILL_EVERY != (n + size) // KILL_EVERY:
                _replace_runner(here)
            n += size
    right = sum(_is_right(here, number, task) for number, task in tasks.items())
    report(promise, right / STARTS, ">=1.0")


def _post(here: World, n: int) -> str:
    mode = "pty" if n % 4 == 3 else "pipes"
    return here.post(tool="exec", args={"argv": script(n)[0]}, execution_mode=mode)


def _replace_runner(here: World) -> None:
    here.runner.kill()
    here.runner.wait(60)
    here.start_runner()


def _is_right(here: World, n: int, task: str) -> bool:
    text, last = "", dict[str, Any]()
    for frame in here.frames(task):
        text += frame.get("chunk") or ""
        last = frame
    _, code, said = script(n)
    told = (last.get("exit_code"), text.replace("\r\n", "\n"))
    if told != (code, said):
        print(f"# {task}: {told} instead of {(code, said)}", file=sys.stderr)
    return told == (code, said)


def supervise(argvs: list[list[str]], expected: list[int], folder: Path | None = None) -> None:
    """The bare supervisor: starts each program, AT_ONCE at a time, and reaps it.

    With a folder it also keeps what a task keeps: the output of each program in a file of its own,
    and each exit code in a journal on disk, where those that are reaped together share one fsync.
    Nothing is deleted while others are measured: ext4 steps over each inode deleted in the last
    seconds, one by one, whenever it makes a file.
    """
    journal = None if folder is None else os.open(folder / "journal", os.O_WRONLY | os.O_CREAT)
    running: list[subprocess.Popen[bytes]] = []
    codes: list[int] = []

    def reap(most_left: int) -> None:
        before = len(codes)
        while len(running) - len(codes) > most_left:
            codes.append(running[len(codes)].wait())
        while len(codes) < len(running) and (code := running[len(codes)].poll()) is not None:
            codes.append(code)
        if journal is not None and len(codes) > before:
            os.write(journal, b"".join(b"%d\n" % code for code in codes[before:]))
            os.fsync(journal)

    for n, argv in enumerate(argvs):
        if folder is None:
            running.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL))
        else:
            with (folder / str(n)).open("wb") as out:
                running.append(
                    subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
                )
        if len(running) - len(codes) >= AT_ONCE:
            reap(AT_ONCE - 1)
    reap(0)
    if journal is not None:
        os.close(journal)
    assert codes == expected


def tiny(here: World) -> None:
    argvs = [["sh", "-c", f"exit {n % 7}"] for n in range(TINY)]
    expected = [n % 7 for n in range(TINY)]

    def bare() -> None:
        supervise(argvs, expected)

    def kept() -> None:
        supervise(argvs, expected, Path(tempfile.mkdtemp(dir=here.base)))

    def as_tasks() -> None:
        with ThreadPoolExecutor(8) as pool:
            tasks = list(pool.map(lambda argv: here.post(tool="exec", args={"argv": argv}), argvs))
        here("tool.task_wait", task_id=tasks[-1], until="exit", timeout_ms=25_000)
        while here("tool.task_list", status="active", limit=1)["tasks"]:
            time.sleep(0.02)
        codes = _codes(here, set(tasks))
        assert [codes[task] for task in tasks] == expected

    figures = interleave(
        {"supervisor": timed(kept), "tasks": timed(as_tasks), "nothing kept": timed(bare)},
        rounds=5,
        warmup=1,
    )
    report("process-500-tiny", figures.ratio("tasks", "supervisor"), "<=4.0", figures)
    ratio = figures.ratio("tasks", "nothing kept")
    print(f"# process-500-tiny: {ratio:.2f} of a supervisor that keeps neither output nor codes")


def _codes(here: World, wanted: set[str]) -> dict[str, int]:
    """The exit codes of these tasks, which are the newest."""
    found: dict[str, int] = {}
    more: dict[str, Any] = {}
    while wanted - found.keys():
        page = here("tool.task_list", limit=200, budget_profile="audit", **more)
        found |= {one["task_id"]: one["exit_code"] for one in page["tasks"]}
        more = {"cursor": page["next_cursor"]}
    return found


def main() -> None:
    with world() as here:
        here("tool.policy_allow", tool="exec", pty=True, justification="a benchmark")
        company(here, "process-company-1000-right")
        tiny(here)
    server = Postgres()
    try:
        with world(server.url()) as here:
            here("tool.policy_allow", tool="exec", pty=True, justification="a benchmark")
            company(here, "process-company-1000-right-postgres")
    finally:
        server.stop()


if __name__ == "__main__":
    main()
