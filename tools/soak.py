"""Processes and jobs under random kills, for minutes: `make soak MINUTES=10`.

Real clients, a server, a runner and its host on a store of their own; whatever runs is killed or
frozen at random; at the end a checker compares what was acknowledged with what is there. The seed
decides who is hit and when. Exits with 1 and keeps the folder if anything is lost, doubled or left.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from tests.chaos.soak import checker
from tests.chaos.soak.world import World
from tools.keep_store import postgres

ENDLESS = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 16))
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    base = Path(tempfile.mkdtemp(prefix="longhouse-soak-"))
    print(f"seed {given.seed}, {given.database}, {given.minutes:g} minutes, in {base}", flush=True)
    with postgres() if given.database == "postgres" else nullcontext() as db:
        found = soak(base, db, given.seed, given.clients, given.minutes * 60)
    for complaint in found:
        print(f"WRONG {complaint}")
    if found:
        print(f"{len(found)} complaints; look into {base}, and run it again with SEED={given.seed}")
        return 1
    shutil.rmtree(base)
    return 0


def soak(base: Path, db: str | None, seed: int, clients: int, seconds: float) -> list[str]:
    """Disturb for that long, then let everything end, and compare."""
    world = World(base, db, seed, clients, ENDLESS)
    ends = time.monotonic() + seconds
    try:
        while time.monotonic() < ends and world.busy():
            world.disturb()
        world.drain()
        found = checker.ask(world)
    finally:
        world.stop()
    said = Counter(call.cmd for call in world.calls() if call.result is not None)
    print("hits:", ", ".join(f"{n} {name}" for name, n in world.hits.most_common()))
    print("acknowledged:", ", ".join(f"{n} {cmd}" for cmd, n in said.most_common()))
    return found + checker.look(world, db)


if __name__ == "__main__":
    sys.exit(main())
