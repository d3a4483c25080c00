"""What a task printed, stored through the control plane, where the server cannot read our folder.

What is stored are the bytes that are kept: the head and, behind a gap, the tail.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from longhouse.kernel.private_files import open_private
from longhouse.runner.outputs import Outputs

__all__ = ["keep_log"]

AT_A_TIME = 1 << 20


def keep_log(outputs: Outputs, folder: Path, stream: str, seal: dict[str, Any]) -> dict[str, Any]:
    """The seal of a log, with the artifact that holds it or the reason why there is none."""
    if not seal["bytes_stored"]:
        return seal
    gap = seal["gap"] or {"from": seal["bytes_total"], "to": seal["bytes_total"]}
    try:
        with tempfile.TemporaryFile() as kept:
            _copy(folder / f"{stream}.log", kept, 0, gap["from"])
            _copy(folder / f"{stream}.log", kept, gap["to"], seal["bytes_total"])
            kept.flush()
            stored = outputs.log(f"{folder.name} {stream}", kept.raw)  # type: ignore[arg-type]
    except OSError as error:
        return {**seal, "error": seal["error"] or f"it was not stored: {error.strerror}"}
    return {**seal, "artifact": stored.digest, "error": seal["error"] or stored.trouble}


def _copy(path: Path, target: Any, start: int, stop: int) -> None:
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as source:
        source.seek(start)
        while start < stop and (data := source.read(min(AT_A_TIME, stop - start))):
            target.write(data)
            start += len(data)
