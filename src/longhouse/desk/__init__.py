"""The desk: what spans rooms or is about the house itself (status, open, workspace, system).

It owns the table of tokens; otherwise it reads the rooms below it through their functions.
"""

from longhouse.desk.room import room

__all__ = ["room"]
