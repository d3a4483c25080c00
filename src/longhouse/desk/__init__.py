"""The desk: what spans rooms or is about the house itself (status, open, workspace, system).

It owns no tables; it reads the rooms below it through their functions.
"""

from longhouse.desk import opening, status, system, workspaces  # noqa: F401  (they declare)
from longhouse.desk.room import room

__all__ = ["room"]
