"""Our own checks in `make check` (file length, docs, imports), and the hint after a failed test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests.plugins.reproduce import command
from tools import docs, file_length
from tools.import_contracts import OnlyContract
from tools.node import ROOT


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_file_of_500_lines_passes_and_one_more_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "src/fine.py", "x\n" * 500)
    write(tmp_path / "tests/data.json", "x\n" * 900)
    write(tmp_path / "elsewhere/long.py", "x\n" * 900)
    assert file_length.main(tmp_path) == 0
    write(tmp_path / "web/src/long.ts", "x\n" * 501)
    assert file_length.main(tmp_path) == 1
    assert "web/src/long.ts: 501 lines, at most 500" in capsys.readouterr().out


def test_a_link_must_lead_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "b.md", "")
    write(tmp_path / "a.md", "[b](b.md#part) [c](https://example.org) `[d](d.md)` [e](#e)")
    assert docs.main(tmp_path) == 0
    write(tmp_path / "a.md", "one\n\n[d](../d.md)")
    assert docs.main(tmp_path) == 1
    assert capsys.readouterr().out == "a.md:3: broken link: ../d.md\n"


def test_a_page_of_the_docs_is_in_their_reading_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "docs/README.md", "1. [A](a.md)")
    write(tmp_path / "docs/a.md", "")
    assert docs.main(tmp_path) == 0
    write(tmp_path / "docs/b.md", "")
    assert docs.main(tmp_path) == 1
    assert capsys.readouterr().out == "docs/b.md: not listed in docs/README.md\n"


def test_ruff_checks_every_python_file() -> None:
    ruff = Path(sys.executable).with_name("ruff")
    shown = subprocess.run(
        [ruff, "check", "--show-files", "."], cwd=ROOT, capture_output=True, text=True, check=True
    )
    checked = {Path(line) for line in shown.stdout.splitlines()}
    folders = [ROOT / name for name in ("bench", "src", "tests", "tools")]
    assert {path for folder in folders for path in folder.rglob("*.py")} <= checked


def only(**options: list[str]) -> OnlyContract:
    return OnlyContract("name", {"root_packages": ["house"]}, options)


def test_only_the_allowed_packages_may_be_imported() -> None:
    graph = grimp.ImportGraph()
    graph.add_import(importer="house.runner.loop", imported="house.client")
    graph.add_import(importer="house.runner.loop", imported="house.runner.slices")
    graph.add_import(importer="house.client", imported="house.store")
    contract = only(modules=["house.runner"], allowed=["house.client"])
    assert contract.check(graph, verbose=False).kept
    graph.add_import(importer="house.runner.loop", imported="house.store")
    check = contract.check(graph, verbose=False)
    assert check.metadata["strays"] == ["house.runner.loop imports house.store"]
    assert not check.kept


def test_optional_modules_are_held_apart_from_the_rest_of_their_package() -> None:
    graph = grimp.ImportGraph()
    graph.add_import(importer="house.library.extra", imported="house.client")
    graph.add_import(importer="house.library.core", imported="house.kernel")
    contract = only(
        modules=["house.library"], besides=["house.library.extra"], allowed=["house.kernel"]
    )
    assert contract.check(graph, verbose=False).kept
    graph.add_import(importer="house.library.core", imported="house.library.extra")
    check = contract.check(graph, verbose=False)
    assert check.metadata["strays"] == ["house.library.core imports house.library.extra"]


def test_modules_that_do_not_exist_yet_keep_the_contract() -> None:
    contract = only(modules=["house.runner"], allowed=["house.client"])
    assert contract.check(grimp.ImportGraph(), verbose=False).kept


@pytest.mark.parametrize(
    "nodeid, line",
    [
        ("tests/a.py::test_b", 'make test ARGS="tests/a.py::test_b"'),
        ("tests/a.py::test_b[x-1]", 'make test ARGS="tests/a.py::test_b[x-1]"'),
        ("tests/a.py::test_b[$x y]", 'make test ARGS="tests/a.py::test_b"'),
    ],
)
def test_the_hint_after_a_failure_can_be_pasted(nodeid: str, line: str) -> None:
    assert command("test", nodeid) == line
