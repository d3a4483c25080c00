"""Runs the operator's set-up command in a new worktree: packages, virtual environments.

The command comes from the operator's own settings and runs once in each worktree, without a shell
and outside of any sandbox. It may run what the tree says, such as the scripts of a package.
"""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from longhouse.executors import Invocation, NotHere, Options, unable
from longhouse.runner.job_control import JobControl
from longhouse.runner.worktrees import Worktree
from longhouse.supervisor import StreamCapture

__all__ = ["prepare"]

SAID_CHARS = 300
_ENDED = {"slice": "it took too long", "unstarted": "it cannot be started"}


def prepare(worktree: Worktree, cwd: Path, options: Options, control: JobControl) -> str | None:
    """Run the command unless it ran here; returns the end of what it printed, None if it did not.

    Raises NotHere, with the reason, after removing the worktree: a half-prepared one is of no use.
    """
    if not options.worktree_setup or worktree.is_prepared:
        return None
    argv = shlex.split(options.worktree_setup)
    printed = StreamCapture()
    try:
        plan = Invocation(argv, stdin="")
        ended = control.run_child(plan, cwd, time.monotonic() + options.worktree_setup_s, printed)
    except OSError as error:
        worktree.remove()
        raise unable(f"the set-up command {argv[0]!r} cannot be started", error) from error
    control.check()
    if ended.why != "exit" or ended.code != 0:
        worktree.remove()
        how = _ENDED.get(ended.why, ended.why) if ended.why != "exit" else f"exit {ended.code}"
        said = ended.stderr.last(SAID_CHARS) or printed.last(SAID_CHARS) or "it printed nothing"
        raise NotHere(f"the set-up command {options.worktree_setup!r} failed ({how}): {said}")
    worktree.prepared()
    return printed.last(SAID_CHARS)
