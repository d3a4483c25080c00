"""The programs that we are compared with, each in a process and an environment of its own.

`make bench` installs them (`requirements/bench.txt`). One that is missing or fails has no figure,
so whatever is promised beside it is missed.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench._peer import CLIENTS

__all__ = ["Peer", "name_of", "peers_at", "running"]

ROOT = Path(__file__).parent.parent
PYTHON = Path(sys.prefix) / "bench" / "bin" / "python"


def name_of(peer: str, clients: int) -> str:
    return peer if clients == 1 else f"{peer}-with-{clients}-clients"


class Peer:
    """One process of a peer; without one, all its figures are NaN."""

    def __init__(self, process: subprocess.Popen[str] | None) -> None:
        self._process = process

    def rate(self, number: int) -> float:
        """Jobs per second with so many clients, or for so many lives."""
        self.ask(number)
        return self.answer()

    def ask(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{number}\n")
            self._process.stdin.flush()

    def answer(self) -> float:
        if self._process is None:
            return math.nan
        assert self._process.stdout is not None
        return float(self._process.stdout.readline() or "nan")


@contextmanager
def running(name: str, where: str, python: Path = PYTHON) -> Iterator[Peer]:
    """A peer that is ready; it works in a folder or a database."""
    if not python.exists():
        print(f"# {name} is not installed: run it with `make bench`")
        yield Peer(None)
        return
    process = subprocess.Popen(
        [python, "-m", "bench._peer", name, where],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline() != "ready\n":
            print(f"# {name} does not start")
        yield Peer(process)
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def peers_at(peers: Mapping[str, Peer]) -> dict[str, partial[float]]:
    """The contestants that they are, with one client and with several."""
    return {
        name_of(name, clients): partial(peer.rate, clients)
        for name, peer in peers.items()
        for clients in CLIENTS
    }
