"""Runs `bd`: an argv list in, JSON out. Never a shell, never for longer than it may take."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import Conflict, InvalidInput, StoreError

__all__ = ["BdFailed", "BdMissing", "BdRefused", "BdTimeout", "ask_bd"]

TIMEOUT_S = 30.0
MISUSE = ("unknown flag", "unknown command", "unknown shorthand", "invalid argument", "usage:")


class BdMissing(Conflict):
    """`bd` is not installed."""

    code = "BD_NOT_FOUND"
    fix = "install Beads and put `bd` on PATH"


class BdTimeout(StoreError):
    """`bd` did not answer in time."""

    code = "BD_TIMEOUT"


class BdRefused(InvalidInput):
    """`bd` does not take these arguments."""

    code = "BD_BAD_ARGS"
    fix = "this version of bd may be too old or too new; see `bd --version`"


class BdFailed(StoreError):
    """`bd` failed."""

    code = "BD_FAILED"
    retryable = False


def ask_bd(args: Sequence[str], *, cwd: Path, timeout_s: float = TIMEOUT_S) -> Any:
    """What `bd` says, as JSON."""
    try:
        done = subprocess.run(
            ["bd", *args], cwd=cwd, capture_output=True, timeout=timeout_s, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        raise BdMissing from None
    except subprocess.TimeoutExpired:
        raise BdTimeout(f"bd did not answer within {timeout_s:g} s") from None
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode:
        first = said.partition("\n")[0][:200] or f"exit code {done.returncode}"
        kind = BdRefused if any(word in said.lower() for word in MISUSE) else BdFailed
        raise kind(f"bd {args[0]}: {first}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise BdFailed(f"bd {args[0]}: it printed no JSON") from None
