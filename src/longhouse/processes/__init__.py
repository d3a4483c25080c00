"""The processes room: background processes as durable records with frames and output.

Owns tool tasks (`PROC-001`), their frames, control operations, hosts and policy rules. It runs no
programs: a runner claims a task, has its host run it, and appends the frames through commands.
README.md describes the states, the invariants and how failures are handled.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.processes.advice import active_processes
    from longhouse.processes.cancelling import cancel_process
    from longhouse.processes.reading import list_tasks
else:
    __getattr__ = door(__name__)
