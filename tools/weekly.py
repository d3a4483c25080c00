"""Everything that takes too long for each change, one after another, with one report.

`make weekly` runs the benchmarks, a sample of mutants, the generated requests and the third-party
clients. What they print goes to `build/weekly/`; the report, also on the screen, says how each
ended and how it ends again. `ARGS="bench fuzz"` runs only these.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

__all__ = ["JOBS", "main"]

ROOT = Path(__file__).parent.parent
JOBS = {
    "bench": ["make", "-s", "bench"],
    "mutants": ["make", "-s", "mutants", "ARGS=--most 20"],
    "fuzz": ["make", "-s", "fuzz"],
    "test-clients": ["make", "-s", "test-clients"],
}
SHOWN = 12


def main(wanted: list[str], jobs: dict[str, list[str]] = JOBS, root: Path = ROOT) -> int:
    if unknown := [name for name in wanted if name not in jobs]:
        print(f"unknown: {', '.join(unknown)}; choose from: {', '.join(jobs)}")
        return 2
    folder = root / "build" / "weekly"
    folder.mkdir(parents=True, exist_ok=True)
    report = [f"# Weekly report, {time.strftime('%Y-%m-%d')}", ""]
    failed = False
    for name in wanted or jobs:
        print(f"== {name}", flush=True)
        log, began = folder / f"{name}.log", time.monotonic()
        with log.open("wb") as out:
            code = subprocess.run(jobs[name], cwd=root, stdout=out, stderr=out, check=False)
        minutes = (time.monotonic() - began) / 60
        failed = failed or code.returncode != 0
        ended = "ok" if code.returncode == 0 else f"FAILED, exit code {code.returncode}"
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN:]
        report += [f"## {name}: {ended} ({minutes:.1f} min)", "", *(f"    {one}" for one in last)]
        report += ["", f"All of it: {log.relative_to(root)}", ""]
        print(report[-3 - len(last) - 2], flush=True)
    text = "\n".join(report)
    (folder / "report.md").write_text(text, encoding="utf-8")
    print(f"\n{text}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
