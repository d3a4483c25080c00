"""The jobs room: delegated work as durable records with claims, reports and an end.

Owns jobs and runner leases. It executes nothing: runners claim work and report through commands.
"""

from longhouse.jobs import lifecycle, opening  # noqa: F401  (they declare commands)
from longhouse.jobs.room import room

__all__ = ["room"]
