"""What a child's end comes to: the executor's reading of it, or in words why there is none.

Whoever runs agents in slices (a runner's jobs, a subagent in an executor) judges them here.
"""

from __future__ import annotations

from pathlib import Path

from longhouse.runner.executors.base import Executor, Output, SliceResult
from longhouse.supervisor.child import Ended

__all__ = ["result_of", "trouble_of"]


def result_of(executor: Executor, ended: Ended, scratch: Path) -> SliceResult:
    """What the executor reads from the output; one that fails at it is an error like any other."""
    output = Output(ended.code, ended.signal, ended.stdout, ended.stderr, scratch)
    try:
        return executor.parse(output)
    except Exception as error:
        return SliceResult(error=f"its output could not be read: {error!r}")


def trouble_of(ended: Ended, result: SliceResult, slice_s: float) -> str:
    """Why a slice gave no answer."""
    if ended.why == "slice":
        return f"it did not end within its {slice_s:g} s and their grace; {ended.stderr.last(300)}"
    if ended.why in ("lost", "signal"):
        return ended.error or "its guard was ended from outside"
    return result.error or ended.stderr.last(300) or "there was no answer"
