"""Puts the tests' temporary files in memory if possible; they mostly waited for the disk.

A store syncs every commit, and no test depends on what survives a crash of the machine. An explicit
folder (`--basetemp`, `PYTEST_DEBUG_TEMPROOT` or `TMPDIR`) takes precedence.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30
_NAMED = ("PYTEST_DEBUG_TEMPROOT", "TMPDIR")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Runs before the first temporary folder is made; workers inherit the environment."""
    if config.option.basetemp or any(name in os.environ for name in _NAMED):
        return
    if os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
