"""Breaking loaded code: what `make mutants` puts into functions that are already there."""

from __future__ import annotations

import gc
from pathlib import Path
from types import FunctionType

import pytest

from tools.mutants import equivalents, nearest, with_rows
from tools.mutations import mutations
from tools.warm_tests import WarmTests, put_in

SOURCE = """
def twice(n):
    return n * 2

def counter(start):
    def following(step):
        return start + step
    return following

class Shelf:
    def size(self):
        return len(
            "four"
        )
    def last(self):
        return 9
"""


def load() -> tuple[dict, list[FunctionType]]:
    made: dict = {}
    exec(compile(SOURCE, "shelf.py", "exec"), made)
    made["from_ten"] = made["counter"](10)
    loaded = [
        one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__globals__ is made
    ]
    return made, loaded


def test_a_loaded_function_method_and_closure_get_the_broken_code() -> None:
    for old, new, calls, wanted in [
        ("n * 2", "n // 2", lambda made: made["twice"](8), 4),
        ("start + step", "start - step", lambda made: made["from_ten"](3), 7),
        ('len(\n            "four"\n        )', "len('five_')", lambda m: m["Shelf"]().size(), 5),
        ('len(\n            "four"\n        )', "len('five_')", lambda m: m["Shelf"]().last(), 9),
    ]:
        made, loaded = load()
        assert put_in(("shelf.py", SOURCE, SOURCE.replace(old, new)), loaded)
        assert calls(made) == wanted


def test_code_that_a_living_closure_cannot_take_is_said_not_to_fit() -> None:
    _, loaded = load()
    broken = SOURCE.replace("return start + step", "return None")
    assert not put_in(("shelf.py", SOURCE, broken), loaded)


def test_a_fork_runs_up_to_the_first_test_that_fails_on_the_broken_code(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "src/longhouse").mkdir(parents=True)
    (tmp_path / "tools").symlink_to(Path(__file__).parents[2] / "tools")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    (tmp_path / "src/longhouse/__init__.py").touch()
    shelf = tmp_path / "src/longhouse/shelf.py"
    shelf.write_text(SOURCE)
    (tmp_path / "test_shelf.py").write_text(
        "from longhouse.shelf import twice\n"
        "def test_zero(): assert twice(0) == 0\n"
        "def test_two(): assert twice(2) == 4\n"
        "def test_four(): assert twice(4) == 8\n"
    )
    tests = [f"test_shelf.py::test_{name}" for name in ("zero", "two", "four")]
    warm = WarmTests(tmp_path, ["test_shelf.py"])
    broken = (str(shelf), SOURCE, SOURCE.replace("n * 2", "n // 2"))
    closed = (str(shelf), SOURCE, SOURCE.replace("n * 2", "n + n"))
    try:
        assert warm.failing(tests) == []
        assert warm.failing(tests, broken) == ["test_shelf.py::test_two"]
        assert warm.failing(tests, closed) == []
    finally:
        warm.close()


def test_tests_that_cannot_be_collected_have_failed(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "tools").symlink_to(Path(__file__).parents[2] / "tools")
    (tmp_path / "test_shelf.py").write_text("import nothing_of_this_name\n")
    warm = WarmTests(tmp_path, ["test_shelf.py"])
    assert warm.failing(["test_shelf.py::test_a"]) == ["test_shelf.py::test_a"]
    warm.close()


def test_the_tests_of_the_concept_come_first_and_quick_ones_before_slow_ones() -> None:
    seconds = {
        "tests/jobs/test_claiming.py::slow": 9.0,
        "tests/jobs/test_claiming.py::quick": 0.1,
        "tests/jobs/test_radar.py::a": 0.1,
        "tests/desk/test_status.py::b": 0.01,
        "tests/desk/test_status.py::hour": 3600.0,
    }
    assert nearest(seconds, "jobs", "claiming", seconds) == (
        "tests/jobs/test_claiming.py::quick",
        "tests/jobs/test_radar.py::a",
        "tests/desk/test_status.py::b",
        "tests/jobs/test_claiming.py::slow",
    )


@pytest.mark.parametrize("room, lines", [("store", 4), ("jobs", 5)])
def test_a_room_has_one_row_on_the_page(room: str, lines: int) -> None:
    page = "| room | seed |\n| --- | --- |\n| store | 1 |\nThe end.\n"
    edits = [("a", True), ("b", True), ("c", None), ("d", False), ("e", False)]
    rows = [{"path": "x.py", "text": "x", "edit": edit, "killed": fate} for edit, fate in edits]
    one = {"seed": 7, "verdicts": rows, "tree": "abc", "date": "2030-01-02"}
    made = with_rows(page, {room: one}, {("x.py", "x", "d"), ("x.py", "x", "a")})
    assert f"| {room} | 7 | 4 | 2 | 1 | 66 % | abc | 2030-01-02 |\n" in made
    assert len(made.splitlines()) == lines


def test_every_mutant_that_is_called_equivalent_still_exists() -> None:
    for path, line, edit in equivalents():
        source = (Path(__file__).parents[2] / "src/longhouse" / path).read_text(encoding="utf-8")
        lines = source.splitlines()
        made = {(lines[one.line - 1].strip(), str(one)) for one in mutations(source)}
        assert (line, edit) in made, f"{path} has no {line!r} with {edit}; remove or mend its row"
