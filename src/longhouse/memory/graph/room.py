"""The graph's SQL; its commands are declared on the memory room."""

from longhouse.store.queries import Queries

__all__ = ["sql"]

sql = Queries("longhouse.memory.graph")
