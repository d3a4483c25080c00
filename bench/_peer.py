"""Another program in a process of its own: `python -m bench._peer NAME WHERE`.

It runs in the environment of `requirements/bench.txt`, so nothing here may import Longhouse or its
dependencies. For each line on standard input, the number of clients or of lives, it prints one:
jobs per second. A peer that fails prints `nan`: it keeps no promise.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module

__all__ = ["CLIENTS", "JOBS", "WORKERS", "Contestant", "together"]

JOBS = 960
CLIENTS = (1, 16)
WORKERS = 4

Contestant = Callable[[int], float]
"""Jobs per second, given the number of clients."""


def together(work: Callable[[], None], threads: int) -> None:
    """Run the same function in several threads at once."""
    started = [threading.Thread(target=work) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def _contestant(name: str, where: str) -> Contestant:
    kind = "sqlite" if name in ("huey", "hermes") else "postgres"
    made: Contestant = getattr(import_module(f"bench._peers_{kind}"), name)(where)
    return made


def main(name: str, where: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what peers print is not an answer
    contestant = _contestant(name, where)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        try:
            rate = contestant(int(line))
        except Exception:
            traceback.print_exc()
            rate = float("nan")
        print(rate, file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
