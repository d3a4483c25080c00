"""Mutation testing: breaks the code on purpose, one small edit at a time, and runs the tests.

A seeded sample of each room is tried in copies of the tree under `build/mutants`; the working tree
is never touched. Only the tests that reach the broken line run, nearest first, up to the first
that fails. The result is in `build/mutants.json`; `docs/mutants.md` explains how to read it.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import cache_from_source
from itertools import zip_longest
from pathlib import Path
from queue import Queue
from typing import Any

from tools.mutations import Mutation, apply, mutations
from tools.reach import Recording, recorded
from tools.warm_tests import WarmTests

FLOOR = 85
HOME = Path("build/mutants")
PAGE = Path("docs/mutants.md")
VERDICTS = Path("build/mutants.json")
EQUIVALENT = Path("tests/equivalent_mutants.toml")
NOT_COPIED = (".git", ".venv", ".*_cache", "build", "dist", "node_modules")
ATTACKS = (  # the security tests that need no other process
    "security/test_entering_another_workspace.py",
    "security/test_running_what_nobody_allowed.py",
    "security/test_speaking_for_another_job.py",
    "security/test_taking_over_a_claim.py",
    "security/test_taking_over_an_identity.py",
    "security/test_working_under_the_persons_token.py",
)
EXAMPLES = (  # the tests that run every command's example
    "contracts/test_lines.py",
    "contracts/test_log_rows.py",
    "contracts/test_matrix.py",
    "contracts/test_pages.py",
)
JUDGES: dict[str, tuple[str, ...]] = {
    "kernel": ("kernel", "dispatch", "memory", "crew", "processes", "terminals", *ATTACKS),
    "dispatch": (*EXAMPLES, "dispatch", "guesses", "jobs", "crew", "desk", *ATTACKS),
    "store": (
        "store",
        "memory",
        "jobs",
        "processes",
        "recall",
        "desk",
        "security/test_reading_a_secret.py",
        "security/test_running_what_an_import_brings.py",
    ),
    "memory": (*EXAMPLES, "memory", "thinking", "recall", "desk"),
    "work": (*EXAMPLES, "work", "desk"),
    "thinking": (*EXAMPLES, "thinking", "desk"),
    "jobs": (*EXAMPLES, "jobs", "desk", "dispatch", *ATTACKS),
    "crew": (*EXAMPLES, "crew", "desk", "dispatch", *ATTACKS),
    "processes": (*EXAMPLES, "processes", "terminals"),
    "ledger": (*EXAMPLES, "ledger", "subagents"),
    "desk": (*EXAMPLES, "desk", "dispatch"),
    "runner": ("runner", "supervisor"),
    "executors": ("runner", "subagents"),
    "git": ("runner", "security/test_run_code_through_a_worktree.py"),
    "supervisor": ("supervisor", "runner", "subagents"),
    "terminals": ("terminals", "processes"),
    "subagents": ("subagents",),
    "client": ("client", "surfaces"),
    "surfaces": ("surfaces", "client"),
    "config": ("config", "surfaces"),
}
"""The tests that judge a room: its own, and those of rooms that use it.
All tests together would notice more, but take hours."""
PROGRAMS = ("runner", "supervisor", "subagents", "client", "surfaces")
"""The rooms whose tests also start them as programs, in which it is not known what a test reaches;
there the tests of the same folder judge, too."""
MOST_TESTS = 600
MOST_SECONDS = 60
"""How many tests run for one mutant, and how long they take unbroken: the nearest ones."""
SLOW_S = 5
"""Tests that take longer come last."""


@dataclass(frozen=True, slots=True)
class Mutant:
    room: str
    path: str
    mutation: Mutation
    tests: tuple[str, ...]
    at_import: bool
    """Whether the line also runs outside tests, when modules are loaded."""
    text: str
    """The line, without its indentation."""

    def known_as(self) -> tuple[str, str, str]:
        return self.path.removeprefix("src/longhouse/"), self.text, str(self.mutation)


@dataclass(frozen=True, slots=True)
class Verdict:
    mutant: Mutant
    killed: bool | None
    """None if the tests that failed also fail on the unbroken code, and so prove nothing."""
    seconds: float
    equal: bool = False
    """Whether someone has read this survivor and said why no test can notice it."""


def main(args: list[str]) -> int:
    said = parser().parse_args(args)
    if said.tally:
        write_page()
        return 0
    ends = time.monotonic() + said.minutes * 60
    if said.fresh:
        for old in HOME.glob("reach-*"):
            old.unlink()
    commit = _commit()
    trees = [tree(number) for number in range(said.jobs)]  # the working tree may be edited
    verdicts: list[Verdict] = []
    for room in said.rooms or JUDGES:
        if time.monotonic() > ends:
            break
        recordings = recorded(trees[0], JUDGES[room], HOME, said.jobs)
        every = candidates(room, trees[0], recordings)
        sample = sampled(every, most=said.most, seed=f"{room}{said.seed}")
        found = judge(sample, trees, ends=ends)
        verdicts += found
        print(f"MUTANTS {room} seed {said.seed}: {Share.of(found)}", flush=True)
        keep(room, {"seed": said.seed, "tree": commit}, found)
    if said.write:
        write_page()
    return bool(below_floor(verdicts))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="make mutants ARGS=…", description=__doc__)
    made.add_argument(
        "rooms", nargs="*", choices=[*JUDGES, []], help="rooms to break (default: all)"
    )
    made.add_argument("--most", type=int, default=40, help="mutants per room (default: 40)")
    made.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    made.add_argument("--minutes", type=float, default=60, help="when to stop (default: 60)")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    made.add_argument("--fresh", action="store_true", help="learn anew which test reaches what")
    made.add_argument("--write", action="store_true", help=f"write the figures into {PAGE}")
    made.add_argument(
        "--tally", action="store_true", help="only write them, from the verdicts that are kept"
    )
    return made


def sampled(found: Iterable[Mutant], *, most: int, seed: str) -> list[Mutant]:
    """A random sample in random order, so that the part judged before time is up is also a sample.

    It is the same for the same seed, source and tests.
    """
    listed = list(found)
    return random.Random(seed).sample(listed, min(most, len(listed)))


def candidates(room: str, folder: Path, recordings: Sequence[Recording]) -> Iterator[Mutant]:
    """Every mutant on a line that a test reaches."""
    seconds = {name: spent for one in recordings for name, spent in one.seconds.items()}
    for file in sorted((folder / "src/longhouse" / room).rglob("*.py")):
        if "postgres" in file.name and room != "store":  # only the store's tests run on both
            continue
        path, source = str(file.relative_to(folder)), file.read_text(encoding="utf-8")
        reached: dict[int, set[str]] = {}
        for recording in recordings:
            for line, tests in recording.tests_by_line(path, source).items():
                reached.setdefault(line, set()).update(tests)
        lines = source.splitlines()
        for mutation in mutations(source):
            tests = reached.get(mutation.line, set())
            if here := tests - {""}:
                near = nearest(here, room, file.stem, seconds)
                if room in PROGRAMS:
                    folder_of_tests = f"tests/{file.parent.relative_to(folder / 'src/longhouse')}/"
                    others = {one for one in seconds if one.startswith(folder_of_tests)} - here
                    near = bounded([*near, *nearest(others, room, file.stem, seconds)], seconds)
                text = lines[mutation.line - 1].strip()
                yield Mutant(room, path, mutation, near, "" in tests, text)


def nearest(
    tests: Iterable[str], room: str, concept: str, seconds: dict[str, float]
) -> tuple[str, ...]:
    """The tests most likely to notice: the concept's, the room's, then others, quick ones first,
    from many files, as many as the bounds allow."""
    circles: dict[int, dict[str, list[str]]] = {0: {}, 1: {}, 2: {}}
    for test in sorted(tests, key=lambda one: (seconds.get(one, 0.0), one)):
        file = test.split("::")[0]
        own = f"tests/{room}/" in file
        circle = 0 if own and concept.rstrip("s") in file else 1 if own else 2
        circles[circle].setdefault(file, []).append(test)
    laps = (zip_longest(*files.values()) for files in circles.values())
    return bounded((one for circle in laps for lap in circle for one in lap if one), seconds)


def bounded(tests: Iterable[str], seconds: dict[str, float]) -> tuple[str, ...]:
    """The first of these tests, as many as may run for one mutant."""
    found: list[str] = []
    spent = 0.0
    for test in sorted(tests, key=lambda one: seconds.get(one, 0.0) > SLOW_S):
        spent += seconds.get(test, 0.0)
        if found and (spent > MOST_SECONDS or len(found) == MOST_TESTS):
            break
        found.append(test)
    return tuple(found)


def judge(sample: list[Mutant], trees: list[Path], *, ends: float) -> list[Verdict]:
    """Run the tests of each mutant, one mutant per tree at a time."""
    files = {test.split("::")[0] for mutant in sample for test in mutant.tests}
    equals = equivalents()
    places: Queue[tuple[Path, WarmTests]] = Queue()
    for folder in trees[: len(sample)]:
        places.put((folder, WarmTests(folder, files)))

    def one(mutant: Mutant) -> Verdict | None:
        if time.monotonic() > ends:
            return None
        place, started = places.get(), time.monotonic()
        try:
            killed = noticed(mutant, *place)
        finally:
            places.put(place)
        equal = killed is False and mutant.known_as() in equals
        fate = {True: "killed", False: "survived", None: "not judged"}[killed]
        print(
            f"  {'equivalent' if equal else fate} {mutant.path}:{mutant.mutation.line} "
            f"{mutant.mutation}",
            flush=True,
        )
        return Verdict(mutant, killed, time.monotonic() - started, equal)

    with ThreadPoolExecutor(len(trees)) as pool:
        found = [verdict for verdict in pool.map(one, sample) if verdict is not None]
    while not places.empty():
        places.get()[1].close()
    return found


def noticed(mutant: Mutant, folder: Path, warm: WarmTests) -> bool | None:
    """Whether a test fails on the broken code and passes on the unbroken; None if on neither."""
    file = (folder / mutant.path).resolve()
    compiled = Path(cache_from_source(str(file)))
    source = file.read_text(encoding="utf-8")
    broken = apply(source, mutant.mutation)
    try:
        compiled.unlink(missing_ok=True)
        file.write_text(broken, encoding="utf-8")
        failed = None
        if not mutant.at_import:
            failed = warm.failing(mutant.tests, (str(file), source, broken))
        if failed is None:  # what the code did when it was loaded matters, so load it anew
            fresh = WarmTests(folder, {test.split("::")[0] for test in mutant.tests})
            failed = fresh.failing(mutant.tests)
            fresh.close()
    finally:
        compiled.unlink(missing_ok=True)
        file.write_text(source, encoding="utf-8")
    if failed and warm.failing(failed):
        print(f"  fails on the unbroken code, too: {' '.join(failed[:2])}", flush=True)
        rest = mutant.tests[mutant.tests.index(failed[-1]) + 1 :]
        return noticed(replace(mutant, tests=rest), folder, warm) or None if rest else None
    return bool(failed)


def tree(number: int) -> Path:
    """A fresh copy of the files that tests need; removed at the end."""
    folder = HOME / f"tree-{os.getpid()}-{number}"
    shutil.copytree(".", folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    (folder / "build").mkdir()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def equivalents() -> set[tuple[str, str, str]]:
    """The survivors that were read and change nothing that anyone can see."""
    rows = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(row["path"], row["line"], row["edit"]) for row in rows if row["why"]}


@dataclass(frozen=True, slots=True)
class Share:
    """How many mutants were noticed, of how many that were judged and can be noticed."""

    noticed: int
    judged: int
    equal: int = 0

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Share:
        judged = [one for one in verdicts if one.killed is not None]
        return cls(
            sum(bool(one.killed) for one in judged), len(judged), sum(one.equal for one in judged)
        )

    @property
    def percent(self) -> int:
        return 100 * self.noticed // max(self.judged - self.equal, 1)

    def __str__(self) -> str:
        return f"{self.noticed}/{self.judged}, {self.equal} equivalent, {self.percent} %"


def keep(room: str, about: dict[str, Any], verdicts: list[Verdict]) -> None:
    """Write down the verdicts of a room, in place of its older ones."""
    rows = [
        {
            "path": one.mutant.path,
            "line": one.mutant.mutation.line,
            "text": one.mutant.text,
            "edit": str(one.mutant.mutation),
            "killed": one.killed,
            "tests": len(one.mutant.tests),
            "seconds": round(one.seconds, 1),
        }
        for one in verdicts
    ]
    sample = about | {"date": datetime.now(tz=UTC).date().isoformat(), "verdicts": rows}
    VERDICTS.write_text(json.dumps(kept() | {room: sample}, indent=1), encoding="utf-8")


def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    return found


def write_page() -> None:
    page = with_rows(PAGE.read_text(encoding="utf-8"), kept(), equivalents())
    PAGE.write_text(page, encoding="utf-8")


def tallied(rows: Iterable[dict[str, Any]], equals: set[tuple[str, str, str]]) -> Share:
    """The share of kept verdicts, with the survivors that have been read since."""
    judged = [row for row in rows if row["killed"] is not None]
    alike = [
        row
        for row in judged
        if (row["path"].removeprefix("src/longhouse/"), row["text"], row["edit"]) in equals
    ]
    noticed = sum(bool(row["killed"]) for row in judged)
    return Share(noticed, len(judged), sum(not row["killed"] for row in alike))


def with_rows(page: str, samples: dict[str, Any], equals: set[tuple[str, str, str]]) -> str:
    """The page with the rows of these rooms in its table."""
    for room, one in sorted(samples.items(), reverse=True):
        share = tallied(one["verdicts"], equals)
        cells = (room, one["seed"], share.judged, share.noticed, share.equal, f"{share.percent} %")
        row = " | ".join(str(cell) for cell in (*cells, one["tree"], one["date"]))
        page, replaced = re.subn(rf"(?m)^\| {room} \|.*$", f"| {row} |", page)
        if not replaced:
            page = re.sub(r"(?m)^(\| --- \|.*)$", rf"\1\n| {row} |", page, count=1)
    return page


def _commit() -> str:
    """The commit of the tree that was copied, with a + if files differ from it."""
    asked = ["git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty=+"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def below_floor(verdicts: list[Verdict]) -> list[str]:
    """The rooms whose tests noticed too few mutants; prints each."""
    missed = []
    for room in JUDGES:
        own = Share.of(one for one in verdicts if one.mutant.room == room)
        if own.judged and own.percent < FLOOR:
            print(f"mutants: {room} is below {FLOOR}%; read its survivors above")
            missed.append(room)
    return missed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
