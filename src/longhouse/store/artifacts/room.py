"""What the artifact commands are declared on, and the SQL of artifacts."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room("store.artifacts", modules=("checks", "commands", "joining", "sweep"))
sql = Queries("longhouse.store.artifacts")
