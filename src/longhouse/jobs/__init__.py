"""The jobs room: delegated work as durable records with claims, attention, proof and an outcome.

Owns jobs, their dependencies, and runners' leases. It executes nothing: runners claim work and
report through commands. README.md has the states, the invariants and what happens on failure.
"""

from longhouse.jobs.room import room

__all__ = ["room"]
