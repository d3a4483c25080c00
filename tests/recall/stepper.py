"""A process that goes on with a rebuild of the index, as a server does, and prints each step.

`python -m tests.recall.stepper FOLDER DB`; DB `-` is the folder's SQLite file.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from longhouse.config import load
from longhouse.house import House
from longhouse.store.recall import rebuilding
from longhouse.store.tx import Call


def main(folder: str, db: str) -> None:
    flags = {"dir": folder, "workspace": "acme", "db": None if db == "-" else db}
    rebuilding._PAGE = 8
    with House(load(flags, environ={}, cwd=Path(folder))) as house:
        ids, facts = house.dispatcher.ids, house.dispatcher.facts
        done = False
        while not done:
            call = Call(now_ms=time.time_ns() // 1_000_000, ids=ids, facts=facts)
            done = house.db.write("acme", rebuilding.step, call)
            sys.stdout.write(f"{done}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
