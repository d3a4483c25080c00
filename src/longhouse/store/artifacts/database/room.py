"""The SQL of the bytes in the database."""

from longhouse.store.queries import Queries

__all__ = ["sql"]

sql = Queries("longhouse.store.artifacts.database")
