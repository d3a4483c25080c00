"""The room object that the modules register with, and the room's SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "processes",
    modules=(
        "advice",
        "appending",
        "arriving",
        "calling",
        "cancelling",
        "claiming",
        "controlling",
        "documenting",
        "exporting",
        "fetching",
        "fold",
        "importing",
        "keeping",
        "opening",
        "past",
        "policing",
        "reading",
        "retention",
        "saving",
        "screens",
        "spawning",
        "streaming",
        "upkeep",
        "wakeups",
    ),
)
sql = Queries("longhouse.processes")
