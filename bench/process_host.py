"""The process host on its own: large blocks at the speed of SHA-256, quick starts, many tasks.

A program that prints lines is measured end to end in process_tasks.py. A program that writes only
large blocks outruns what one core can hash, and a digest cannot be parallelized: it is compared
with the same program writing to a file that is hashed as it grows. A start through the host is
compared with a start by Python that prepares the child, as the host must, and so forks instead of
using vfork. 500 tasks that print every second cost the host less than one core. Cutting output into
frames is compared with reading it, scanning it for secrets and decoding it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._harness import Figures, interleave, report, timed
from longhouse.kernel.redact import mask
from longhouse.kernel.tool_tasks import DELTA_BYTES
from longhouse.runner.host.client import HostClient
from longhouse.runner.host.journal import read_journal
from longhouse.runner.tool_tasks.deltas import LogReader, next_delta

GIB = 1 << 30
WRITER = [
    "python3",
    "-c",
    "import os\nchunk = (b'x' * 79 + b'\\n') * 819\nleft = 1 << 30\n"
    "while left > 0: left -= os.write(1, chunk[:left])",
]
PLAIN = {"PATH": os.environ["PATH"]}
"""The environment of every program here; Python's own variables would change how it writes."""
MANY = 500
PRINTS = "exec 9<> <(:); while :; do read -t 1 -u 9; echo a line of output; done"
WATCHED_S = 6.0
DELTAS = 64


class Host:
    """A private host that runs one task after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = HostClient(folder)
        self.pid: int = self.client.ask("list")["pid"]
        self._count = 0

    def spawn(self, *argv: str) -> str:
        self._count += 1
        about: dict[str, Any] = {"mode": "pipes", "cap_bytes": 16 << 20, "root": str(self.folder)}
        name = f"PROC-{self._count:03}"
        said = self.client.ask("spawn", task=name, argv=list(argv), env=PLAIN, **about)
        assert "error" not in said, said
        return name

    def run(self, *argv: str) -> None:
        """Run a task until its end is recorded."""
        grown = self.client.watch()
        next(grown)
        name = self.spawn(*argv)
        for one in grown:
            if one == name and self._has_ended(name):
                return

    def _has_ended(self, name: str) -> bool:
        records, _ = read_journal(self.folder / name / "journal.jsonl")
        return bool(records[-1]["kind"] == "ended")

    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.client.close()
        os.kill(self.pid, signal.SIGTERM)
        while Path(f"/proc/{self.pid}").exists():
            time.sleep(0.02)


def blocks(base: Path) -> None:
    host = Host(base / "blocks")
    target = base / "redirected"

    def redirected() -> None:
        with target.open("wb") as file:
            subprocess.run(WRITER, stdout=file, env=PLAIN, check=True)
        target.unlink()

    def hashed_beside() -> None:
        with target.open("wb") as file, target.open("rb", buffering=0) as follower:
            writer = subprocess.Popen(WRITER, stdout=file, env=PLAIN)
            buffer, digest, seen = memoryview(bytearray(1 << 20)), hashlib.sha256(), 0
            while seen < GIB:
                read = follower.readinto(buffer) or 0
                digest.update(buffer[:read])
                seen += read
                if not read:
                    time.sleep(0.001)
            writer.wait()
        target.unlink()

    host.run(*WRITER)
    before = host.memory_kb()  # the thread that hashes is there
    figures = interleave(
        {
            "a file": timed(redirected),
            "hashed beside": timed(hashed_beside),
            "a task": timed(lambda: host.run(*WRITER)),
        },
        rounds=3,
    )
    plain = figures.ratio("a file", "a task")
    print(f"# process-output-blocks: {plain:.2f} of the speed without a digest")
    report("process-output-blocks", figures.ratio("hashed beside", "a task"), ">=0.7", figures)
    grown = host.memory_kb() / before
    report("process-host-memory", grown, "<=1.2", Figures({"kB": (before, host.memory_kb())}))
    host.close()


def starts(base: Path) -> None:
    host = Host(base / "starts")

    def bare() -> None:
        subprocess.run(["true"], check=True, preexec_fn=os.setsid)

    figures = interleave(
        {"bare": timed(bare), "started": timed(lambda: host.spawn("true"))}, rounds=30
    )
    report("process-start", figures.ratio("started", "bare"), "<=4.0", figures)
    host.close()


def many(base: Path) -> None:
    host = Host(base / "many")
    names = [host.spawn("bash", "-c", PRINTS) for _ in range(MANY)]
    time.sleep(2.0)
    cpu, began = host.cpu_s(), time.monotonic()
    time.sleep(WATCHED_S)
    share = (host.cpu_s() - cpu) / (time.monotonic() - began)
    sizes = [(host.folder / name / "stdout.log").stat().st_size for name in names]
    assert min(sizes) > 0, "a task printed nothing"
    figures = Figures({"cores": (share,), "host kB": (host.memory_kb(),)})
    report("process-500-tasks", share, "<=1.0", figures)
    host.close()


def deltas(base: Path) -> None:
    path = base / "stdout.log"
    line = b"2026-01-01T00:00:00Z INFO request 1234 done in 12 ms, 200 GET /things/77\n"
    path.write_bytes(line * (DELTAS * 8_192 // len(line)))
    path.chmod(0o600)
    log = LogReader(base, "stdout")

    def cut() -> None:
        at = 0
        while delta := next_delta(log, at, log.size, last=True, inline=1 << 30):
            at += delta.size

    def read() -> None:
        with path.open("rb") as file:
            while data := file.read(DELTA_BYTES):
                mask(data).decode("utf-8", "replace")

    figures = interleave({"read": timed(read), "cut": timed(cut)}, rounds=7)
    each_us = figures.median("cut") / DELTAS * 1e6
    print(f"# process-delta: {each_us:.0f} us per 8 KiB frame")
    report("process-delta", figures.ratio("cut", "read"), "<=2.0", figures)
    log.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        deltas(base)
        starts(base)
        blocks(base)
        many(base)


if __name__ == "__main__":
    main()
