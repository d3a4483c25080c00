"""The result of a slice: the executor's reading of a child's output, or why there is none.

Used for a runner's jobs and for subagents that run in executors.
"""

from __future__ import annotations

from pathlib import Path

from longhouse.executors.base import Executor, RunOutput, SliceResult
from longhouse.supervisor import Ended

__all__ = ["result_of", "trouble_of"]


def result_of(executor: Executor, ended: Ended, scratch: Path) -> SliceResult:
    """What the executor reads from the output; an executor that raises gives an error result."""
    output = RunOutput(ended.code, ended.signal, ended.stdout, ended.stderr, scratch)
    try:
        return executor.parse(output)
    except Exception as error:
        return SliceResult(error=f"its output could not be read: {error!r}")


def trouble_of(ended: Ended, result: SliceResult, slice_s: float) -> str:
    """Why a slice gave no answer."""
    if ended.why == "slice":
        return f"it ran past its {slice_s:g} s and the grace period; {ended.stderr.last(300)}"
    if ended.why == "unstarted":
        return ended.error or "the program could not be started"
    if ended.why in ("lost", "signal"):
        return ended.error or "its guard was killed from outside"
    return result.error or ended.stderr.last(300) or "there was no answer"
