"""The three benchmarks that the tool-task contract requires run, and report what they measured."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import bench.processes
import bench.terminals
from bench._harness import interleave


@pytest.mark.proves("TTA-048", "TTA-049", "TTA-050")
def test_bookkeeping_ranges_under_load_and_frames_of_both_modes_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    once = partial(interleave, rounds=1, warmup=0)
    for module in (bench.processes, bench.terminals):
        monkeypatch.setattr(module, "interleave", once)
    monkeypatch.setattr(bench.processes, "LIVES", 2)
    monkeypatch.setattr(bench.processes, "READS", 3)
    monkeypatch.setattr(bench.processes, "LOG", 1 << 18)
    monkeypatch.setattr(bench.terminals, "DELTAS", 2)
    made = bench.processes.Bench(tmp_path)
    bench.processes.bookkeeping(made)
    bench.processes.ranges(made)
    made.house.close()
    bench.terminals.deltas(tmp_path)
    said = capsys.readouterr().out.splitlines()
    measured = [line.split()[1] for line in said if line.startswith("BENCH ")]
    assert measured == ["task-bookkeeping", "output-ranges", "terminal-delta"]
    assert any("pipes:" in line and "terminal:" in line for line in said)
