"""The crew room: who is here, who holds which files, and what they say to each other.

Owns identities, their liveness, reservations, protocol events and the inbox. It never changes a
work item: it reads them through one small interface (`items`) and links to them by id.
"""

from longhouse.crew.room import room

__all__ = ["room"]
