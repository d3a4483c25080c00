"""Runs the benchmarks one after another and prints a summary: `python -m bench._run [name ...]`.

A benchmark is a file in this folder without a leading underscore. It prints one line per promise,
`BENCH <id> <ratio> <promise> ok|miss`. A miss, a crash, a timeout or a file without such a line
fails the run.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
LIMIT_SECONDS = 900
LINE = re.compile(
    r"BENCH (?P<id>\S+) (?P<ratio>[-+.\w]+) (?P<promise>[<>]=\d+(?:\.\d+)?) (?P<verdict>ok|miss)"
)


@dataclass(frozen=True, slots=True)
class Result:
    file: str
    id: str
    ratio: str
    promise: str
    verdict: str


def main(wanted: list[str], folder: Path = FOLDER) -> int:
    found = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    names = [name.removeprefix("bench/").removesuffix(".py") for name in wanted]
    if unknown := [name for name in names if name not in found]:
        print(f"unknown benchmark: {', '.join(unknown)}; choose from: {', '.join(found) or 'none'}")
        return 2
    if not found:
        print("There are no benchmarks yet: bench/ holds one file per promise.")
        return 0
    results = [result for name in names or found for result in run(name, folder)]
    summary(results)
    return any(result.verdict != "ok" for result in results)


def run(name: str, folder: Path, limit: float = LIMIT_SECONDS) -> list[Result]:
    """Run one file, passing its output through, and collect its verdicts."""
    print(f"== {name}", flush=True)
    argv = [sys.executable, "-u", "-m", f"{folder.name}.{name}"]
    printed = []
    process = subprocess.Popen(
        argv, cwd=folder.parent, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    alarm = threading.Timer(limit, kill, [process.pid])
    alarm.start()
    assert process.stdout
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            printed.append(line.strip())
        code = process.wait()
        late = not alarm.is_alive()
    finally:
        alarm.cancel()
        process.stdout.close()
        kill(process.pid)
    results = [
        Result(name, match["id"], match["ratio"], match["promise"], match["verdict"])
        for line in printed
        if (match := LINE.fullmatch(line))
    ]
    if late:
        results.append(Result(name, "-", "-", "-", f"timed out after {limit:g} s"))
    elif code:
        results.append(Result(name, "-", "-", "-", f"exited with code {code}"))
    elif not results:
        results.append(Result(name, "-", "-", "-", "printed no BENCH line"))
    return results


def kill(group: int) -> None:
    """Kill a benchmark and everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def summary(results: list[Result]) -> None:
    head = Result("file", "promise", "ratio", "bound", "verdict")
    rows = [(r.file, r.id, r.ratio, r.promise, r.verdict) for r in [head, *results]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print()
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    missed = sorted({result.file for result in results if result.verdict != "ok"})
    if missed:
        print(f"\nSome were missed. To run them again: make bench ARGS='{' '.join(missed)}'")
    else:
        print(f"\nAll {len(results)} promises kept.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
