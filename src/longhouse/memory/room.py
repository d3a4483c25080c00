"""What the room's modules declare on, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "memory",
    modules=(
        "branching",
        "checks",
        "commits",
        "documents",
        "exporting",
        "merging",
        "opening",
        "reindexing",
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
