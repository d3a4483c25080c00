"""The desk: commands that span rooms or concern the house (status, open, workspace, system).

It owns the table of tokens; otherwise it calls the functions of the rooms below it.
"""

from longhouse.desk.room import room

__all__ = ["room"]
