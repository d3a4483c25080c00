"""A process that stops in the middle of a write: it says `inside`, waits for a line, and goes on.

`python -m tests.chaos.staller URL WORKSPACE KEY`; at the end it prints what became of the write.
"""

from __future__ import annotations

import sys
from pathlib import Path

from longhouse.kernel.errors import LonghouseError
from longhouse.store.database import Database
from longhouse.store.tx import Tx
from tests.store.kit import CALL, open_engine, put


def main(url: str, workspace: str, key: str) -> None:
    db = Database(open_engine(url, Path()))
    entered: list[Tx] = []

    def work(tx: Tx) -> int:
        seq: int = put(key)(tx)
        if not entered:
            entered.append(tx)
            tx.last_seq()
            print("inside", flush=True)
            sys.stdin.readline()
        return seq

    try:
        print(db.write(workspace, work, CALL), flush=True)
    except LonghouseError as error:
        print(error.code, flush=True)
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
