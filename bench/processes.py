"""Background processes in the control plane: what a task costs to keep, and ranges under load.

The life of a task that does nothing (spawn, claim, running, exited) is compared with the life of a
job, which is as many commits of the same store. Ranges of a growing 64 MiB log are read as text,
with secrets looked for, while frames of another task are written; the floor is a bare pread with
the same masking.
"""

from __future__ import annotations

import itertools
import os
import random
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench._harness import interleave, report, timed
from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.redact import mask
from longhouse.kernel.tool_tasks import task_folder

LIVES = 50
READS = 100
RANGE = 4_096
LOG = 64 << 20
AROUND = 32 << 10
"""How far a secret may reach: whoever masks a range looks at so much on both sides of it."""
HOST = {"runner_id": "r1", "host_id": "host-benchmark"}


class Bench:
    """One house with a runner that speaks for a host."""

    def __init__(self, folder: Path) -> None:
        flags = {"dir": str(folder), "workspace": "acme", "policy": "full-auto"}
        self.house = House(load(flags, environ={}, cwd=folder))
        self.revision = self("tool.task_held", **HOST)["revision"]
        self.folder = folder

    def __call__(self, cmd: str, **args: Any) -> Any:
        answer = self.house.call(cmd, args)
        assert answer.success, answer.envelope["error"]
        return answer.envelope["result"]

    def start(self) -> str:
        self("tool.task_spawn", tool="exec", args={"argv": ["true"]})
        claimed = self("tool.task_claim", revision=self.revision, limit=1, **HOST)
        task_id: str = claimed["tasks"][0]["task_id"]
        self.append(task_id, 2, type="tool_task_status", status="running", pid=1, started_at_ms=1)
        return task_id

    def append(self, task_id: str, base_seq: int, **frame: Any) -> None:
        fence = {"runner_id": "r1", "revision": self.revision, "base_seq": base_seq}
        self("tool.task_append", task_id=task_id, frames=[frame], **fence)

    def task_lives(self) -> None:
        for _ in range(LIVES):
            task_id = self.start()
            self.append(task_id, 3, type="tool_task_status", status="exited", exit_code=0)

    def job_lives(self) -> None:
        for _ in range(LIVES):
            job = self("jobs.create", title="Nothing", prompt="Do nothing.")["job"]["id"]
            claim = {"job": job, "runner_id": "r1"}
            revision = self("jobs.claim", **claim)["job"]["revision"]
            fence = {**claim, "claim_revision": revision}
            self("jobs.report", kind="progress", message="working", **fence)
            self("jobs.complete", status="DONE", summary="nothing", **fence)


def bookkeeping(bench: Bench) -> None:
    figures = interleave({"job": timed(bench.job_lives), "task": timed(bench.task_lives)})
    each_ms = figures.median("task") / LIVES * 1000
    print(f"a no-op task takes {each_ms:.2f} ms of bookkeeping")
    report("task-bookkeeping", figures.ratio("task", "job"), "<=1.5", figures)


def ranges(bench: Bench) -> None:
    busy, read = bench.start(), bench.start()
    folder = task_folder(bench.folder, "acme", read)
    folder.mkdir(parents=True)
    line = b"2026-01-01T00:00:00Z GET /index.html 200 the quick brown fox\n"
    (folder / "stdout.log").write_bytes(line * (LOG // len(line)))
    size = (folder / "stdout.log").stat().st_size
    fd = os.open(folder / "stdout.log", os.O_RDONLY)
    rng = random.Random(7)
    offsets = [rng.randrange(AROUND, size - 2 * AROUND) for _ in range(READS)]

    def bare(at: int) -> object:
        return mask(os.pread(fd, RANGE + 2 * AROUND, at - AROUND))[AROUND:-AROUND].decode()

    def ours(at: int) -> object:
        return bench("tool.output_fetch", task_id=read, offset_bytes=at, max_bytes=RANGE)

    def loop(one: Callable[[int], object]) -> Callable[[], None]:
        def run() -> None:
            for at in offsets:
                one(at)

        return run

    leave = threading.Event()

    def load_it() -> None:
        for n in itertools.count():
            if leave.wait(0.002):
                return
            frame = {"type": "tool_stdout", "offset_bytes": n * 512, "bytes": 512}
            bench.append(busy, 3 + n, chunk="x" * 512, **frame)

    writer = threading.Thread(target=load_it)
    writer.start()
    try:
        figures = interleave({"pread": timed(loop(bare)), "fetch": timed(loop(ours))})
    finally:
        leave.set()
        writer.join()
    report("output-ranges", figures.ratio("fetch", "pread"), "<=3.0", figures)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bookkeeping(bench)
        ranges(bench)
        bench.house.close()


if __name__ == "__main__":
    main()
