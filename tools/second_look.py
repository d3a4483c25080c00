"""A second look, alone, at the few tests that failed among all the others.

It tells a broken test from one that a crowded machine made late. What passes alone is named as
unsteady: one such test does not fail the run, two do, and so does any that fails again. Many
failures are never a crowd's doing and get no second look.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 20
FORGIVEN = 1
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """Say what passes alone; exit code 0 only if all of them do, and they are few."""
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not failed or len(failed) > MOST:
        return 1
    print(f"\nA second look at {len(failed)} that failed, one at a time:", flush=True)
    alone = [sys.executable, "-m", "pytest", "-q", "--lf", "--lfnf=none", "-n", "0"]
    if subprocess.run(alone, check=False).returncode:
        return 1
    for name in failed:
        print(f"UNSTEADY: passed alone, failed among others: {name}")
    return int(len(failed) > FORGIVEN)


if __name__ == "__main__":
    raise SystemExit(main())
