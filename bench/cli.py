"""The startup and read times of the command line, compared with an interpreter that does nothing.

`longhouse --version` imports almost nothing; `longhouse status --json` talks to a running server
through the thin client, or opens the store itself. `status` asks every room, and costs little more
than `task list`, which asks one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench._harness import interleave, report, timed

LONGHOUSE = str(Path(sys.executable).with_name("longhouse"))
ROUNDS = 25


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        served, alone, busy = (Path(folder, name) for name in ("served", "alone", "busy"))
        for store in (served, alone, busy):
            _run(LONGHOUSE, "call", "vcs.notes.commit", "content=first", "--dir", str(store))
        for title in ("One", "Two", "Three"):  # the last one stays in focus
            _run(LONGHOUSE, "task", "start", title, "--step", "begin", "--dir", str(busy))
        _run(LONGHOUSE, "up", "--dir", str(served), "--port", "0")
        try:
            _measure(served, alone, busy)
        finally:
            _run(LONGHOUSE, "down", "--dir", str(served))


def _measure(served: Path, alone: Path, busy: Path) -> None:
    figures = interleave(
        {
            "python": timed(lambda: _run(sys.executable, "-c", "pass")),
            "version": timed(lambda: _run(LONGHOUSE, "--version")),
            "served": timed(lambda: _status(served)),
            "alone": timed(lambda: _status(alone)),
            "status": timed(lambda: _run(LONGHOUSE, "status", "--dir", str(busy))),
            "task list": timed(lambda: _run(LONGHOUSE, "task", "list", "--dir", str(busy))),
        },
        rounds=ROUNDS,
    )
    report("cli-version", figures.ratio("version", "python"), "<=4.0", figures)
    report("cli-read-with-server", figures.ratio("served", "python"), "<=10.0")
    report("cli-read-without-server", figures.ratio("alone", "python"), "<=8.0")
    report("cli-status-beside-task-list", figures.ratio("status", "task list"), "<=1.3")


def _status(store: Path) -> None:
    _run(LONGHOUSE, "status", "--json", "--dir", str(store))


def _run(*argv: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LONGHOUSE_")}
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environment)


if __name__ == "__main__":
    main()
