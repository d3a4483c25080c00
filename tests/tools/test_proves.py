"""The clause tracer: what it refuses, what it records, and how runs add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugins.proves import merge

ROOT = Path(__file__).parents[2]
CLAUSES = "".join(f'[[clause]]\nid = "DEL-00{n}"\n' for n in range(1, 9))


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project of its own that has only the tracer and eight clauses, DEL-001 to DEL-008."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading all of them is slow
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makefile(".toml", clauses=CLAUSES)
    pytester.makeini("[pytest]\naddopts = -p tests.plugins.proves --strict-markers")
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    """In this process where that is the same thing; workers need a real command."""
    start = project.runpytest_subprocess if "-n" in args else project.runpytest_inprocess
    return start("-q", *args)


def recorded(project: pytest.Pytester) -> dict[str, str]:
    tests = json.loads((project.path / "build/proves.json").read_text())["tests"]
    return {
        f"{nodeid.split('::', 1)[1]} {' '.join(entry['proves'])}": entry["outcome"]
        for nodeid, entry in tests.items()
    }


def test_an_unknown_clause_is_a_collection_error(project: pytest.Pytester) -> None:
    project.makepyfile(
        'import pytest\n@pytest.mark.proves("DEL-001", "DEL-999")\ndef test_a(): pass'
    )
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_a: proves names unknown clauses: 'DEL-999'"])


def test_more_than_six_clauses_are_a_collection_error_even_on_two_marks(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.proves("DEL-001", "DEL-002", "DEL-003", "DEL-004")
        class TestAll:
            @pytest.mark.proves("DEL-005", "DEL-006", "DEL-007")
            def test_a(self): pass
        """
    )
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_a: proves names 7 clauses; split the test, 6 is the limit"])


@pytest.mark.parametrize("arguments", ["", "reason='x'", "1", "['DEL-001']"])
def test_a_mark_without_proper_ids_is_a_collection_error(
    project: pytest.Pytester, arguments: str
) -> None:
    project.makepyfile(f"import pytest\n@pytest.mark.proves({arguments})\ndef test_a(): pass")
    run(project).assert_outcomes(errors=1)


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["alone", "two"])
def test_outcomes_are_recorded_with_and_without_workers(
    project: pytest.Pytester, workers: list[str]
) -> None:
    project.makepyfile(
        """
        import pytest
        pytestmark = pytest.mark.proves("DEL-001")

        @pytest.fixture
        def breaks_late():
            yield
            raise RuntimeError

        @pytest.mark.proves("DEL-002")
        def test_good(): pass
        def test_bad(): assert False
        def test_late(breaks_late): pass
        def test_skipped(): pytest.skip()
        @pytest.mark.xfail
        def test_expected(): assert False
        @pytest.mark.parametrize("x", [1, 2])
        def test_twice(x): assert x == 1
        """
    )
    run(project, *workers)
    assert recorded(project) == {
        "test_good DEL-002 DEL-001": "passed",
        "test_bad DEL-001": "failed",
        "test_late DEL-001": "failed",
        "test_skipped DEL-001": "skipped",
        "test_expected DEL-001": "skipped",
        "test_twice[1] DEL-001": "passed",
        "test_twice[2] DEL-001": "failed",
    }


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["alone", "two"])
def test_a_partial_run_updates_only_the_tests_it_ran(
    project: pytest.Pytester, workers: list[str]
) -> None:
    source = """
        import pytest
        @pytest.mark.proves("DEL-001")
        def test_a(): assert {a}
        @pytest.mark.proves("DEL-002")
        def test_b(): assert {b}
        """
    project.makepyfile(test_one=source.format(a=True, b=False))
    run(project, *workers)
    project.makepyfile(test_one=source.format(a=False, b=True))
    run(project, *workers, "-k", "test_b")
    assert recorded(project) == {"test_a DEL-001": "passed", "test_b DEL-002": "passed"}
    run(project, *workers, "test_one.py::test_a")
    assert recorded(project) == {"test_a DEL-001": "failed", "test_b DEL-002": "passed"}


def test_renamed_and_deleted_tests_are_forgotten(project: pytest.Pytester) -> None:
    test = 'import pytest\n@pytest.mark.proves("DEL-001")\ndef test_{}(): pass'
    project.makepyfile(test_one=test.format("old"), test_two=test.format("gone"))
    run(project)
    project.makepyfile(test_one=test.format("new"))
    (project.path / "test_two.py").unlink()
    run(project, "-k", "nothing")
    assert recorded(project) == {"test_new DEL-001": "not run"}


def test_a_file_that_no_longer_imports_proves_nothing(project: pytest.Pytester) -> None:
    test = 'import pytest\n@pytest.mark.proves("DEL-001")\ndef test_a(): pass'
    project.makepyfile(test_one=test)
    run(project)
    project.makepyfile(test_one=f"import nowhere_at_all\n{test}")
    run(project)
    assert recorded(project) == {"test_a DEL-001": "failed"}


def test_listing_the_tests_records_nothing(project: pytest.Pytester) -> None:
    project.makepyfile('import pytest\n@pytest.mark.proves("DEL-001")\ndef test_a(): pass')
    run(project, "--collect-only")
    assert not (project.path / "build").exists()


def test_merge_keeps_tests_of_files_that_were_not_collected() -> None:
    old = {"a.py::t": {"outcome": "passed", "proves": ["DEL-001"]}}
    assert merge(old, {"b.py::t": ["DEL-002"]}, {"b.py::t": "failed"}) == {
        **old,
        "b.py::t": {"outcome": "failed", "proves": ["DEL-002"]},
    }


def test_merge_drops_a_test_that_claims_nothing_any_more() -> None:
    old = {"a.py::t": {"outcome": "passed", "proves": ["DEL-001"]}}
    assert merge(old, {"a.py::t": []}, {"a.py::t": "passed"}) == {}
