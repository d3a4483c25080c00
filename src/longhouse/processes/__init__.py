"""The processes room: background processes as durable records with frames and output.

Owns tool tasks (`PROC-001`), their frames, control operations, hosts and policy rules. It runs no
programs: a runner claims a task, has its host run it, and appends the frames through commands.
README.md describes the states, the invariants and how failures are handled.
"""

from longhouse.processes.room import room

__all__ = ["room"]
