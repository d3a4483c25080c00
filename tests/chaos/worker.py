"""A process that writes notes under idempotency keys, and prints each key once acknowledged.

`python -m tests.chaos.worker FOLDER DB NAME FIRST LAST`; DB `-` is the folder's SQLite file. A call
that fails with a retryable code is repeated with its key; any other failure ends the process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from longhouse.config import load
from longhouse.house import House


def main(folder: str, db: str, name: str, first: int, last: int) -> None:
    flags = {"dir": folder, "workspace": "acme", "db": None if db == "-" else db}
    with House(load(flags, environ={}, cwd=Path(folder))) as house:
        for number in range(first, last + 1):
            key = f"{name}-{number:05d}"
            while True:
                args = {"content": key, "idempotency_key": key}
                answer = house.call("vcs.notes.commit", args).envelope
                if answer["success"]:
                    break
                if not answer["error"]["retryable"]:
                    sys.exit(f"{key}: {answer['error']}")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
