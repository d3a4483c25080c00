"""What the room's modules declare on, and its SQL."""

from longhouse.kernel.registry import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "processes",
    modules=(
        "appending",
        "cancelling",
        "claiming",
        "fold",
        "reading",
        "spawning",
    ),
)
sql = Queries("longhouse.processes")
