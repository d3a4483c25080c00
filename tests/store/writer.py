"""A process that writes rows and prints each key once it is acknowledged.

`python -m tests.store.writer URL-or-FOLDER WORKSPACE PREFIX COUNT [THREADS]`; COUNT 0 means
endless. It prints `ready`, waits for a line, and then writes.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from longhouse.store.database import Database
from tests.store.kit import CALL, open_engine, put


def main(where: str, workspace: str, prefix: str, count: int, threads: int = 1) -> None:
    url = where if where.startswith("postgres") else None
    db = Database(open_engine(url, Path(where)))
    print("ready", flush=True)
    sys.stdin.readline()

    def write(part: int) -> None:
        number = 0
        while not count or number < count:
            key = f"{prefix}-{part}-{number:05d}"
            seq = db.write(workspace, put(key), CALL)
            sys.stdout.write(f"{key} {seq}\n")
            sys.stdout.flush()
            number += 1

    parts = [threading.Thread(target=write, args=(part,)) for part in range(threads)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    db.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), *map(int, sys.argv[5:6]))
