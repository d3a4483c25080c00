"""The room object that its modules register with, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "work",
    modules=(
        "advice",
        "batch",
        "closing",
        "documenting",
        "editing",
        "events",
        "evidence",
        "focus",
        "lease_commands",
        "leases",
        "lint",
        "listing",
        "opening",
        "past",
        "patching",
        "plans",
        "projections",
        "starting",
        "steps",
        "targets",
        "views",
    ),
)
sql = Queries("longhouse.work")
