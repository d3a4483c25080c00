"""Mutation testing: breaks the code on purpose, one small edit at a time, and runs the tests.

A seeded sample of each room is tried in copies of the tree under `build/mutants`; the working tree
is never touched. Coverage of one full run tells which tests reach the broken line, and only those
run. The result is in `build/mutants.json`; `docs/mutants.md` explains how to read it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import cache_from_source
from itertools import islice, zip_longest
from pathlib import Path
from queue import Queue

import coverage

from tools.mutations import Mutation, apply, mutations

FLOORS = {"kernel": 85, "dispatch": 85, "jobs": 85, "crew": 85}
ROOMS = ("kernel", "dispatch", "jobs", "crew", "memory", "work", "store", "runner")
HOME = Path("build/mutants")
NOT_COPIED = (".git", ".venv", ".*_cache", "build", "dist", "node_modules")
ATTACKS = (  # the security tests that need no other process
    "security/test_entering_another_workspace.py",
    "security/test_running_what_nobody_allowed.py",
    "security/test_speaking_for_another_job.py",
    "security/test_taking_over_a_claim.py",
    "security/test_taking_over_an_identity.py",
    "security/test_working_under_the_persons_token.py",
)
JUDGES = {
    "kernel": ("kernel", "dispatch", "memory", "crew", "processes/test_belonging.py", *ATTACKS),
    "dispatch": ("dispatch", "jobs", "crew", "desk/test_workspaces.py", *ATTACKS),
    "jobs": ("jobs", "desk", "dispatch", *ATTACKS),
    "crew": ("crew", "desk", "dispatch", *ATTACKS),
    "memory": ("memory",),
    "work": ("work",),
    "store": ("store",),
    "runner": ("runner",),
}
"""The tests that judge a room: its own, and those of rooms that use it if its own cover little.
All tests together would notice more, but take hours."""
OUT = "build/out.txt"
QUIET = ("-q", "-p", "no:cacheprovider")
USAGE_ERROR = 4
PROCESSES = multiprocessing.get_context("forkserver")
PLUGINS = [one.module for one in entry_points(group="pytest11")]
HUNG_S = 30
"""A test that takes longer than this is considered hung."""
MOST_TESTS = 200
"""The most tests to run for one mutant: those named after its file first, then its room's."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    room: str
    path: str
    mutation: Mutation
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    mutant: Mutant
    killed: bool | None
    """None if the tests that failed also fail on the unbroken code, and so prove nothing."""
    seconds: float


def main(args: list[str]) -> int:
    said = parser().parse_args(args)
    PROCESSES.set_forkserver_preload(["pytest", "hypothesis", "msgspec", "apsw", *PLUGINS])
    ends = time.monotonic() + said.minutes * 60
    trees = [tree(number) for number in range(said.jobs)]  # the working tree may be edited
    rooms = said.rooms or ROOMS
    reached = baseline(trees[0], rooms, said.jobs)
    verdicts: list[Verdict] = []
    for room in rooms:
        every = candidates(room, trees[0], reached)
        sample = sampled(every, most=said.most, seed=f"{room}{said.seed}")
        found = judge(sample, trees, ends=ends)
        verdicts += found
        judged = [one.killed for one in found if one.killed is not None]
        if judged:
            share = 100 * sum(judged) // len(judged)
            print(f"MUTANTS {room} {sum(judged)}/{len(judged)} {share} %", flush=True)
    keep(verdicts, said.seed)
    return bool(below_floor(verdicts))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="make mutants ARGS=…", description=__doc__)
    made.add_argument(
        "rooms", nargs="*", choices=[*ROOMS, []], help="rooms to break (default: all)"
    )
    made.add_argument("--most", type=int, default=40, help="mutants per room (default: 40)")
    made.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    made.add_argument("--minutes", type=float, default=60, help="when to stop (default: 60)")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    return made


def baseline(folder: Path, rooms: Sequence[str], jobs: int) -> dict[str, dict[int, list[str]]]:
    """For each file, the tests that reach each line, from one run of the tests on SQLite.

    A test that fails in a copy of the unbroken tree proves nothing and is left out.
    """
    judges = sorted({f"tests/{name}" for room in rooms for name in JUDGES[room]})
    data = HOME / f"coverage-{_digest(folder, judges)}"
    failing = data.with_suffix(".failing")
    if not failing.exists():
        print("mutants: running the tests once to learn which lines each one reaches", flush=True)
        measured = ["--cov", "--cov-context=test", "--cov-report=", "-rfE"]
        if jobs > 1:
            measured += ["-n", str(jobs), "--dist", "worksteal"]
        # A separate process: workers of a forked one return no coverage.
        with (folder / OUT).open("wb") as out:
            subprocess.run(
                [sys.executable, "-m", "pytest", *QUIET, *judges, "-k", "not postgres", *measured],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str((folder / "src").resolve())},
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=3600,
                check=False,
            )
        if not (folder / "build/coverage").exists():
            raise SystemExit(f"mutants: the tests did not run; see {folder / OUT}")
        shutil.copy(folder / "build/coverage", data)
        failing.write_text("\n".join(FAILED.findall((folder / OUT).read_text())))
    for name in (left_out := set(failing.read_text().splitlines())):
        print(f"mutants: left out because it fails on the unbroken tree: {name}", flush=True)
    held = coverage.CoverageData(basename=str(data))
    held.read()
    if not any(held.measured_contexts()):
        raise SystemExit(f"mutants: the coverage names no tests; remove {data} and run it again")
    return {
        name: {
            line: sorted({one.rpartition("|")[0] for one in tests if one} - left_out)
            for line, tests in held.contexts_by_lineno(name).items()
        }
        for name in held.measured_files()
    }


def sampled(found: Iterable[Mutant], *, most: int, seed: str) -> list[Mutant]:
    """A random sample in random order, so that the part judged before time is up is also a sample.

    It is the same for the same seed, source and tests.
    """
    listed = list(found)
    return random.Random(seed).sample(listed, min(most, len(listed)))


def candidates(
    room: str, folder: Path, reached: dict[str, dict[int, list[str]]]
) -> Iterator[Mutant]:
    """Every mutant on a line that a test reaches."""
    for file in sorted((folder / "src/longhouse" / room).rglob("*.py")):
        if "postgres" in file.name:  # the sample runs on SQLite
            continue
        path = str(file.relative_to(folder))
        for mutation in mutations(file.read_text(encoding="utf-8")):
            if tests := reached.get(path, {}).get(mutation.line):
                yield Mutant(room, path, mutation, tuple(nearest(tests, room, file.stem)))


def nearest(tests: list[str], room: str, concept: str) -> list[str]:
    """The tests most likely to notice: the concept's, the room's, then others, from many files."""
    circles: dict[int, dict[str, list[str]]] = {0: {}, 1: {}, 2: {}}
    for test in tests:
        file = test.split("::")[0]
        own = f"tests/{room}/" in file
        circle = 0 if own and concept.rstrip("s") in file else 1 if own else 2
        circles[circle].setdefault(file, []).append(test)
    rounds = (zip_longest(*files.values()) for files in circles.values())
    found = (test for circle in rounds for one in circle for test in one if test is not None)
    return list(islice(found, MOST_TESTS))


def judge(sample: list[Mutant], trees: list[Path], *, ends: float) -> list[Verdict]:
    """Run the tests of each mutant, one mutant per tree at a time."""
    folders: Queue[Path] = Queue()
    for folder in trees:
        folders.put(folder)

    def one(mutant: Mutant) -> Verdict | None:
        if time.monotonic() > ends:
            return None
        folder, started = folders.get(), time.monotonic()
        file = folder / mutant.path
        compiled = Path(cache_from_source(str(file)))
        source = file.read_text(encoding="utf-8")
        try:
            compiled.unlink(missing_ok=True)
            file.write_text(apply(source, mutant.mutation), encoding="utf-8")
            noticed = failing(folder, mutant.tests)
            compiled.unlink(missing_ok=True)
            file.write_text(source, encoding="utf-8")
            killed = bool(noticed) and (None if failing(folder, noticed) else True)
        finally:
            compiled.unlink(missing_ok=True)
            file.write_text(source, encoding="utf-8")
            folders.put(folder)
        fate = {True: "killed", False: "survived", None: "not judged"}[killed]
        print(f"  {fate} {mutant.path}:{mutant.mutation.line} {mutant.mutation}", flush=True)
        return Verdict(mutant, killed, time.monotonic() - started)

    with ThreadPoolExecutor(len(trees)) as pool:
        return [found for found in pool.map(one, sample) if found is not None]


def failing(folder: Path, tests: Sequence[str]) -> Sequence[str]:
    """The first of these tests that fails; all of them if they hang or cannot start."""
    code = run_tests(folder, ["-x", f"--timeout={HUNG_S}", *tests], timeout=10 * HUNG_S)
    if code == USAGE_ERROR and "ERROR: not found" in (folder / OUT).read_text():
        raise SystemExit(f"mutants: a test no longer exists; see {folder / OUT}")
    if code == 0:
        return ()
    return FAILED.findall((folder / OUT).read_text()) or tests


def run_tests(folder: Path, args: list[str], timeout: float) -> int:
    """Run pytest in a copy of the tree, on that copy's source; 124 on a timeout."""
    ran = PROCESSES.Process(target=_pytest, args=(folder.resolve(), args))
    ran.start()
    ran.join(timeout)
    if ran.exitcode is None:
        os.killpg(ran.pid or 0, signal.SIGKILL)
        ran.join()
        return 124
    return ran.exitcode


def _pytest(folder: Path, args: list[str]) -> None:
    """The body of a test process, forked from one that has imported everything but our code."""
    os.setpgid(0, 0)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder / "src")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with bytecode a run starts twice as fast
    sys.dont_write_bytecode = False
    sys.path[:0] = [str(folder / "src"), str(folder)]
    out = os.open(OUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)
    import pytest

    code = int(pytest.main([*QUIET, "-W", "ignore::pytest.PytestAssertRewriteWarning", *args]))
    sys.stdout.flush()
    os._exit(code)  # do not wait for threads that a test left behind


def tree(number: int) -> Path:
    """A fresh copy of the files that tests need."""
    folder = HOME / f"tree-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(".", folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    (folder / "build").mkdir()
    return folder


def _digest(folder: Path, judges: Sequence[str]) -> str:
    """A digest of the source, the tests and the choice of judges."""
    made = hashlib.sha256(" ".join(judges).encode())
    for path in sorted([*folder.glob("src/**/*.*"), *folder.glob("tests/**/*.py")]):
        if path.is_file() and path.suffix != ".pyc":
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
    """The rooms whose tests noticed too few mutants; prints each."""
    missed = []
    for room, floor in FLOORS.items():
        own = [one.killed for one in verdicts if one.mutant.room == room if one.killed is not None]
        if own and 100 * sum(own) < floor * len(own):
            print(f"mutants: {room} is below {floor}%; read its survivors above")
            missed.append(room)
    return missed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
