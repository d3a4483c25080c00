"""The memory room: documents on branches, their version control, and targeting.

Owns branches, documents, entries, checkout and focus. Other rooms write into documents and resolve
targets through the functions here, never through its tables.
"""

from longhouse.memory import documents, opening  # noqa: F401  (they declare commands)
from longhouse.memory.room import room

__all__ = ["room"]
