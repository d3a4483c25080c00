"""A guarded child: what it starts with, and how much of its output is kept."""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from longhouse.supervisor.child import Child


def test_a_child_starts_as_if_it_were_alone(tmp_path: Path) -> None:
    argv = ["sh", "-c", "grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l"]
    alone = subprocess.run(argv, capture_output=True, text=True, check=True, stdin=subprocess.PIPE)
    child = Child(
        argv, env={"PATH": os.environ["PATH"]}, cwd=tmp_path, stdin="", grace_s=1, lease_s=60
    )
    ended = child.wait(time.monotonic() + 30)
    (ignored, files), (usual, usual_files) = map(_told, (ended.stdout.text(), alone.stdout))
    assert ignored & ~usual == 0  # no signal that it would not ignore alone
    assert files == usual_files


def _told(text: str) -> tuple[int, int]:
    ignored, files = text.splitlines()
    return int(ignored.split()[1], 16), int(files)


def test_a_child_that_cannot_be_started_leaves_no_pipe_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_more: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    gc.collect()  # do not count what others have left
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(OSError, match="No space left"):
        Child(["true"], env={}, cwd=tmp_path, stdin="", grace_s=1, lease_s=60)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
