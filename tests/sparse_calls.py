"""Makes calls on copies of a store, each command in a fresh process; see test_sparse.py.

    python -m tests.sparse_calls sparse|whole STORE COPY < cases.json

A case is a command and the arguments of several calls; the answer has the envelopes of each case.
Processes are forked, so that a sparse registry finds nothing that an earlier case has loaded.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from longhouse.config import load
from longhouse.house import House, registry
from longhouse.sparse import SparseRegistry
from tests.kit import CountedIds, ManualClock

ROOMS = ("memory", "work", "jobs", "crew", "ledger", "desk", "store.artifacts")


def envelopes(sparse: bool, folder: Path, cmd: str, calls: list[dict[str, Any]]) -> list[Any]:
    """The answers of one house to these calls."""
    settings = load({"dir": str(folder), "workspace": "acme"}, environ={}, cwd=folder.parent)
    commands = SparseRegistry(registry) if sparse else None
    with House(settings, clock=ManualClock(), ids=CountedIds(), commands=commands) as house:
        return [json.loads(house.call(cmd, args).body()) for args in calls]


def forked(sparse: bool, folder: Path, cmd: str, calls: list[dict[str, Any]]) -> list[Any]:
    """The same, in a process of its own."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writes, "w") as pipe:
            json.dump(envelopes(sparse, folder, cmd, calls), pipe)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: list[Any] = json.loads(text or '["the process died"]')
    return found


def main(mode: str, store: str, copy: str) -> None:
    loaded = [m for m in sys.modules if m.startswith(tuple(f"longhouse.{room}" for room in ROOMS))]
    assert not loaded, f"a room is loaded before any call: {loaded}"
    if mode == "whole":
        registry()  # once for all of them
    found = []
    for cmd, calls in json.load(sys.stdin):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(store, copy)
        found.append(forked(mode == "sparse", Path(copy), cmd, calls))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
