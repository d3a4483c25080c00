"""`make weekly`: each part runs, whatever became of the one before it, and one report says how."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import weekly


def says(text: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"print({text!r}); raise SystemExit({code})"]


def test_every_part_runs_and_one_failure_fails_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = {"bench": says("one was missed", 1), "fuzz": says("nothing found")}
    assert weekly.main([], jobs, tmp_path) == 1
    report = (tmp_path / "build/weekly/report.md").read_text(encoding="utf-8")
    assert "## bench: FAILED, exit code 1" in report
    assert "    one was missed" in report
    assert "## fuzz: ok" in report
    assert report in capsys.readouterr().out
    assert (tmp_path / "build/weekly/fuzz.log").read_text(encoding="utf-8") == "nothing found\n"


def test_parts_can_be_chosen_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = {"bench": says("no", 1), "fuzz": says("yes")}
    assert weekly.main(["fuzz"], jobs, tmp_path) == 0
    assert weekly.main(["nothing"], jobs, tmp_path) == 2
    assert "unknown: nothing; choose from: bench, fuzz" in capsys.readouterr().out


def test_the_parts_are_targets_of_the_makefile() -> None:
    made = (weekly.ROOT / "Makefile").read_text(encoding="utf-8")
    for argv in weekly.JOBS.values():
        assert f"\n{argv[2]}: " in made, argv
