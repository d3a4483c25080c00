"""Tells tasks apart that have the same number: a restored store gives numbers away again."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.kernel.private_files import read_private

__all__ = ["forget_unknown", "is_another"]


def forget_unknown(folder: Path, name: str, host_id: str, asked: dict[str, Any]) -> None:
    """Remove the records of another task of this name, which no server knows.

    It was another host's, and came with a copied folder; or ours, before the server was restored.
    """
    with suppress(FileNotFoundError, ValueError, KeyError):
        spec = json.loads(read_private(folder / name / "spec.json"))
        if spec["mark"] != f"{host_id}/{name}" or is_another(spec, asked.get("made")):
            shutil.rmtree(folder / name)


def is_another(spec: dict[str, Any], made: int | None) -> bool:
    """Whether a task was made at another time than the one that has its number now.

    What an older version recorded has no time, and counts as the same.
    """
    return None not in (spec.get("made"), made) and spec["made"] != made
