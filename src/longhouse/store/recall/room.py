"""The room object that the recall modules declare on, and its SQL."""

from longhouse.kernel.rooms import Room
from longhouse.store.recall.index import sql

__all__ = ["room", "sql"]

room = Room("store.recall", modules=("checks", "rebuilding"))
