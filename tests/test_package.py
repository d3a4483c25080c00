"""What others install: the wheel has the manual and the readme, and the manual is shown from it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
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
