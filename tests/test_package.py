"""What others install: the wheel has the manual and the readme, and the manual is shown from it."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_has_the_manual_and_the_readme(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        about = next(name for name in names if name.endswith("/METADATA"))
        metadata = archive.read(about).decode()
    assert {f"longhouse/docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} <= names
    assert "Description-Content-Type: text/markdown" in metadata
    assert "# Longhouse" in metadata


def test_the_manual_in_the_wheel_is_the_one_that_is_shown(wheel: Path, tmp_path: Path) -> None:
    """Run from the unpacked wheel, with no tree of ours anywhere near."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r});"
        "from longhouse.surfaces.cli import main; import longhouse;"
        f"assert longhouse.__file__.startswith({str(tmp_path)!r});"
        "sys.exit(main(['docs', 'runner']))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("# Run delegated jobs\n")


def test_every_way_to_install_that_the_readme_names_ends_with_a_program_that_runs(
    wheel: Path, tmp_path: Path
) -> None:
    """pipx, uv and pip all make the wheel's scripts; the index and the network are not ours."""
    install = (ROOT / "README.md").read_text().partition("## Install\n")[2].partition("\n## ")[0]
    says = re.findall(r"`([^`]+)`", install)
    assert {line.split()[0] for line in says} >= {"pipx", "uv", "uvx", "pip", "make"}
    with zipfile.ZipFile(wheel) as archive:
        about = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = message_from_string(archive.read(about).decode())
    named = [re.search(r"(?:install|uvx) '?([a-z.]+)(?:\[(\w+)\])?", line) for line in says]
    assert {one[1] for one in named if one} == {metadata["Name"], "."}
    (extra,) = re.findall(rf"'{metadata['Name']}\[(\w+)\]'", install)
    assert extra in metadata.get_all("Provides-Extra", [])
    assert "`python3 -m longhouse`, which is the same as `longhouse`" in install

    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python3"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run(
        [uv, "pip", "install", "-q", "--offline", "--no-deps", "--python", python, wheel],
        check=True,
    )
    started: tuple[list[str | Path], ...] = (
        [python.with_name("longhouse"), "--version"],
        [python, "-m", "longhouse", "--version"],
    )
    said = {
        subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        for argv in started
    }
    assert said == {f"longhouse {metadata['Version']}\n"}


def test_the_readme_says_where_a_clone_has_the_program() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "in a clone: run `.venv/bin/longhouse`" in readme
    makefile = (ROOT / "Makefile").read_text()
    assert "VENV := .venv\n" in makefile
    assert "@exec $(VENV)/bin/longhouse up $(ARGS)" in makefile
