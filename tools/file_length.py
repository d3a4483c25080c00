"""Fails on files that have grown past reading: more than 500 lines.

Looks at what people write in src, tests, bench and web/src. Data is not prose and has no limit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIMIT = 500
ROOTS = ("src", "tests", "bench", "web/src")
DATA = {".csv", ".golden", ".json", ".jsonl", ".lock", ".snap", ".svg", ".toml", ".txt"}


def main(root: Path = Path()) -> int:
    long = sorted(
        (lines, path) for path in files(root) if (lines := count_lines(root / path)) > LIMIT
    )
    for lines, path in reversed(long):
        print(f"{path}: {lines} lines, at most {LIMIT}")
    if long:
        print("Split each along its concepts: one file, one concept, named by its noun.")
    return bool(long)


def files(root: Path) -> list[Path]:
    """Files under the roots that git tracks or would track; in a tree without git, all of them."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *ROOTS],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        found = [Path(name) for name in listing.stdout.split("\0") if name]
    else:
        found = [path.relative_to(root) for top in ROOTS for path in (root / top).rglob("*")]
    return sorted(path for path in set(found) if path.suffix not in DATA)


def count_lines(path: Path) -> int:
    """Lines of a text file; zero for anything else."""
    if not path.is_file() or path.is_symlink():
        return 0
    content = path.read_bytes()
    return 0 if b"\0" in content else len(content.splitlines())


if __name__ == "__main__":
    sys.exit(main())
