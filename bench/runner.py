"""The runner: how soon an agent receives its prompt, and the cost of an idle runner.

- From the claim to the first byte of the prompt in the agent: at most 300 ms more than the agent's
  own program takes to start.
- Idle: under 0.5% of a core, under 80 MiB.
- Ten concurrent jobs: the longest time between two renewals of any lease, in heartbeats. At two
  heartbeats, one was missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

from bench._harness import Figures, interleave, report
from bench._servers import Up, longhouse

IDLE_S = 25
PARALLEL = 10
HEARTBEAT_MS = 500
WATCH_S = 8
AGENT = """#!{python}
import json, sys, time
sys.stdin.read(1)
print(time.time(), file=open({times!r}, "a"))
sys.stdin.read()
answer = dict(status="FAILED", summary="measured", refs=[], events=[], artifacts=[])
item = dict(type="agent_message", text=json.dumps(answer))
print(json.dumps(dict(type="item.completed", item=item)))
"""


SLEEPER = """#!/bin/sh
exec sleep 300
"""


def runner(up: Up, base: Path, agent: Path, *flags: str) -> subprocess.Popen[bytes]:
    argv = [
        sys.executable,
        "-m",
        "longhouse",
        "runner",
        "--dir",
        str(base / ".longhouse"),
        "--url",
        up.url,
        "--workspace",
        "bench",
        "--runner-id",
        "r1",
        "--codex-bin",
        str(agent),
        "--root",
        str(base),
        "--drain-s",
        "0",
        *flags,
    ]
    environment = {**os.environ, "LONGHOUSE_TOKEN": up.token}
    return subprocess.Popen(argv, cwd=base, env=environment, stderr=subprocess.DEVNULL)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, longhouse() as up:
        base = Path(folder)
        times = base / "times"
        times.touch()
        agent = base / "agent"
        agent.write_text(AGENT.format(python=sys.executable, times=str(times)))
        agent.chmod(0o755)
        http = httpx2.Client(base_url=up.url, headers=up.headers, timeout=30)

        def call(cmd: str, **args: object) -> dict[str, Any]:
            found: dict[str, Any] = http.post(f"/call/{cmd}", json=args).json()["result"]
            return found

        def stamped(before: int) -> float:
            while len(lines := times.read_text().splitlines()) <= before:
                time.sleep(0.001)
            return float(lines[-1])

        def alone() -> float:
            """The agent's own start, plus the delay it allows us."""
            before = len(times.read_text().splitlines())
            started = time.time()
            subprocess.run([str(agent)], input=b"x" * 4_000, stdout=subprocess.DEVNULL, check=True)
            return stamped(before) - started + 0.3

        def delegated() -> float:
            before = len(times.read_text().splitlines())
            made = call("jobs.create", title="Look", prompt="Look at it.", workspace="bench")
            job = made["job"]["id"]
            first_byte = stamped(before)
            while True:
                tail = call("jobs.tail", job=job, workspace="bench")
                kinds = {event["kind"]: event["ts_ms"] for event in tail["events"]}
                if "failed" in kinds:
                    return first_byte - float(kinds["claimed"]) / 1000
                time.sleep(0.01)

        process = runner(up, base, agent)
        try:
            figures = interleave({"allowed": alone, "runner": delegated})
            report("runner-claim-to-prompt", figures.ratio("runner", "allowed"), "<=1.0", figures)
            idle(process.pid)
        finally:
            process.terminate()
            process.wait(30)
        sleeper = base / "sleeper"
        sleeper.write_text(SLEEPER)
        sleeper.chmod(0o755)
        flags = ["--max-parallel", str(PARALLEL), "--heartbeat-ms", str(HEARTBEAT_MS)]
        process = runner(up, base, sleeper, *flags)
        try:
            beating(call)
        finally:
            process.terminate()
            process.wait(30)


def beating(call: Callable[..., dict[str, Any]]) -> None:
    """Watch the leases of ten jobs and of their runner; each renewal extends one of them."""
    jobs = [
        call("jobs.create", title="Sleep", prompt="Sleep.", workspace="bench")["job"]["id"]
        for _ in range(PARALLEL)
    ]
    ends: dict[str, list[int]] = {}

    def look() -> int:
        listed = call("jobs.list", status="RUNNING", limit=PARALLEL, workspace="bench")["jobs"]
        leases = {row["id"]: row["claim_expires_at_ms"] for row in listed}
        lease = call("open", id="runner:r1", workspace="bench")["lease"]
        for name, end in {**leases, "r1": lease["lease_expires_at_ms"]}.items():
            if end not in ends.setdefault(name, []):
                ends[name].append(end)
        return len(leases)

    begun = time.monotonic()
    while look() < PARALLEL:
        assert time.monotonic() < begun + 60, "the jobs were not claimed"
        time.sleep(0.05)
    ends.clear()
    watched = time.monotonic() + WATCH_S
    while time.monotonic() < watched:
        look()
        time.sleep(0.02)
    gaps = [(b - a) / HEARTBEAT_MS for found in ends.values() for a, b in pairwise(found)]
    assert len(gaps) > PARALLEL * WATCH_S, "the leases were not renewed"
    report("runner-ten-parallel-heartbeat", max(gaps), "<=1.9", Figures({"beats": tuple(gaps)}))
    for job in jobs:
        call("jobs.cancel", job=job, workspace="bench")


def idle(pid: int) -> None:
    time.sleep(1)
    before, started = cpu_s(pid), time.monotonic()
    time.sleep(IDLE_S)
    percent = 100 * (cpu_s(pid) - before) / (time.monotonic() - started)
    report("runner-idle-cpu", percent / 0.5, "<=1.0", Figures({"percent": (percent,)}))
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    mib = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    report("runner-idle-memory", mib / 80, "<=1.0", Figures({"MiB": (mib,)}))


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
