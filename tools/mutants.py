"""Breaks the code on purpose, one small edit at a time, and sees whether a test notices.

A seeded sample of each room is tried in copies of the tree under `build/mutants`; this one is never
touched. Coverage of one whole run says which tests reach the broken line, and only those run. The
result is in `build/mutants.json`; `docs/mutants.md` tells how to read it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

import coverage

from tools.mutations import Mutation, apply, mutations

FLOORS = {"kernel": 85, "dispatch": 85, "jobs": 85, "crew": 85}
ROOMS = (*FLOORS, "memory", "work", "store", "runner")
HOME = Path("build/mutants")
COPIED = ("src", "tests", "tools", "bench", "docs", "pyproject.toml", "README.md", "AGENTS.md")
BASELINE = (
    "--ignore=tests/chaos",
    "--ignore=tests/tools",
    "--cov",
    "--cov-context=test",
    "--cov-report=",
)
MOST_TESTS = 60
"""The tests of one mutant at the most, the room's own and the fastest first."""


@dataclass(frozen=True, slots=True)
class Mutant:
    room: str
    path: str
    mutation: Mutation
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    mutant: Mutant
    killed: bool
    seconds: float


def main(args: list[str]) -> int:
    said = parser().parse_args(args)
    ends = time.monotonic() + said.minutes * 60
    reached = baseline(said.jobs)
    verdicts: list[Verdict] = []
    for room in said.rooms or ROOMS:
        sample = sampled(room, reached, most=said.most, seed=said.seed)
        found = judge(sample, jobs=said.jobs, ends=ends)
        verdicts += found
        killed = sum(one.killed for one in found)
        if found:
            print(
                f"MUTANTS {room} {killed}/{len(found)} {100 * killed // len(found)} %", flush=True
            )
        for one in found:
            if not one.killed:
                where = f"{one.mutant.path}:{one.mutant.mutation.line}"
                print(f"  survived {where} {one.mutant.mutation}", flush=True)
    keep(verdicts, said.seed)
    return bool(below_floor(verdicts))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="make mutants ARGS=…", description=__doc__)
    made.add_argument(
        "rooms", nargs="*", choices=[*ROOMS, []], help="rooms to break (default: all)"
    )
    made.add_argument("--most", type=int, default=40, help="mutants of a room (default: 40)")
    made.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    made.add_argument("--minutes", type=float, default=60, help="when to stop (default: 60)")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    return made


def baseline(jobs: int) -> dict[str, dict[int, list[str]]]:
    """For each file the tests that reach each line, of one run of all tests on SQLite."""
    folder = tree(0)
    data = HOME / f"coverage-{_digest(folder)}"
    if not data.exists():
        print("mutants: one run of the tests, to learn which test reaches which line", flush=True)
        run = pytest(
            folder,
            ["tests", "-n", str(jobs), "-k", "not postgres", *BASELINE],
            timeout=3600,
        )
        if run != 0:
            raise SystemExit("mutants: the tests fail before anything is broken; say: make test")
        shutil.copy(folder / "build/coverage", data)
    held = coverage.CoverageData(basename=str(data))
    held.read()
    return {
        name: {
            line: [one.split("|")[0] for one in tests if one]
            for line, tests in held.contexts_by_lineno(name).items()
        }
        for name in held.measured_files()
    }


def sampled(
    room: str, reached: dict[str, dict[int, list[str]]], *, most: int, seed: int
) -> list[Mutant]:
    """Some mutants of lines that a test reaches: the same for the same seed and source."""
    chosen = random.Random(f"{room}{seed}")
    found = list(candidates(room, reached))
    return sorted(chosen.sample(found, min(most, len(found))), key=lambda m: m.path)


def candidates(room: str, reached: dict[str, dict[int, list[str]]]) -> Iterator[Mutant]:
    for path in sorted(Path("src/longhouse", room).rglob("*.py")):
        if "postgres" in path.name:  # the sample runs on SQLite
            continue
        lines = reached.get(str(path), {})
        for mutation in mutations(path.read_text(encoding="utf-8")):
            if tests := lines.get(mutation.line):
                own = sorted(set(tests), key=lambda test: (f"tests/{room}/" not in test, test))
                yield Mutant(room, str(path), mutation, tuple(spread(own)))


def spread(tests: list[str]) -> list[str]:
    """At most so many tests, from as many files as there are."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.split("::")[0], []).append(test)
    chosen: list[str] = []
    while files and len(chosen) < MOST_TESTS:
        for name in list(files):
            chosen.append(files[name].pop(0))
            if not files[name]:
                del files[name]
    return chosen[:MOST_TESTS]


def judge(sample: list[Mutant], *, jobs: int, ends: float) -> list[Verdict]:
    """Run the tests of each mutant, as many at a time as there are cores."""
    folders: Queue[Path] = Queue()
    for number in range(jobs):
        folders.put(tree(number))

    def one(mutant: Mutant) -> Verdict | None:
        if time.monotonic() > ends:
            return None
        folder, started = folders.get(), time.monotonic()
        file = folder / mutant.path
        source = file.read_text(encoding="utf-8")
        try:
            file.write_text(apply(source, mutant.mutation), encoding="utf-8")
            code = pytest(folder, ["-x", "-n", "0", *mutant.tests], timeout=180)
        finally:
            file.write_text(source, encoding="utf-8")
            folders.put(folder)
        return Verdict(mutant, code != 0, time.monotonic() - started)

    with ThreadPoolExecutor(jobs) as pool:
        return [found for found in pool.map(one, sample) if found is not None]


def pytest(folder: Path, args: list[str], timeout: float) -> int:
    """Run pytest in a copy of the tree, on that copy's source; 124 when it takes too long."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    env = {
        **os.environ,
        "PYTHONPATH": str(folder.resolve() / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with (folder / "build/out.txt").open("w", encoding="utf-8") as out:
        try:
            return subprocess.run(
                command, cwd=folder, env=env, stdout=out, stderr=out, timeout=timeout, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return 124


def tree(number: int) -> Path:
    """A fresh copy of what tests need."""
    folder = HOME / f"tree-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build").mkdir(parents=True)
    leave = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in COPIED:
        if Path(name).is_dir():
            shutil.copytree(name, folder / name, ignore=leave)
        elif Path(name).exists():
            shutil.copy(name, folder / name)
    return folder


def _digest(folder: Path) -> str:
    """Changes when source or tests do."""
    made = hashlib.sha256()
    for path in sorted([*folder.glob("src/**/*.*"), *folder.glob("tests/**/*.py")]):
        if path.is_file():
            made.update(str(path).encode() + path.read_bytes())
    return made.hexdigest()[:16]


def keep(verdicts: list[Verdict], seed: int) -> None:
    rows = [
        {
            "room": one.mutant.room,
            "path": one.mutant.path,
            "line": one.mutant.mutation.line,
            "edit": str(one.mutant.mutation),
            "killed": one.killed,
            "tests": len(one.mutant.tests),
            "seconds": round(one.seconds, 1),
        }
        for one in verdicts
    ]
    Path("build/mutants.json").write_text(json.dumps({"seed": seed, "mutants": rows}, indent=1))


def below_floor(verdicts: list[Verdict]) -> list[str]:
    """The rooms whose tests noticed too few of their mutants, each named on a line."""
    missed = []
    for room, floor in FLOORS.items():
        own = [one.killed for one in verdicts if one.mutant.room == room]
        if own and 100 * sum(own) < floor * len(own):
            print(f"mutants: {room} is below {floor} %; read its survivors above")
            missed.append(room)
    return missed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
