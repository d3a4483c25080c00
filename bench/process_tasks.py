"""Background processes end to end: a real server, a runner, its host and their programs.

- From `POST /tasks` to the `running` frame at a subscriber: a median of at most 40 ms.
- A program that prints 1 GiB, from `POST /tasks` to its last frame at a subscriber, with redaction,
  frames and digest: at least 70% of the speed of the same program redirected to a file. There are
  few frames, and neither host, runner nor server grows.
- 500 concurrent tasks that print every second: host and runner together take less than one core,
  and at the end frames, logs and digests agree on every byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx2

from bench._harness import Figures, interleave, report, timed
from bench._servers import Up, serving
from longhouse.client.wire import Wire, origin_of
from longhouse.kernel.tool_tasks import host_folder
from longhouse.runner.host.client import HostClient

PRINTER = [
    "python3",
    "-c",
    "import sys\nwrite, line = sys.stdout.write, 'x' * 79 + '\\n'\n"
    "for _ in range((1 << 30) // 80): write(line)",
]
PLAIN = {"PATH": os.environ["PATH"]}
"""The environment of the redirected program; Python's own variables would change how it writes."""
MOST_FRAMES = 200
STARTS = 40
PROMISED_MS = 40
MANY = 500
WATCHED_S = 8.0
PRINTS = "trap 'exit 0' TERM; while :; do echo a line of output; read -t 1 <> <(:); done"


class World:
    """One server and one runner on the same store."""

    def __init__(self, base: Path, up: Up, db: str | None = None) -> None:
        self.base = base
        self.environ = {**os.environ, "LONGHOUSE_DB": db} if db else dict(os.environ)
        self.server_pid = up.pid
        self.http = httpx2.Client(base_url=up.url, headers=up.headers, timeout=60)
        about = {"longhouse-workspace": "bench", "content-type": "application/json"}
        self._wire = Wire(origin_of(up.url), headers={**up.headers, **about})
        self.folder = host_folder(base / ".longhouse", "bench")
        self("tool.policy_allow", tool="exec")
        self.start_runner()

    def start_runner(self) -> None:
        argv = [sys.executable, "-m", "longhouse", "runner", "--dir", str(self.base / ".longhouse")]
        argv += ["--workspace", "bench", "--runner-id", "r1", "--drain-s", "0"]
        self.runner = subprocess.Popen(
            argv,
            cwd=self.base,
            env=self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __call__(self, cmd: str, **args: Any) -> Any:
        answer = self.http.post(f"/call/{cmd}", json={"workspace": "bench", **args}).json()
        assert answer["success"], answer["error"]
        return answer["result"]

    def post(self, **body: Any) -> str:
        """Start a task, as our own client sends it; from any thread."""
        answer = self._wire.request("POST", "/tasks", body=json.dumps(body).encode())
        task_id: str = json.loads(answer.body)["task_id"]
        return task_id

    def frames(self, task_id: str) -> Iterator[dict[str, Any]]:
        headers = {"longhouse-workspace": "bench"}
        with self.http.stream("GET", f"/tasks/{task_id}/events", headers=headers) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line[6:])

    def host_pid(self) -> int:
        client = HostClient(self.folder)
        pid: int = client.ask("list")["pid"]
        client.close()
        return pid

    def cpu_s(self) -> float:
        return _cpu_s(self.runner.pid) + _cpu_s(self.host_pid())

    def memory_kb(self) -> tuple[int, int, int]:
        """The memory of host, runner and server."""
        return (
            _memory_kb(self.host_pid()),
            _memory_kb(self.runner.pid),
            _memory_kb(self.server_pid),
        )

    def close(self) -> None:
        os.kill(self.host_pid(), signal.SIGTERM)
        self.runner.terminate()
        self.runner.wait(60)
        self.http.close()
        self._wire.close()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@contextmanager
def world(db: str | None = None) -> Iterator[World]:
    """A store in SQLite, or in this PostgreSQL database."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / ".longhouse").mkdir(mode=0o700)
        settings = f"processes_max_running = {MANY + 10}\n"
        (base / ".longhouse" / "config.toml").write_text(settings)
        with serving(base, db) as up:
            made = World(base, up, db)
            try:
                yield made
            finally:
                made.close()


def starts(here: World) -> None:
    taken = [_start_ms(here) for _ in range(STARTS + 3)][3:]  # the first one starts the host
    figures = Figures({"ms": tuple(taken)})
    report("process-post-to-running-40ms", median(taken) / PROMISED_MS, "<=1.0", figures)


def _start_ms(here: World) -> float:
    began = time.perf_counter()
    frames = here.frames(here.post(tool="exec", args={"argv": ["true"]}))
    next(frame for frame in frames if frame.get("status") == "running")
    took_ms = (time.perf_counter() - began) * 1000
    list(frames)
    return took_ms


def output(here: World) -> None:
    target, frames = here.base / "redirected", list[int]()

    def redirected() -> None:
        with target.open("wb") as file:
            subprocess.run(PRINTER, stdout=file, env=PLAIN, check=True)
        target.unlink()

    def as_a_task() -> None:
        told = list(here.frames(here.post(tool="exec", args={"argv": PRINTER})))
        logs = told[-1]["artifacts"]["logs"]
        assert logs["stdout"]["bytes_total"] == (1 << 30) // 80 * 80, told[-1]
        frames.append(len(told))

    as_a_task()
    before = here.memory_kb()
    figures = interleave(
        {"a file": timed(redirected), "a task": timed(as_a_task)}, rounds=3, warmup=0
    )
    report("process-output-1gib", figures.ratio("a file", "a task"), ">=0.7", figures)
    grown = [after / had for had, after in zip(before, here.memory_kb(), strict=True)]
    each = dict(zip(("host", "runner", "server"), ((one,) for one in grown), strict=True))
    report("process-output-memory", max(grown), "<=1.2", Figures(each))
    report("process-output-frames", max(frames) / MOST_FRAMES, "<=1.0")


def many(here: World) -> None:
    tasks = [here.post(tool="exec", args={"argv": ["bash", "-c", PRINTS]}) for _ in range(MANY)]
    while len(_running(here)) < MANY:
        time.sleep(0.2)
    before, cpu_s, began = _bytes(here), here.cpu_s(), time.monotonic()
    time.sleep(WATCHED_S)
    took_s = time.monotonic() - began
    cores = (here.cpu_s() - cpu_s) / took_s
    lines_s = (_bytes(here) - before) / len("a line of output\n") / took_s
    print(f"# process-500-tasks: {lines_s:.0f} lines per second")
    assert lines_s > MANY / 2, "the machine is too busy to measure anything"
    for task in tasks:
        here("tool.task_cancel", task_id=task, reason="measured")
    whole = sum(_agrees(here, task) for task in tasks)
    report("process-500-tasks-whole", whole / MANY, ">=1.0")
    report("process-500-tasks-cores", cores, "<=1.0", Figures({"cores": (cores,)}))


def _running(here: World) -> list[Path]:
    return [one for one in here.folder.glob("PROC-*/stdout.log") if one.stat().st_size]


def _bytes(here: World) -> int:
    return sum(one.stat().st_size for one in here.folder.glob("PROC-*/stdout.log"))


def _agrees(here: World, task: str) -> bool:
    """Whether frames, log and digest describe the same bytes."""
    told, text = 0, ""
    seal: dict[str, Any] = {}
    for frame in here.frames(task):
        if frame["type"] == "tool_stdout":
            assert frame["offset_bytes"] == told
            told += frame["bytes"]
            text += frame["chunk"] or ""
        seal = ((frame.get("artifacts") or {}).get("logs") or {}).get("stdout") or seal
    log = (here.folder / task / "stdout.log").read_bytes()
    digest = hashlib.sha256(log).hexdigest()
    return (told, text.encode(), seal["sha256"]) == (len(log), log, digest)


def main() -> None:
    with world() as here:
        starts(here)
        output(here)
        many(here)


if __name__ == "__main__":
    main()
