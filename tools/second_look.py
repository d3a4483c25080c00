"""A second look at the few tests that failed among all the others: broken, or late in a crowd?

Each must pass twice alone, and once more among the tests of its file, two at a time. What does is
named as unsteady, a defect to mend: up to three of these do not fail the run. Whatever fails again
does, and so do more of them. A run that ended otherwise than by failed tests gets no second look:
what it left out is not known.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FORGIVEN = 3
MOST = 20
FAILED = Path(".pytest_cache/v/cache/lastfailed")
TESTS_FAILED = 1
"""How pytest exits when all tests ran and some failed."""


def main(args: list[str]) -> int:
    """Takes the exit code of the run; 0 if it is forgiven."""
    code = int(args[0])
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST:
        return code
    if not passes(failed):
        return code
    for name in failed:
        print(f"UNSTEADY: failed among all tests, passed on every second look: {name}")
    if len(failed) > FORGIVEN:
        print(f"At most {FORGIVEN} such tests are forgiven.")
        return code
    return 0


def passes(failed: list[str]) -> bool:
    """Whether these pass wherever they are looked at again; stops where one does not."""
    alone = ["-n", "0", "--lf", "--lfnf=none"]
    crowd = ["-n", "2", *sorted({name.partition("::")[0] for name in failed})]
    for where, how in (("alone", alone), ("alone again", alone), ("among their files", crowd)):
        print(f"\nA second look at {len(failed)} that failed, {where}:", flush=True)
        FAILED.write_text(json.dumps(dict.fromkeys(failed, True)))
        if subprocess.run([sys.executable, "-m", "pytest", "-q", *how], check=False).returncode:
            return False
    return True


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
