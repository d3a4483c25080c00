"""Prints the branch coverage of each room, and fails when one has fallen below its floor.

`tests/coverage.toml` holds the floors. `python -m tools.coverage_by_room --keep` raises them to
what the last `make coverage` measured; they are lowered only by hand, under review.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

import coverage

DATA = Path("build/coverage")
FLOORS = Path("tests/coverage.toml")
SLACK = 0.5
"""How far a floor is set below the measured value: some branches depend on thread timing."""


def main(args: list[str]) -> int:
    if not DATA.exists():
        print("coverage: no measurement yet; run: make coverage")
        return 1
    measured = by_room(DATA)
    floors = tomllib.loads(FLOORS.read_text(encoding="utf-8")) if FLOORS.exists() else {}
    if "--keep" in args:
        FLOORS.write_text(render(measured, floors), encoding="utf-8")
        return 0
    print("branch coverage  " + "  ".join(f"{r} {p:.1f}" for r, p in sorted(measured.items())))
    fell = [room for room, floor in floors.items() if measured.get(room, 0.0) < floor]
    for room in fell:
        print(
            f"coverage: {room} fell to {measured.get(room, 0.0):.1f}%, below its floor of "
            f"{floors[room]}% in {FLOORS}; to see which lines: "
            f".venv/bin/coverage report -m --include='src/longhouse/{room}*'"
        )
    return bool(fell)


def by_room(data: Path) -> dict[str, float]:
    """The percentage of lines and branches covered in each room."""
    held = coverage.Coverage(data_file=str(data))
    held.load()
    with (
        tempfile.NamedTemporaryFile(suffix=".json") as file,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        held.json_report(outfile=file.name)
        files = json.loads(Path(file.name).read_text(encoding="utf-8"))["files"]
    covered: dict[str, int] = defaultdict(int)
    there: dict[str, int] = defaultdict(int)
    for name, found in files.items():
        room = Path(name).relative_to("src/longhouse").parts[0].removesuffix(".py")
        summary = found["summary"]
        covered[room] += summary["covered_lines"] + summary["covered_branches"]
        there[room] += summary["num_statements"] + summary["num_branches"]
    return {room: 100 * covered[room] / there[room] for room in there if there[room]}


def render(measured: dict[str, float], floors: dict[str, float]) -> str:
    """The text of the floors file; no floor is lowered."""
    kept = {r: max(floors.get(r, 0.0), round(p - SLACK, 1)) for r, p in measured.items()}
    lines = [
        "# Branch coverage that no room may fall below, in percent: tools/coverage_by_room.py."
    ]
    return "\n".join(lines + [f"{room} = {kept[room]}" for room in sorted(kept)]) + "\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
