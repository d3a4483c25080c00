"""Which tests reach which line, and how long each takes, recorded by running them with coverage.

A file of tests is recorded once, and again only when it has changed. If the source has
changed since, its lines are found again by comparing it with the source of the recording; a new
line counts as reached by the tests of the line before it. As a pytest plugin, this module writes
down seconds and failures.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import coverage
import pytest

RECORD = "build/recorded.json"
OUT = "build/out.txt"
BOTH = "tests/store/"
"""The tests that are recorded on both databases, for the room that hides which one it is."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of tests; only those of `files` are of today."""

    lines: coverage.CoverageData
    seconds: dict[str, float]
    failing: frozenset[str]
    """Tests that fail in a copy of the unbroken tree; they prove nothing."""
    sources: dict[str, str]
    files: frozenset[str]

    def tests_by_line(self, path: str, source: str) -> dict[int, set[str]]:
        """For each line of a file the tests that reach it; "" is what runs outside tests."""
        if path not in self.sources:
            return {}
        known = {
            line: {test for one in contexts if self._counts(test := one.rpartition("|")[0])}
            for line, contexts in self.lines.contexts_by_lineno(path).items()
        }
        return moved(known, self.sources[path], source)

    def _counts(self, test: str) -> bool:
        return test not in self.failing and (not test or test.split("::")[0] in self.files)


def moved(known: dict[int, set[str]], old: str, new: str) -> dict[int, set[str]]:
    """What is known by the lines of the old source, by those of the new."""
    if old == new:
        return known
    was, now = old.splitlines(), new.splitlines()
    origin = {
        after + step: before + step
        for before, after, size in SequenceMatcher(
            None, was, now, autojunk=False
        ).get_matching_blocks()
        for step in range(size)
    }
    found: dict[int, set[str]] = {}
    for at in range(len(now)):
        tests = known.get(origin[at] + 1) if at in origin else found.get(at)
        if tests:
            found[at + 1] = tests
    return found


def recorded(folder: Path, judges: Iterable[str], keep: Path, jobs: int) -> list[Recording]:
    """Recordings of these folders of tests in a copy of the tree; `keep` holds older ones."""
    wanted = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for judge in judges
        for path in _files(folder / "tests" / judge)
    }
    found = _known(wanted, keep)
    lacking = sorted(wanted.keys() - {file for one in found for file in one.files})
    both = [file for file in lacking if file.startswith(BOTH)]
    for files, databases in ((both, ()), (sorted(set(lacking) - {*both}), ("-k", "not postgres"))):
        if files:
            held = {file: wanted[file] for file in files}
            _record(folder, files, keep, [*databases, "-n", str(jobs)], held)
            found = _known(wanted, keep)
    return found


def _files(judge: Path) -> list[Path]:
    return [judge] if judge.is_file() else sorted(judge.rglob("test_*.py"))


def _known(wanted: dict[str, str], keep: Path) -> list[Recording]:
    """The newest recordings of these files as they are."""
    found: list[Recording] = []
    taken: set[str] = set()
    for about in sorted(keep.glob(f"reach-{'?' * 16}.json"), key=lambda one: one.stat().st_mtime)[
        ::-1
    ]:
        told = json.loads(about.read_text())
        files = {file for file, digest in told["files"].items() if wanted.get(file) == digest}
        if files - taken:
            lines = coverage.CoverageData(basename=str(about.with_suffix(".data")))
            lines.read()
            failing, current = frozenset(told["failing"]), frozenset(files - taken)
            found.append(Recording(lines, told["seconds"], failing, told["sources"], current))
            taken |= files
    return found


def _record(folder: Path, files: Sequence[str], keep: Path, how: list[str], held: Any) -> None:
    print(f"mutants: running {len(files)} files of tests to learn what each reaches", flush=True)
    for left in (RECORD, "build/coverage"):
        (folder / left).unlink(missing_ok=True)
    measured = ["-q", "-p", "no:cacheprovider", "--dist", "worksteal", *how]
    measured += ["--cov", "--cov-context=test", "--cov-report=", "-p", "tools.reach"]
    with (folder / OUT).open("wb") as out:
        subprocess.run(
            [sys.executable, "-m", "pytest", *measured, *files],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str((folder / "src").resolve())},
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=3600,
            check=False,
        )
    if not (folder / "build/coverage").exists() or not (folder / RECORD).exists():
        raise SystemExit(f"mutants: the tests did not run; see {folder / OUT}")
    told = json.loads((folder / RECORD).read_text())
    save(keep, folder, told | {"files": held}, folder / "build/coverage")


def save(keep: Path, folder: Path, told: dict[str, Any], data: Path) -> None:
    """Keep a recording, with the source that it is of."""
    sources = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted((folder / "src").rglob("*.py"))
    }
    text = json.dumps(told | {"sources": sources})
    name = f"reach-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    shutil.copy(data, keep / f"{name}.data")
    (keep / f"{name}.json").write_text(text)


# The plugin: the process that sees every report writes them down.

_seconds: Counter[str] = Counter()
_failing: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration  # type: ignore[assignment]
    if report.failed:
        _failing.add(report.nodeid)


def pytest_sessionfinish(session: Any) -> None:
    if hasattr(session.config, "workeroutput"):
        return
    rounded = {name: round(spent, 3) for name, spent in _seconds.items()}
    told = {"seconds": rounded, "failing": sorted(_failing)}
    (session.config.rootpath / RECORD).write_text(json.dumps(told))
