"""What every job of a runner works with: the control plane, the executors, and where things are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import own_argv
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.event_log import Teller
from longhouse.runner.executors.base import Entry, Executor
from longhouse.runner.options import Options
from longhouse.runner.plane import Plane

__all__ = ["Means", "entry_for"]

TASK_CHARS = 6_000


class Means(NamedTuple):
    """Made once when the runner starts."""

    plane: Plane
    options: Options
    executors: dict[str, Executor]
    tell: Teller
    workspace: str
    root: Path
    home: Path
    entry: Entry
    dry_run: bool = False

    def runnable(self, executor: Executor) -> bool:
        """Whether its program, if it names one, is there."""
        program = getattr(executor, "program", None)
        return program is None or shutil.which(str(program)) is not None

    def task_lines(self, task: str | None) -> str:
        """How the job's task stands, where there is one and it can be told."""
        if task is None:
            return ""
        try:
            text: Any = self.plane.once(
                "tasks.snapshot", task=task, fmt="lines", max_chars=TASK_CHARS
            )
        except LonghouseError:
            return ""
        return text if isinstance(text, str) else ""


def entry_for(options: Options, *, folder: Path, workspace: str, token: str | None) -> Entry:
    """How agents reach Longhouse: the stdio bridge of this store, or the server at a URL."""
    if options.url:
        return Entry(url=options.url.rstrip("/"), token=token)
    command = own_argv("mcp", "--dir", str(folder), "--workspace", workspace)
    return Entry(command=tuple(command))
