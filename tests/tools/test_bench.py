"""The benchmark harness, and the program that runs benchmarks and prints a summary."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from bench import _run
from bench._harness import Figures, interleave, kept, report
from bench._peers import peers_at, running
from bench.jobs import Bare, life, opened

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "ratio, promise, ok",
    [
        (2.0, "<=2.0", True),
        (2.1, "<=2.0", False),
        (0.4, ">=0.4", True),
        (0.3, ">=0.4", False),
        (math.nan, "<=2.0", False),
        (math.nan, ">=0", False),
    ],
)
def test_a_promise_is_a_bound_on_a_ratio(ratio: float, promise: str, ok: bool) -> None:
    assert kept(ratio, promise) is ok


@pytest.mark.parametrize("promise", ["2.0", "<2.0", "<= 2.0", "=>2"])
def test_a_malformed_promise_is_refused(promise: str) -> None:
    with pytest.raises(ValueError, match="a promise looks like"):
        kept(1.0, promise)


def test_contestants_take_turns_and_the_warm_up_is_not_counted() -> None:
    order: list[str] = []

    def contestant(name: str, figure: float) -> float:
        order.append(name)
        return figure

    figures = interleave(
        {"a": lambda: contestant("a", 2.0), "b": lambda: contestant("b", 4.0)}, rounds=2, warmup=1
    )
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert figures.raw == {"a": (2.0, 2.0), "b": (4.0, 4.0)}
    assert figures.ratio("b", "a") == 2.0


def test_a_report_is_one_bench_line_after_its_raw_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report("claim-one", 1.5, "<=2.0", Figures({"floor": (1.0, 3.0, 2.0)}))
    assert capsys.readouterr().out.splitlines() == [
        "# claim-one floor: median 2 of 1 3 2",
        "BENCH claim-one 1.500 <=2.0 ok",
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bench"
    folder.mkdir()
    for name in ("__init__.py", "_harness.py"):
        shutil.copy(ROOT / "bench" / name, folder)
    return folder


REPORT = 'from bench._harness import report\nreport("toy", {ratio}, "<=2.0")\n'


@pytest.mark.parametrize(
    "source, code, said",
    [
        (REPORT.format(ratio=1.0), 0, "All 1 promises kept."),
        (REPORT.format(ratio=3.0), 1, "toy   toy      3.000  <=2.0  miss"),
        ("print('nothing')", 1, "printed no BENCH line"),
        (REPORT.format(ratio=1.0) + "raise SystemExit(3)", 1, "exited with code 3"),
    ],
    ids=["kept", "missed", "silent", "crashed"],
)
def test_a_run_passes_only_when_every_file_kept_its_promises(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, code: int, said: str
) -> None:
    (folder / "toy.py").write_text(source)
    assert _run.main([], folder) == code
    assert said in capsys.readouterr().out


def test_a_benchmark_that_hangs_is_stopped(folder: Path) -> None:
    (folder / "toy.py").write_text("import subprocess\nsubprocess.run(['sleep', '60'])")
    (result,) = _run.run("toy", folder, limit=0.5)
    assert result.verdict == "timed out after 0.5 s"


def test_an_unknown_benchmark_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "toy.py").touch()
    assert _run.main(["joy"], folder) == 2
    assert "unknown benchmark: joy; choose from: toy" in capsys.readouterr().out


def test_the_bare_database_writes_the_rows_of_the_house_it_is_compared_with(
    tmp_path: Path,
) -> None:
    Bare(tmp_path / "bare.db").life()
    with opened(str(tmp_path), "lived") as house:
        life(house, "r1")
    bare, lived = written(tmp_path / "bare.db"), written(house.settings.db)
    assert len(lived.pop("workspace_projects")) == 1, "bound once, on first use"
    assert {name: len(rows) for name, rows in bare.items()} == {
        name: len(rows) for name, rows in lived.items()
    }
    assert timeless(bare["jobs"]) == timeless(lived["jobs"])


def written(path: Path | str) -> dict[str, list[dict[str, Any]]]:
    """The rows of every non-empty table."""
    cursor = apsw.Connection(str(path)).cursor()
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    found: dict[str, list[dict[str, Any]]] = {}
    for (table,) in cursor.execute(tables).fetchall():
        rows = cursor.execute(f'SELECT * FROM "{table}"').fetchall()
        if rows:
            names = [column[1] for column in cursor.execute(f'PRAGMA table_info("{table}")')]
            found[str(table)] = [dict(zip(names, row, strict=True)) for row in rows]
    return found


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if not key.endswith("_at_ms")} for row in rows
    ]


def test_a_peer_that_is_absent_has_no_figure_and_so_keeps_no_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running("huey", str(tmp_path), tmp_path / "python") as peer:
        figures = interleave({"ours": lambda: 1.0, **peers_at({"huey": peer})}, rounds=1)
    assert not report("beside-huey", figures.ratio("ours", "huey"), ">=1.0")
    assert "huey is not installed" in capsys.readouterr().out


def test_a_peer_that_dies_has_no_figure(tmp_path: Path) -> None:
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    dying.chmod(0o700)
    with running("huey", str(tmp_path), dying) as peer:
        peer.ask(1)
        assert math.isnan(peer.answer())


def test_every_peer_is_pinned() -> None:
    pinned = (ROOT / "requirements" / "bench.txt").read_text(encoding="utf-8")
    for name in ("dbos", "hermes-agent", "huey", "pgqueuer", "procrastinate"):
        assert f"\n{name}==" in pinned
