"""Runs `bd`: an argv list in, JSON out; never through a shell, always with a timeout.

The only place that knows how to call `bd`. Its failures fall into five classes: not found, timeout,
bad arguments, non-zero exit, and unknown.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import Conflict, InvalidInput, StoreError

__all__ = [
    "LIST",
    "BdBadArgs",
    "BdMissing",
    "BdNonZeroExit",
    "BdTimeout",
    "BdUnknown",
    "add_comment",
    "ask_bd",
    "assign",
    "claim",
    "close",
    "reopen",
    "set_status",
    "tell_bd",
]

TIMEOUT_S = 30.0
LONGEST_TEXT = 100_000
"""Linux accepts no single argument longer than 128 KiB."""
MISUSE = ("unknown flag", "unknown command", "unknown shorthand", "invalid argument", "usage:")
LIST = ("list", "--json", "--all", "--limit", "0")
"""All issues: by default `bd` hides closed ones and lists only the first fifty."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


class BdMissing(Conflict):
    """`bd` is not installed."""

    code = "BD_NOT_FOUND"
    fix = "install Beads so that `bd --version` works, then repeat the command"


class BdTimeout(StoreError):
    """`bd` did not answer in time."""

    code = "BD_TIMEOUT"
    fix = "the change may still have been made; check with `longhouse beads refresh`"


class BdBadArgs(InvalidInput):
    """`bd` rejected the arguments."""

    code = "BD_BAD_ARGS"
    fix = "this version of bd may be too old or too new; see `bd --version`"


class BdNonZeroExit(Conflict):
    """`bd` refused or failed."""

    code = "BD_NON_ZERO_EXIT"
    fix = "check the current state: `longhouse beads refresh`, then `bd show ID`"


class BdUnknown(StoreError):
    """`bd` printed something unexpected, or could not be run."""

    code = "BD_UNKNOWN"
    retryable = False
    fix = "run it by hand to see what it prints: `bd list --json`"


def close(issue: str, reason: str | None) -> list[str]:
    return ["close", _issue(issue), *_reason(reason)]


def reopen(issue: str, reason: str | None) -> list[str]:
    return ["reopen", _issue(issue), *_reason(reason)]


def add_comment(issue: str, text: str) -> list[str]:
    said = _said("text", text)
    return ["comments", "add", _issue(issue), *(["--"] if said.startswith("-") else []), said]


def claim(issue: str) -> list[str]:
    """Assign it to the actor and start it, atomically: only one claimant succeeds."""
    return ["update", _issue(issue), "--claim"]


def assign(issue: str, whom: str) -> list[str]:
    return ["update", _issue(issue), "-a", _said("name", whom)]


def set_status(issue: str, status: str) -> list[str]:
    return ["update", _issue(issue), "-s", _said("status", status)]


def _issue(text: str) -> str:
    """The id of an issue, checked so that it cannot be taken for a flag."""
    if not _ID.match(text.strip()):
        raise InvalidInput(
            f"id: {text[:80]!r} is not the id of an issue",
            recovery="pass an id that `longhouse call agents.sessions` lists, such as bb-12",
        )
    return text.strip()


def _reason(reason: str | None) -> list[str]:
    return ["-r", _said("--reason", reason)] if reason is not None else []


def _said(name: str, text: str) -> str:
    said = text.strip()
    if not said or "\0" in said:
        raise InvalidInput(f"{name}: is empty", recovery=f"put some text in {name}")
    if len(said.encode()) > LONGEST_TEXT:
        raise InvalidInput(
            f"{name}: is longer than {LONGEST_TEXT} bytes", recovery=f"shorten {name}"
        )
    return said


def ask_bd(args: Sequence[str], *, cwd: Path, timeout_s: float = TIMEOUT_S) -> Any:
    """The parsed JSON output of `bd`."""
    try:
        return json.loads(_run(args, cwd, timeout_s))
    except ValueError:
        raise BdUnknown(f"bd {args[0]}: the output is not JSON") from None


def tell_bd(
    args: Sequence[str], *, actor: str | None, cwd: Path, timeout_s: float = TIMEOUT_S
) -> None:
    """Make a change through `bd` in the name of `actor`."""
    _run([*(("--actor", actor) if actor else ()), *args], cwd, timeout_s)


def _run(args: Sequence[str], cwd: Path, timeout_s: float) -> bytes:
    program = shutil.which("bd")
    if program is None:
        raise BdMissing
    try:
        process = subprocess.Popen(
            [program, *args],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise BdUnknown(f"bd could not be run: {error.strerror}") from None
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise BdTimeout(f"bd did not answer within {timeout_s:g} s") from None
    finally:
        _end(process)
    if process.returncode:
        said = _first_words(err) or _first_words(out) or f"exit code {process.returncode}"
        misused = any(word in err.decode("utf-8", "replace").lower() for word in MISUSE)
        verb = args[2] if args[0] == "--actor" else args[0]
        raise (BdBadArgs if misused else BdNonZeroExit)(f"bd {verb}: {said}")
    return out


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill `bd` and everything it started, if it is still running."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _first_words(output: bytes) -> str:
    """The first line of the output, or of the error message in it if it is JSON."""
    text = output.decode("utf-8", "replace").strip()
    with suppress(ValueError):
        told = json.loads(text)
        if isinstance(told, dict) and isinstance(told.get("error"), str):
            text = told["error"]
    line = text.partition("\n")[0]
    return "".join(char for char in line if char.isprintable())[:200]
