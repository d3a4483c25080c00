"""The contract's three benchmarks exist, run, and compare each figure with a floor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import _harness, processes

LINE = re.compile(r"BENCH (\S+) ([0-9.]+) (\S+) (?:ok|miss)")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[processes.Bench]:
    """The same benchmarks with little work: the test only checks that they measure."""
    monkeypatch.setattr(processes, "LIVES", 1)
    monkeypatch.setattr(processes, "READS", 2)
    monkeypatch.setattr(processes, "LOG", 1 << 20)
    monkeypatch.setattr(
        processes, "interleave", lambda them: _harness.interleave(them, rounds=1, warmup=0)
    )
    made = processes.Bench(tmp_path)
    yield made
    made.house.close()


def measured(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    return {name: float(ratio) for name, ratio, _ in LINE.findall(capsys.readouterr().out)}


@pytest.mark.proves("TTA-048")
def test_the_bookkeeping_of_a_task_that_does_nothing_is_measured(
    bench: processes.Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    processes.bookkeeping(bench)
    assert measured(capsys)["task-bookkeeping"] > 0
    done = [task["status"] for task in bench("tool.task_list")["tasks"]]
    assert done == ["exited"]


@pytest.mark.proves("TTA-049")
def test_ranges_and_writes_of_output_are_measured_while_frames_are_written(
    bench: processes.Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    processes.ranges(bench)
    processes.storing(bench)
    assert measured(capsys).keys() == {"output-ranges", "output-store"}
    assert bench("docs.artifact.list")["artifacts"][0]["size"] == processes.STORED


@pytest.mark.proves("TTA-050")
def test_frames_of_output_are_measured_with_pipes_and_with_a_terminal(
    bench: processes.Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    processes.deltas(bench)
    assert measured(capsys).keys() == {"task-delta-pipes", "task-delta-pty"}
    tasks = {task["execution_mode"]: task for task in bench("tool.task_list")["tasks"]}
    told = {mode: task["artifacts"]["logs"] for mode, task in tasks.items()}
    assert told["pipes"]["stdout"]["bytes"] == told["pty"]["pty"]["bytes"] == 32 * 8_192
