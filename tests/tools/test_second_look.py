"""The second look: what passes alone is named, and the run fails all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import second_look


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import pathlib\ndef test_unsteady(): pass\ndef test_broken(): assert False\n"
    )
    cache = tmp_path / second_look.FAILED
    cache.parent.mkdir(parents=True)
    return cache


def test_what_passes_alone_is_named_and_not_forgiven(
    failed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failed.write_text(json.dumps({"test_it.py::test_unsteady": True}))
    assert second_look.main() == 1
    assert "UNSTEADY: passed alone, failed among others: test_it.py::test_unsteady" in (
        capfd.readouterr().out
    )


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
