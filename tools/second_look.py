"""Reruns the few tests that failed in a full run, to tell broken tests from flaky ones.

Each must pass twice on its own, and once more with the other tests of its file, two at a time.
Tests that do are reported as UNSTEADY, a defect to fix. The run still fails, unless each of them is
named in `tests/unsteady.toml` with a reason and a day until which it is forgiven. There is no rerun
if the run ended for another reason or a worker died, because then some tests never ran.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path
from xml.etree import ElementTree

MOST = 20
FAILED = Path(".pytest_cache/v/cache/lastfailed")
LISTED = Path("tests/unsteady.toml")
RUN, LOOK = Path("build/junit.xml"), Path("build/second_look.xml")
"""The reports of the full run and of one rerun."""
TESTS_FAILED = 1
"""The exit code of pytest when tests failed."""
DIED = "crashed while running"


def main(args: list[str]) -> int:
    """Take the exit code of the run; return 0 if its failures are forgiven."""
    code = int(args[0])
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST:
        return code
    if not all("::" in name for name in failed) or DIED in RUN.read_text():
        return code
    if not passes(failed):
        return code
    known = forgiven(datetime.now(tz=UTC).date())
    strange = [name for name in failed if name.partition("[")[0] not in known]
    for name in failed:
        print(f"UNSTEADY: failed in the full run, passed in every rerun: {name}")
    if strange:
        print(
            f"{len(strange)} of them not forgiven: fix each, or name it in {LISTED} with a reason."
        )
        return code
    return 0


def forgiven(today: date) -> set[str]:
    """The tests that may be unsteady today, without their parameters."""
    listed = tomllib.loads(LISTED.read_text(encoding="utf-8"))["test"] if LISTED.exists() else []
    return {row["name"] for row in listed if row["reason"] and today <= row["until"]}


def passes(failed: list[str]) -> bool:
    """Whether these tests pass in every rerun; stops at the first failure."""
    alone = ["-n", "0", "--lf", "--lfnf=none"]
    crowd = ["-n", "2", *sorted({name.partition("::")[0] for name in failed})]
    for where, how in (("alone", alone), ("alone again", alone), ("with their files", crowd)):
        print(f"\nRerunning {len(failed)} failed tests, {where}:", flush=True)
        FAILED.write_text(json.dumps(dict.fromkeys(failed, True)))
        argv = [sys.executable, "-m", "pytest", "-q", f"--junitxml={LOOK}", *how]
        if subprocess.run(argv, check=False).returncode:
            return False
        if how is alone and passed() != len(failed):  # a test was not found or was skipped
            return False
    return True


def passed() -> int:
    """How many tests passed in the last rerun."""
    (suite,) = ElementTree.parse(LOOK).getroot().iter("testsuite")
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    return 2 * counts["tests"] - sum(counts.values())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
