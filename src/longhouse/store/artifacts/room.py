"""The room object that the artifact modules declare on, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room("store.artifacts", modules=("checks", "commands", "documenting", "joining", "sweep"))
sql = Queries("longhouse.store.artifacts")
