"""The room object that the ledger's modules declare on, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.queries import Queries

__all__ = ["room", "sql"]

room = Room("ledger", modules=("writing", "reading", "upkeep"))
sql = Queries("longhouse.ledger")
