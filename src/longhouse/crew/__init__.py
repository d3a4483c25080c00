"""The crew room: who is active, who holds which files, and the messages between them.

Owns identities, their liveness, reservations, protocol events and the inbox. It reads work items
through one small interface (`items`) and links to them by id; the only thing it changes about one
is the assignee, when a handoff is accepted.
"""

from longhouse.crew.room import room

__all__ = ["room"]
