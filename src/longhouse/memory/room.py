"""The room object that its modules register with, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "memory",
    modules=(
        "branching",
        "checks",
        "commits",
        "documenting",
        "documents",
        "exporting",
        "merging",
        "opening",
        "searching",
        "tags",
        "targeting",
        "graph.apply",
        "graph.conflicts",
        "graph.diff",
        "graph.merge",
        "graph.query",
    ),
)
sql = Queries("longhouse.memory")
