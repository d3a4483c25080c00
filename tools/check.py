"""Runs every static check, prints one line per check, and shows the output of those that fail.

`python -m tools.check mypy imports` runs only the named ones.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
PYTHON = sys.executable


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    argv: tuple[str, ...]
    cure: str


CHECKS = (
    Check(
        "format", (f"{BIN}/ruff", "format", "--check", "--quiet", "."), ".venv/bin/ruff format ."
    ),
    Check("lint", (f"{BIN}/ruff", "check", "--quiet", "."), ".venv/bin/ruff check --fix ."),
    Check("types", (PYTHON, "-m", "mypy", "--no-error-summary"), "fix the types named above"),
    Check(
        "imports",
        (f"{BIN}/lint-imports", "--no-logo"),
        "import only from lower rooms; a higher room registers what a lower one needs from it",
    ),
    Check("length", (PYTHON, "-m", "tools.file_length"), "split the files named above"),
    Check("docs", (PYTHON, "-m", "tools.docs"), "fix the pages named above"),
    Check("web", (PYTHON, "-m", "tools.page", "check"), "fix the files in web/ named above"),
    Check("pages", (PYTHON, "-m", "tools.commands", "--check"), "python -m tools.commands"),
)


def main(wanted: list[str]) -> int:
    known = {check.name for check in CHECKS}
    if unknown := set(wanted) - known:
        print(f"unknown check: {', '.join(sorted(unknown))}; use {', '.join(sorted(known))}")
        return 2
    failed = [check for check in CHECKS if check.name in (wanted or known) and not passes(check)]
    for check in failed:
        print(
            f"{check.name}: to fix it: {check.cure}; to run it again: make check ARGS={check.name}"
        )
    return bool(failed)


def passes(check: Check) -> bool:
    started = time.monotonic()
    run = subprocess.run(
        check.argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    verdict = "FAILED" if run.returncode else "ok"
    print(f"{check.name:8} {verdict} ({time.monotonic() - started:.1f} s)", flush=True)
    if run.returncode:
        print(run.stdout.rstrip(), end="\n\n", flush=True)
    return run.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
