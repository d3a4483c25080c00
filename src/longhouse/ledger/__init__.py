"""The ledger: subagents that programs dispatched, recorded before they start and until they end.

Owns the table `subagents`. It runs nothing: `longhouse.subagents.recorder` writes here through the
commands, from whatever process dispatches. README.md has the states and what happens on failure.
"""

from longhouse.ledger.room import room

__all__ = ["room"]
