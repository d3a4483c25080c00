"""The folder of a task: `spec.json` and the journal; the logs are beside them."""

from __future__ import annotations

import os
from pathlib import Path

from longhouse.kernel.private_files import open_private, write_private

__all__ = ["SPEC", "keep_spec"]

SPEC = "spec.json"


def keep_spec(folder: Path, spec: bytes) -> None:
    """Write the spec into a task's folder; one that is new has no reader yet."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        write_private(folder / SPEC, spec)
        return
    with os.fdopen(open_private(folder / SPEC, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(spec)
