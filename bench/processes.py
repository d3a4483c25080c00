"""Background processes in the control plane: the bookkeeping of a task, and ranges under load.

The life of a no-op task (spawn, claim, running, exited) is compared with the life of a job, which
takes as many commits on the same store. Ranges of a growing 64 MiB log are read as text and scanned
for secrets while frames of another task are written; the floor is a bare pread with the same
masking. Storing 8 MiB of output as an artifact is compared with a copy that is hashed and synced.
Output deltas are appended to a task with pipes and to one with a terminal; the floor is a commit of
equivalent log rows, scanned for secrets.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench._harness import interleave, report, timed
from longhouse.config import load
from longhouse.house import House
from longhouse.kernel.redact import mask
from longhouse.kernel.tool_tasks import DELTA_BYTES, task_folder
from longhouse.store.tx import Tx

LIVES = 50
DELTAS = 32
STORED = 8 << 20
READS = 100
RANGE = 4_096
LOG = 64 << 20
AROUND = 32 << 10
"""The longest secret: masking a range also scans this many bytes on both sides of it."""
HOST = {"runner_id": "r1", "host_id": "host-benchmark"}


class Bench:
    """A house, and a runner that reports in place of a host."""

    def __init__(self, folder: Path) -> None:
        flags = {"dir": str(folder), "workspace": "acme", "policy": "full-auto"}
        self.house = House(load(flags, environ={}, cwd=folder))
        self.revision = self("tool.task_held", **HOST)["revision"]
        self.folder = folder

    def __call__(self, cmd: str, **args: Any) -> Any:
        answer = self.house.call(cmd, args)
        assert answer.success, answer.envelope["error"]
        return answer.envelope["result"]

    def start(self, mode: str = "pipes") -> str:
        self("tool.task_spawn", tool="exec", args={"argv": ["true"]}, execution_mode=mode)
        claimed = self("tool.task_claim", revision=self.revision, limit=1, **HOST)
        task_id: str = claimed["tasks"][0]["task_id"]
        self.append(task_id, 2, type="tool_task_status", status="running", pid=1, started_at_ms=1)
        return task_id

    def append(self, task_id: str, base_seq: int, *frames: dict[str, Any], **frame: Any) -> None:
        fence = {"runner_id": "r1", "revision": self.revision, "base_seq": base_seq}
        self(
            "tool.task_append", task_id=task_id, frames=[*frames, *([frame] * bool(frame))], **fence
        )

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
    print(f"# a no-op task takes {each_ms:.2f} ms of bookkeeping")
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


def storing(bench: Bench) -> None:
    """Storing output as an artifact, compared with a bare copy that is hashed and synced."""
    turns = itertools.count()

    def content() -> bytes:
        return next(turns).to_bytes(8, "big") * (STORED // 8)

    def bare() -> float:
        data, target = content(), bench.folder / "copied"
        began = time.perf_counter()
        with target.open("wb") as file:
            hashlib.sha256(data).hexdigest()
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return time.perf_counter() - began

    def ours() -> float:
        task_id = bench.start()
        folder = task_folder(bench.folder, "acme", task_id)
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_bytes(content())
        bench.append(task_id, 3, type="tool_task_status", status="exited", exit_code=0)
        began = time.perf_counter()
        bench("tool.output_store", task_id=task_id, stream="stdout")
        return time.perf_counter() - began

    figures = interleave({"copy": bare, "store": ours})
    report("output-store", figures.ratio("store", "copy"), "<=3.0", figures)


def deltas(bench: Bench) -> None:
    """The cost of an output frame, for pipes and for a terminal."""
    line = "2026-01-01T00:00:00Z INFO request 1234 done in 12 ms, 200 GET /things/77\n"
    chunk = (line * (DELTA_BYTES // len(line) + 1))[:DELTA_BYTES]

    def appender(mode: str, kind: str) -> Callable[[], None]:
        task_id, turns = bench.start(mode), itertools.count()

        def run() -> None:
            first = next(turns) * DELTAS
            offsets = [(first + n) * DELTA_BYTES for n in range(DELTAS)]
            frames = [
                {"type": kind, "offset_bytes": at, "bytes": DELTA_BYTES, "chunk": chunk}
                for at in offsets
            ]
            bench.append(task_id, 3 + first, *frames)

        return run

    def floor() -> None:
        def work(tx: Tx) -> None:
            for n in range(DELTAS):
                text = mask(chunk.encode()).decode()
                said = {"offset_bytes": n * DELTA_BYTES, "bytes": DELTA_BYTES, "chunk": text}
                tx.append("bench", "PROC-001", "tool_stdout", said)

        bench.house.db.write("acme", work, bench.house._call())

    contestants = {
        "floor": timed(floor),
        "pipes": timed(appender("pipes", "tool_stdout")),
        "pty": timed(appender("pty", "tool_task_output_delta")),
    }
    figures = interleave(contestants)
    for mode in ("pipes", "pty"):
        each_us = figures.median(mode) / DELTAS * 1e6
        print(f"# an 8 KiB frame takes {each_us:.0f} us with {mode}")
    report("task-delta-pipes", figures.ratio("pipes", "floor"), "<=2.0", figures)
    report("task-delta-pty", figures.ratio("pty", "pipes"), "<=1.5")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bookkeeping(bench)
        ranges(bench)
        storing(bench)
        deltas(bench)
        bench.house.close()


if __name__ == "__main__":
    main()
