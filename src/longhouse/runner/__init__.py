"""The runner (`longhouse runner`): claims jobs, runs agents on them in time slices, and reports.

The control plane never runs an agent; the runner does, and talks to it like any MCP client.
README.md describes the life of a slice, the invariants, and how each failure is handled.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.runner.event_log import EventLog
    from longhouse.runner.host.client import running_host
    from longhouse.runner.host.identity import forget_host_id
    from longhouse.runner.landing import CommitMessage
    from longhouse.runner.start import build
    from longhouse.runner.worktrees import Worktree, worktree_of
else:
    __getattr__ = door(__name__)
