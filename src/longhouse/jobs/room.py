"""The `Room` that this package's modules register on, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room(
    "jobs",
    modules=(
        "accounting",
        "advice",
        "arriving",
        "autostart",
        "changes",
        "claiming",
        "completion_proof",
        "creating",
        "documenting",
        "fanning",
        "fold",
        "holding",
        "longpoll",
        "opening",
        "past",
        "radar",
        "reading",
        "reporting",
        "runners",
        "steering",
        "updating",
        "usage",
        "vouching",
    ),
)
sql = Queries("longhouse.jobs")
