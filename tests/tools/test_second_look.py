"""The second look: a few that pass alone are named and forgiven, nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import second_look


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import pytest\ndef test_unsteady(): pass\ndef test_broken(): assert False\n"
        "@pytest.mark.parametrize('n', range(6))\ndef test_late(n): pass\n"
    )
    cache = tmp_path / second_look.FAILED
    cache.parent.mkdir(parents=True)
    return cache


def test_the_few_that_pass_alone_are_named_and_forgiven(
    failed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failed.write_text(json.dumps({"test_it.py::test_unsteady": True}))
    assert second_look.main() == 0
    assert "UNSTEADY: passed alone, failed among others: test_it.py::test_unsteady" in (
        capfd.readouterr().out
    )


def test_more_than_a_few_that_pass_alone_fail_the_run(failed: Path) -> None:
    late = {f"test_it.py::test_late[{n}]": True for n in range(second_look.FORGIVEN + 1)}
    failed.write_text(json.dumps(late))
    assert second_look.main() == 1
    failed.write_text(json.dumps(dict(list(late.items())[1:])))
    assert second_look.main() == 0


def test_one_that_fails_again_is_not_forgiven_for_one_that_passes(failed: Path) -> None:
    names = ("unsteady", "broken")
    failed.write_text(json.dumps({f"test_it.py::test_{name}": True for name in names}))
    assert second_look.main() == 1


def test_what_fails_again_is_not_called_unsteady(
    failed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failed.write_text(json.dumps({"test_it.py::test_broken": True}))
    assert second_look.main() == 1
    assert "UNSTEADY" not in capfd.readouterr().out


def test_many_failures_get_no_second_look(failed: Path) -> None:
    failed.write_text(json.dumps({f"test_it.py::test_{n}": True for n in range(21)}))
    assert second_look.main() == 1


def test_a_run_that_broke_before_any_test_gets_none(failed: Path) -> None:
    assert second_look.main() == 1
