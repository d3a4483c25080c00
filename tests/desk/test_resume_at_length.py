"""A resume says what failed and what a branch holds under every budget, and uses its room."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longhouse.jobs.failure import failing_line
from tests.desk.project import planted
from tests.kit import Lh
from tests.work.kit import new_task, step

RESUME = "tasks.resume.super"
OUTPUT = """\
Converted 212 of 214 products. The rest is below.
============================= test session starts ==============================
collected 214 items
tests/test_mapping.py ....F..                                             [ 98%]
    def test_price_is_kept():
>       assert convert(product)["price"] == 4_990
E       KeyError: 'price'
tests/test_mapping.py:41: KeyError
=========================== short test summary info ============================
FAILED tests/test_mapping.py::test_price_is_kept - KeyError: 'price'
1 failed, 213 passed in 4.41s
"""


@pytest.mark.parametrize(
    "text, line",
    [
        (OUTPUT, "FAILED tests/test_mapping.py::test_price_is_kept - KeyError: 'price'"),
        ("ok 1 - a\nnot ok 2 - swaps the alias\n# fail 1", "not ok 2 - swaps the alias"),
        ("=== RUN\n--- FAIL: TestSwap (0.01s)\n  swap_test.go:9: no", "--- FAIL: TestSwap (0.01s)"),
        (
            "Compiling\nerror[E0308]: mismatched types\n --> src/a.rs",
            "error[E0308]: mismatched types",
        ),
        ("src/a.ts(3,1): error TS2304: Cannot find name 'x'.", None),
        (
            "Traceback:\n  File a\nValueError: first\nduring:\nOSError: disk full",
            "OSError: disk full",
        ),
        ("All was well.\nThe disk could not be mounted.", "The disk could not be mounted."),
        ("make: exit code 2\nbye", "make: exit code 2"),
        ("All is well.\nNothing else.", None),
        ("", None),
    ],
)
def test_the_line_that_says_what_failed_is_found(text: str, line: str | None) -> None:
    assert failing_line(text) == (text if line is None and "TS2304" in text else line)


def failed_job(lh: Lh, task: str, summary: str, title: str = "Convert the mapping") -> str:
    job = str(lh("jobs.create", title=title, prompt="p", task=task)["job"]["id"])
    claimed = lh("jobs.claim", job=job, runner_id="r1")["job"]
    at = {"job": job, "runner_id": "r1", "claim_revision": claimed["revision"]}
    lh("jobs.complete", **at, status="FAILED", summary=summary)
    return job


@pytest.mark.parametrize("max_chars", [6_000, 6_001, 8_000, 12_000, 20_000])
def test_what_failed_and_what_a_branch_holds_fit_every_budget(lh: Lh, max_chars: int) -> None:
    project = planted(lh, tasks=10)
    failed_job(lh, project.task, OUTPUT * 8, title="Convert " * 20)
    for number in range(8):
        lh("jobs.create", title=f"Queued {number} " * 9, prompt="p", task=project.task)
        lh("vcs.notes.commit", target=project.task, content=f"{number} " * 900)
    args = {"task": project.task, "max_chars": max_chars, **project.me}
    whole = json.dumps(lh(RESUME, **args)["facts"], ensure_ascii=False)
    lines = "\n".join(lh.lines(RESUME, **args))
    for said in (whole, lines):
        assert "test_price_is_kept - KeyError: 'price'" in said
        assert "Warm the cache before the swap." in said


def test_a_failure_is_found_in_reports_if_the_summary_does_not_name_it(lh: Lh) -> None:
    task = new_task(lh, step("Measure"))
    job = str(lh("jobs.create", title="Run", prompt="p", task=task)["job"]["id"])
    claimed = lh("jobs.claim", job=job, runner_id="r1")["job"]
    at = {"job": job, "runner_id": "r1", "claim_revision": claimed["revision"]}
    lh("jobs.report", **at, kind="error", message="collected 3\nFAILED tests/a.py::test_b - boom")
    lh("jobs.complete", **at, status="FAILED", summary="I gave up.")
    (fact,) = [one for one in lh(RESUME, task=task)["facts"] if one["about"] == "job"]
    assert "tests/a.py::test_b - boom" in fact["text"]


def test_lines_use_the_room_they_are_given(lh: Lh) -> None:
    project = planted(lh, tasks=10)
    for number in range(12):
        long = f"Finding {number}: " + "the alias was swapped under load and held. " * 30
        lh("vcs.notes.commit", target=project.task, content=f"{long}END-{number}.")
    args: dict[str, Any] = {"task": project.task, **project.me}
    lengths = {}
    for max_chars in (2_000, 6_000, 12_000, 20_000):
        lines = "\n".join(lh.lines(RESUME, **args, max_chars=max_chars))
        assert len(lines) <= max_chars
        lengths[max_chars] = len(lines) / max_chars
    assert min(lengths.values()) > 0.85, lengths
    assert "END-11." in lines, "a note that its fact cuts is told in full"
    short = lh.lines(RESUME, **args, max_chars=20_000)
    assert len(short) == len(set(short)), "nothing is told twice"


def test_a_small_task_needs_no_more_room_than_its_facts(lh: Lh) -> None:
    task = new_task(lh, step("Measure"), description="Slow.")
    lines = lh.lines(RESUME, task=task)
    assert len("\n".join(lines)) < 2_000
    assert sum("Slow." in line for line in lines) == 1
