"""The reruns after a full run: tests that pass in each are named; only listed ones are forgiven."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import second_look

LATE = 'def test_it(): open("looks", "a").write(".")\n'
BROKEN = "def test_it(): assert False\n"
SKIPPED = "import pytest\ndef test_it(): pytest.skip('not here')\n"
LUCKY_ONCE = 'import pathlib\ndef test_it(): pathlib.Path("looks").mkdir()\n'
LONELY = 'import os\ndef test_it(): assert "PYTEST_XDIST_WORKER" not in os.environ\n'

ROOT = Path(__file__).parents[2]
Look = Callable[..., tuple[int, str]]
Listed = Callable[..., None]


@pytest.fixture
def look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Look:
    """Looks at what failed in a run that ended with a code: how it ends, and what is said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    # The reruns need no other plugin, and most of their time would go into loading them.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    cache = tmp_path / second_look.FAILED
    cache.parent.mkdir(parents=True)
    (tmp_path / second_look.RUN).parent.mkdir()

    def again(
        *failed: str, code: int = 1, test: str = LATE, run: str = "<testsuites/>"
    ) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(test)
        (tmp_path / second_look.RUN).write_text(run)
        cache.write_text(json.dumps(dict.fromkeys(failed, True)))
        return second_look.main([str(code)]), capfd.readouterr().out

    return again


@pytest.fixture
def listed(tmp_path: Path) -> Listed:
    """Lists a test as known to be unsteady."""

    def add(name: str, until: str = "2999-01-31", reason: str = "waits for a slow disk") -> None:
        path = tmp_path / second_look.LISTED
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'[[test]]\nname = "{name}"\nreason = "{reason}"\nuntil = {until}\n')

    return add


def test_a_listed_one_that_passes_on_every_look_is_named_and_forgiven(
    look: Look, listed: Listed, tmp_path: Path
) -> None:
    listed("test_it.py::test_it")
    code, said = look("test_it.py::test_it")
    assert code == 0
    assert [line for line in said.splitlines() if "UNSTEADY" in line and "::test_it" in line]
    assert (tmp_path / "looks").read_text() == "...", "twice alone, once among its file"


@pytest.mark.parametrize(
    "test, last", [(BROKEN, "alone:"), (LUCKY_ONCE, "alone again:"), (LONELY, "with their files:")]
)
def test_one_that_fails_on_any_look_fails_the_run_and_is_not_called_unsteady(
    look: Look, test: str, last: str
) -> None:
    code, said = look("test_it.py::test_it", test=test)
    assert code == 1
    assert "UNSTEADY" not in said
    (*_, at) = [line for line in said.splitlines() if line.startswith("Rerunning")]
    assert at.endswith(last)


def test_one_that_is_not_listed_fails_the_run_though_it_passes_on_every_look(
    look: Look, listed: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_look, "passes", lambda _failed: True)
    listed("test_it.py::test_a")
    assert look("test_it.py::test_a[sqlite]", "test_it.py::test_a[postgres]")[0] == 0
    code, said = look("test_it.py::test_a", "test_it.py::test_b")
    assert code == 1
    assert said.count("UNSTEADY") == 2
    assert "1 of them not forgiven" in said


@pytest.mark.parametrize("until, reason", [("2026-01-31", "slow"), ("2999-01-31", "")])
def test_one_whose_time_is_over_or_that_has_no_reason_is_not_forgiven(
    look: Look, listed: Listed, until: str, reason: str
) -> None:
    listed("test_it.py::test_it", until=until, reason=reason)
    assert look("test_it.py::test_it")[0] == 1


def test_every_test_that_is_forgiven_exists_and_says_why() -> None:
    listed = tomllib.loads((ROOT / second_look.LISTED).read_text(encoding="utf-8")).get("test", [])
    for row in listed:
        path, _, name = row["name"].partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
        assert row["reason"]


def test_many_failures_get_no_second_look(look: Look) -> None:
    assert look(*(f"test_it.py::test_{n}" for n in range(second_look.MOST + 1))) == (1, "")


@pytest.mark.parametrize("name", ["test_it.py::test_gone", "test_gone.py::test_it"])
def test_one_that_is_not_found_again_is_not_forgiven(look: Look, name: str) -> None:
    code, said = look("test_it.py::test_it", name)
    assert (code, "UNSTEADY" in said) == (1, False)


def test_one_that_is_skipped_on_the_second_look_is_not_forgiven(look: Look) -> None:
    code, said = look("test_it.py::test_it", test=SKIPPED)
    assert (code, "UNSTEADY" in said) == (1, False)


def test_a_broken_one_is_not_forgiven_for_the_late_one_beside_it(look: Look) -> None:
    beside = f"{LATE}def test_broken(): assert False\n"
    code, said = look("test_it.py::test_it", "test_it.py::test_broken", test=beside)
    assert (code, "UNSTEADY" in said) == (1, False)


def test_a_file_that_cannot_be_collected_gets_no_second_look(look: Look) -> None:
    assert look("test_it.py") == (1, "")


def test_a_run_in_which_a_worker_died_gets_none(look: Look) -> None:
    died = "<failure>worker 'gw0' crashed while running 'test_it.py::test_it'</failure>"
    assert look("test_it.py::test_it", run=died) == (1, "")


def test_a_run_that_left_no_list_of_failures_gets_none(look: Look, tmp_path: Path) -> None:
    (tmp_path / second_look.RUN).write_text("<testsuites/>")
    assert second_look.main(["1"]) == 1


@pytest.mark.parametrize("code", [2, 3, 4, 5])
def test_a_run_that_broke_off_gets_none_whatever_failed_before(look: Look, code: int) -> None:
    assert look("test_it.py::test_it", code=code) == (code, "")


def test_a_run_that_failed_though_no_test_did_gets_none(look: Look) -> None:
    assert look() == (1, "")
