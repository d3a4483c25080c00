"""Terminals: keystroke latency, output throughput, the cost of a frame, and many viewers.

- From the request that types a key to its echo in the event stream: a median of at most 15 ms.
- With ten terminals open, each watched and typed into in turn: at most 1.5 times that of one.
- A typed key leaves at most two log rows, its call's frame and its echo, and 0.6 KiB.
- A program's terminal output, until its end is recorded with a digest: at least 60% of the speed of
  a bare loop that reads the same terminal and stores nothing.
- A terminal frame compared with a pipe frame, from the log to the stream.
- 50 viewers of one busy terminal: each gets every byte, and the server's memory stays bounded.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from bench._harness import Figures, interleave, report, timed
from bench._servers import Up, serving
from longhouse.config import load
from longhouse.house import House
from longhouse.runner.host.client import HostClient
from longhouse.runner.host.journal import read_journal

FLOOD = 64 << 20
WRITER = (
    "import os, sys, tty\ntty.setraw(1)\n"
    "chunk = b'\\x1b[32mINFO\\x1b[0m a line of output of a program in a terminal\\r\\n' * 1000\n"
    f"left = {FLOOD}\n"
    "while left > 0: left -= os.write(1, chunk[:left])\n"
)
KEYS = 60
ROUNDS = 3
TYPED = 300
VIEWERS = 50
SHOWN = 480_000
BUSY = (
    "import sys, time\nsys.stdin.readline()\nline = 'x' * 78 + '\\n'\n"
    f"for _ in range({SHOWN // 80}): print(line, end='', flush=True); time.sleep(0.0005)\n"
)
DELTAS = 40
LINE = "2026-01-01T00:00:00Z INFO request 1234 done in 12 ms, 200 GET /thing\r\n"


def speed(base: Path) -> None:
    """A flood of output through the host, and through a bare loop."""
    folder = base / "speed"
    client = HostClient(folder)
    pid: int = client.ask("list")["pid"]
    count = iter(range(1, 100))

    def bare() -> None:
        child, master = pty.fork()
        if child == 0:
            os.execvp(sys.executable, [sys.executable, "-c", WRITER])
        try:
            while os.read(master, 1 << 16):
                pass
        except OSError:  # EIO: the program has ended
            pass
        os.waitpid(child, 0)
        os.close(master)

    def hosted() -> None:
        grown = client.watch()
        next(grown)
        name = f"PROC-{next(count):03}"
        about = {"mode": "pty", "rows": 24, "cols": 80, "cap_bytes": 16 << 20}
        argv = [sys.executable, "-c", WRITER]
        env = {"PATH": os.environ["PATH"]}
        said = client.ask("spawn", task=name, argv=argv, env=env, root=str(base), **about)
        assert "error" not in said, said
        path = folder / name / "journal.jsonl"
        for one in grown:
            if one == name and read_journal(path)[0][-1]["kind"] == "ended":
                break
        assert read_journal(path)[0][-1]["streams"]["pty"]["bytes"] == FLOOD

    before = _memory_kb(pid)
    figures = interleave({"bare": timed(bare), "host": timed(hosted)}, rounds=5)
    rate = FLOOD / figures.median("host") / 1e6
    print(
        f"# terminal-output: {rate:.0f} MB/s; the host grew from {before} to {_memory_kb(pid)} kB"
    )
    report("terminal-output", figures.ratio("bare", "host"), ">=0.6", figures)
    client.close()
    os.kill(pid, signal.SIGTERM)


def deltas(base: Path) -> None:
    """8 KiB frames of both kinds, into the stream."""
    flags = {"dir": str(base / "deltas"), "workspace": "bench", "policy": "full-auto"}
    house = House(load(flags, environ={}, cwd=base))
    me = {"runner_id": "r1", "host_id": "host-benchmark"}

    def call(cmd: str, **args: Any) -> Any:
        answer = house.call(cmd, args)
        assert answer.success, answer.envelope["error"]
        return answer.envelope["result"]

    revision = call("tool.task_held", **me)["revision"]
    text = (LINE * 120)[:8_192]

    def run(mode: str, kind: str) -> None:
        args = {"command": "true", "max_bytes": 64 << 20}
        task = call("tool.task_spawn", tool="bash", args=args, execution_mode=mode)["task_id"]
        call("tool.task_claim", revision=revision, **me)
        fence = {"task_id": task, "runner_id": "r1", "revision": revision}
        running = {"type": "tool_task_status", "status": "running", "pid": 1}
        call("tool.task_append", base_seq=2, frames=[running], **fence)
        for n in range(DELTAS):
            frame = {"type": kind, "offset_bytes": n * 8_192, "bytes": 8_192, "chunk": text}
            call("tool.task_append", base_seq=3 + n, frames=[frame], **fence)
        over = {"type": "tool_task_status", "status": "exited", "exit_code": 0}
        call("tool.task_append", base_seq=3 + DELTAS, frames=[over], **fence)

    figures = interleave(
        {
            "pipes": timed(lambda: run("pipes", "tool_stdout")),
            "terminal": timed(lambda: run("pty", "tool_task_output_delta")),
        }
    )
    each = {name: figures.median(name) / DELTAS * 1e6 for name in figures.raw}
    print("# " + ", ".join(f"{name}: {us:.0f} us per frame" for name, us in each.items()))
    report("terminal-delta", figures.ratio("terminal", "pipes"), "<=1.3", figures)
    house.close()


class Desk:
    """A server, a runner, and a user with a terminal."""

    def __init__(self, up: Up, store: Path) -> None:
        self.up = up
        self._store = store
        self.http = httpx2.Client(base_url=up.url, headers=up.headers, timeout=60)

    def spawn(self, argv: list[str]) -> str:
        body = {"tool": "exec", "args": {"argv": argv}, "execution_mode": "pty"}
        answer = self.http.post("/tasks", json=body)
        answer.raise_for_status()
        task: str = answer.json()["task_id"]
        while self.http.get(f"/tasks/{task}").json()["status"] == "queued":
            time.sleep(0.02)
        return task

    def keys(self, task: str, *keys: str) -> None:
        self.http.post(f"/tasks/{task}/stdin", json={"keys": keys}).raise_for_status()

    def grown(self) -> tuple[int, int]:
        """The rows of the log, and the bytes of the database."""
        with closing(sqlite3.connect(f"file:{self._store}/longhouse.db?mode=ro", uri=True)) as db:
            (rows,) = db.execute("SELECT COUNT(*) FROM log").fetchone()
            (pages,) = db.execute("PRAGMA page_count").fetchone()
            (page,) = db.execute("PRAGMA page_size").fetchone()
        return rows, pages * page

    def end(self, task: str) -> None:
        self.http.post(f"/tasks/{task}/cancel", json={})
        self.http.get(f"/tasks/{task}/wait?until=exit&timeout_ms=9000")


class Watched:
    """A terminal whose echoes somebody watches."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.task = desk.spawn(["cat"])
        self._seen: dict[str, float] = {}
        self._moved = threading.Condition()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        with self._desk.http.stream("GET", f"/tasks/{self.task}/events") as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    frame = json.loads(line[5:])
                    with self._moved:
                        for char in frame.get("chunk") or "":
                            self._seen.setdefault(char, time.perf_counter())
                        self._moved.notify_all()

    def echo_ms(self, char: str) -> float:
        """How long a key takes from the request that types it to its echo in the stream."""
        began = time.perf_counter()
        self._desk.keys(self.task, char)
        with self._moved:
            seen = partial(self._seen.__contains__, char)
            assert self._moved.wait_for(seen, 30), "a key was never seen"
        return (self._seen[char] - began) * 1000


def keystrokes(desk: Desk) -> None:
    terminal = Watched(desk)
    took = []
    for n in range(KEYS):
        took.append(terminal.echo_ms(chr(0x4E00 + n)))
        time.sleep(0.01)
    desk.end(terminal.task)
    figures = Figures({"ms": tuple(took[5:])})
    worst = sorted(took)[int(len(took) * 0.95)]
    print(f"# keystroke-echo: median {figures.median('ms'):.1f} ms, 95% within {worst:.1f} ms")
    report("keystroke-echo-ms", figures.median("ms"), "<=15", figures)


def ten_terminals(desk: Desk) -> None:
    """The same key in one terminal alone, and in turn in ten that are open and watched."""
    took: dict[str, list[float]] = {"one": [], "ten": []}
    for at in range(ROUNDS):
        for name, many in (("one", 1), ("ten", 10)):
            terminals = [Watched(desk) for _ in range(many)]
            for terminal in terminals:
                terminal.echo_ms("\u00e9")  # the first echo of a terminal also opens its stream
            for n in range(KEYS // ROUNDS):
                char = chr(0x4E00 + at * KEYS + n)
                took[name].append(terminals[n % many].echo_ms(char))
                time.sleep(0.01)
            for terminal in terminals:
                desk.end(terminal.task)
    figures = Figures({name: tuple(each) for name, each in took.items()})
    report("keystroke-echo-ten", figures.ratio("ten", "one"), "<=1.5", figures)


def growth(desk: Desk) -> None:
    """What 300 keys, each in a call of its own, leave in the log and in the database."""
    terminal = Watched(desk)
    before = desk.grown()
    for n in range(TYPED):
        terminal.echo_ms(chr(0x4E00 + n))
    rows, size = (now - had for now, had in zip(desk.grown(), before, strict=True))
    desk.end(terminal.task)
    print(f"# typing: {rows} log rows and {size} bytes for {TYPED} keys")
    report("typing-rows-per-key", rows / TYPED, "<=2.0", Figures({"rows": (rows,)}))
    report("typing-kib-per-key", size / TYPED / 1024, "<=0.6", Figures({"bytes": (size,)}))


async def _follow(up: Up, task: str) -> list[dict[str, Any]]:
    async with (
        httpx2.AsyncClient(base_url=up.url, headers=up.headers, timeout=120) as http,
        http.stream("GET", f"/tasks/{task}/events") as stream,
    ):
        lines = [line async for line in stream.aiter_lines() if line.startswith("data:")]
    return [json.loads(line[5:]) for line in lines]


def viewers(desk: Desk) -> None:
    task = desk.spawn(["python3", "-c", BUSY])

    async def watch() -> list[list[dict[str, Any]]]:
        all_of_them = [asyncio.create_task(_follow(desk.up, task)) for _ in range(VIEWERS)]
        await asyncio.sleep(1.0)
        await asyncio.to_thread(desk.keys, task, "Enter")
        return await asyncio.gather(*all_of_them)

    before = _memory_kb(desk.up.pid)
    began = time.perf_counter()
    streams = asyncio.run(watch())
    took = time.perf_counter() - began
    whole = streams[0][-1]["artifacts"]["logs"]["pty"]["bytes_total"]
    complete = sum(_bytes_in_order(frames) == whole for frames in streams)
    print(f"# {VIEWERS} viewers, {whole} bytes, {len(streams[0])} frames in {took:.1f} s")
    report("terminal-viewers", complete / VIEWERS, ">=1.0", Figures({"complete": (complete,)}))
    after = _memory_kb(desk.up.pid)
    report("terminal-viewers-memory", after / before, "<=1.5", Figures({"kB": (before, after)}))


def _bytes_in_order(frames: list[dict[str, Any]]) -> int:
    """How many bytes a viewer received; -1 if any was missing, repeated or only referenced."""
    at = 0
    for frame in frames:
        if frame["type"] == "tool_task_output_delta":
            if frame["offset_bytes"] != at or frame["chunk"] is None:
                return -1
            at += frame["bytes"]
    return at


def _memory_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@contextmanager
def desk_in(base: Path) -> Iterator[Desk]:
    with serving(base, policy="full-auto") as up:
        words = ["--dir", str(base / ".longhouse"), "--workspace", "bench", "--runner-id", "r1"]
        argv = [sys.executable, "-m", "longhouse", "runner", *words, "--policy", "full-auto"]
        with (base / "runner.log").open("w") as log:
            runner = subprocess.Popen(argv, cwd=base, stdout=log, stderr=log)
        try:
            yield Desk(up, base / ".longhouse")
        finally:
            runner.terminate()
            runner.wait(30)
            client = HostClient(base / ".longhouse" / "tasks" / "bench")
            os.kill(client.ask("list")["pid"], signal.SIGTERM)
            client.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        speed(base)
        deltas(base)
        with desk_in(base) as desk:
            keystrokes(desk)
            ten_terminals(desk)
            growth(desk)
            viewers(desk)


if __name__ == "__main__":
    main()
