"""Files with secrets: written atomically, and private to their owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.kernel.private_files import read_private, write_private


def test_a_file_is_replaced_whole_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    write_private(path, b"first")
    write_private(path, b"second")
    assert read_private(path) == b"second"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"secret")
    path.chmod(0o644)
    assert read_private(path) == b"secret"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    in_the_way = tmp_path / "token"
    (in_the_way / "kept").mkdir(parents=True)
    with pytest.raises(OSError, match="token"):
        write_private(in_the_way, b"secret")
    assert list(tmp_path.iterdir()) == [in_the_way]
