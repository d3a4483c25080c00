"""The processes room: background processes as durable records with frames, output and an end.

Owns tool tasks (`PROC-001`), their frames, control operations, hosts and policy rules. It executes
nothing: a runner claims a task, has its host run it, and appends the frames through commands.
README.md has the states, the invariants and what happens on failure.
"""

from longhouse.processes.room import room

__all__ = ["room"]
