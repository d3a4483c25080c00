"""The graph's SQL; its commands are the memory room's."""

from longhouse.store.queries import Queries

__all__ = ["sql"]

sql = Queries("longhouse.memory.graph")
