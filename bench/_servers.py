"""Real server processes for benchmarks: Longhouse and the servers it is compared with."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

LONGHOUSE = """
import sys
from pathlib import Path
from longhouse.config import load
from longhouse.surfaces.server import serve
base, db, policy = Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3]
flags = {"dir": str(base / ".longhouse"), "db": db, "workspace": "bench", "policy": policy}
flags |= {"runner_autostart": False, "transcripts": str(base / "transcripts")}
settings = load(flags, environ={}, cwd=base)
serve(settings, announce=lambda running, _url: print(running.url, flush=True))
"""


class Up(NamedTuple):
    url: str
    token: str
    pid: int

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}


@contextmanager
def longhouse() -> Iterator[Up]:
    with tempfile.TemporaryDirectory() as base, serving(Path(base)) as up:
        yield up


@contextmanager
def serving(base: Path, db: str | None = None, policy: str = "safe") -> Iterator[Up]:
    """A server on the store in a folder."""
    with _process(LONGHOUSE, str(base), db or "", policy) as (url, pid):
        token = (base / ".longhouse" / "token").read_text().strip()
        yield Up(url, token, pid)


@contextmanager
def bare(code: str) -> Iterator[Up]:
    """A server whose code prints its address once it listens."""
    with _process(code) as (url, pid):
        yield Up(url, "none", pid)


@contextmanager
def _process(code: str, *args: str) -> Iterator[tuple[str, int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.communicate(timeout=20)
