"""A clone wants the server to read without end, through the file of its issue tracker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longhouse.crew import beads
from longhouse.crew.beads import BeadsItems

ISSUE = '{"id": "bd-1", "title": "One", "status": "open", "updated_at": "2026-01-01T00:00:00Z"}\n'


def plant(root: Path, how: str) -> Path:
    file = root / ".beads" / "issues.jsonl"
    real = root / "elsewhere" / "issues.jsonl"
    real.parent.mkdir()
    real.write_text(ISSUE)
    if how == "a linked folder":
        file.parent.symlink_to(real.parent)
        return file
    file.parent.mkdir()
    if how == "a device":
        file.symlink_to("/dev/zero")
    elif how == "a link":
        file.symlink_to(real)
    elif how == "a pipe":
        os.mkfifo(file)
    elif how == "huge":
        file.write_text(ISSUE)
        os.truncate(file, beads.MOST_BYTES + 1)
    else:
        file.write_text(ISSUE)
    return file


@pytest.mark.parametrize("how", ["a device", "a link", "a linked folder", "a pipe", "huge"])
def test_only_a_regular_file_of_a_bounded_size_is_read(tmp_path: Path, how: str) -> None:
    items = BeadsItems(plant(tmp_path, how))
    assert items.look() is None
    assert not items.moved()


def test_an_ordinary_export_is_read(tmp_path: Path) -> None:
    look = BeadsItems(plant(tmp_path, "ordinary")).look()
    assert look is not None
    assert [issue.id for issue in look.issues] == ["bd-1"]
