"""The crew room: who is active, who holds which files, and the messages between them.

Owns identities, their liveness, reservations, protocol events and the inbox. It reads work items
through one small interface (`items`) and links to them by id; the only thing it changes about one
is the assignee, when a handoff is accepted.
"""

from typing import TYPE_CHECKING

from longhouse.kernel.doors import door

if TYPE_CHECKING:
    from longhouse.crew.advice import inbox_of
    from longhouse.crew.agents import agents_named
    from longhouse.crew.callers import asker
    from longhouse.crew.errors import AmbiguousSession
    from longhouse.crew.facts import CrewFacts
    from longhouse.crew.holdings import held_by, held_now, reserved_for
    from longhouse.crew.messages import waiting_for
    from longhouse.crew.reservations import release_for
else:
    __getattr__ = door(__name__)
