"""The tables of a workspace, read from the schema: every table with a `ws` column.

A table that a room adds is therefore exported, imported and verified automatically. This is the
only place that generates SQL; all names in it come from the database's own catalog.

A table is keyed by `ws` and natural columns, or by a surrogate integer of its own. Surrogates are
counted across workspaces, so exports and imports shift them by a constant.
"""

# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from longhouse.store.engine import Row
from longhouse.store.queries import Queries, Query
from longhouse.store.tx import Tx

__all__ = ["SHARED", "Table", "all_tables", "sql", "unhurried", "workspace_tables"]

sql = Queries("longhouse.store.upkeep")

SHARED = frozenset(
    {
        "artifact_blobs",
        "artifact_bodies",
        "artifact_chunks",
        "artifact_logs",
        "schema_version",
        "tokens",
        "tool_typed",
        "workspace_projects",
        "workspaces",
    }
)
"""Tables of the whole store, which are not part of any workspace's export."""

DERIVED = frozenset({"search_blocks", "search_fresh", "search_state", "search_words"})
"""Indexes: derived from other tables, so their room rebuilds them after an import."""

_PAGE = 500


class Table(msgspec.Struct, frozen=True):
    """One table: its columns except `ws`, its key, and what its columns refer to."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]
    has_ws: bool
    surrogate: str | None
    parents: tuple[tuple[str, str, str], ...]

    def shifts(self, by_table: dict[str, int]) -> tuple[tuple[int, int], ...]:
        """The positions of the columns that hold surrogates, and how far to shift each."""
        moved = {
            column: by_table[parent] for column, parent, _ in self.parents if parent in by_table
        }
        if self.surrogate:
            moved[self.surrogate] = by_table[self.name]
        return tuple(
            (index, moved[column]) for index, column in enumerate(self.columns) if column in moved
        )

    def rows(self, tx: Tx) -> Iterator[Row]:
        """Every row of the workspace in key order, a page at a time."""
        after: dict[str, Any] | None = None
        while rows := tx.all(self._page(after is not None), **(after or {}), limit=_PAGE):
            yield from rows
            if len(rows) < _PAGE or not self._order:
                return
            after = {f"k{n}": rows[-1][column] for n, column in enumerate(self._order)}

    def insert(self, tx: Tx, rows: Sequence[Sequence[Any]]) -> None:
        tx.many(
            self._insert(),
            [{f"v{n}": value for n, value in enumerate(row)} for row in rows],
        )

    def is_empty(self, tx: Tx) -> bool:
        text = f'SELECT 1 AS one FROM "{self.name}" WHERE ws = :ws LIMIT 1'
        return tx.one(_query(f"{self.name}_any", text)) is None

    def edge(self, tx: Tx, side: str, *, of_store: bool = False) -> int:
        """The least or greatest surrogate, or 0 if there are no rows."""
        where = "" if of_store else " WHERE ws = :ws"
        text = f'SELECT COALESCE({side}("{self.surrogate}"), 0) AS edge FROM "{self.name}"{where}'
        return int(tx.value(_query(f"{self.name}_{side}", text)))

    def reserve(self, tx: Tx) -> None:
        """Prevent others from allocating surrogates until this transaction ends."""
        lock = f'LOCK TABLE "{self.name}" IN SHARE ROW EXCLUSIVE MODE'
        tx.run(_query(f"{self.name}_lock", "SELECT 1 AS one", lock))

    def settle(self, tx: Tx) -> None:
        """Make the database allocate new surrogates after the greatest."""
        text = (
            f"SELECT setval(pg_get_serial_sequence('{self.name}', '{self.surrogate}'), "
            f'(SELECT COALESCE(MAX("{self.surrogate}"), 1) FROM "{self.name}"))'
        )
        tx.run(_query(f"{self.name}_settle", "SELECT 1 AS one", text))

    def outside(self, tx: Tx, column: str, low: int, high: int) -> int:
        """How many rows have a value in `column` that is not between `low` and `high`."""
        text = (
            f'SELECT COUNT(*) AS count FROM "{self.name}" WHERE ws = :ws '
            f'AND ("{column}" < :low OR "{column}" > :high)'
        )
        return int(tx.value(_query(f"{self.name}_{column}", text), low=low, high=high))

    def homeless(self, tx: Tx) -> int:
        """How many rows refer to no existing workspace."""
        text = (
            f'SELECT COUNT(*) AS count FROM "{self.name}" '
            "WHERE ws NOT IN (SELECT w.ws FROM workspaces AS w)"
        )
        return int(tx.value(_query(f"{self.name}_homeless", text)))

    @property
    def _order(self) -> tuple[str, ...]:
        return tuple(column for column in self.key if column != "ws")

    def _page(self, after: bool) -> Query:
        order = ", ".join(f'"{column}"' for column in self._order)
        text = f'SELECT {self._names} FROM "{self.name}" WHERE ws = :ws'
        if after:
            text += f" AND ({order}) > ({', '.join(f':k{n}' for n in range(len(self._order)))})"
        if order:
            text += f" ORDER BY {order}"
        return _query(f"{self.name}_page", f"{text} LIMIT :limit")

    def _insert(self) -> Query:
        values = ", ".join(f":v{n}" for n in range(len(self.columns)))
        text = f'INSERT INTO "{self.name}" (ws, {self._names}) VALUES (:ws, {values})'
        return _query(f"{self.name}_insert", text)

    @property
    def _names(self) -> str:
        return ", ".join(f'"{column}"' for column in self.columns)


def _query(name: str, sqlite: str, postgres: str | None = None) -> Query:
    return Query(f"upkeep.{name}", sqlite, postgres or sqlite)


def unhurried(tx: Tx) -> None:
    """Let a read take its time over bytes: a server would end one that asks nothing for a while."""
    tx.all(sql.unhurried)


def all_tables(tx: Tx) -> list[Table]:
    """Every table of the store except full-text indexes, parents before children."""
    columns: dict[str, list[Row]] = {}
    for row in tx.all(sql.columns):
        columns.setdefault(row["table_name"], []).append(row)
    keys = {
        name: tuple(c["column_name"] for c in sorted(own, key=lambda c: c["pk"]) if c["pk"])
        for name, own in columns.items()
    }
    surrogates = {name: s for name, own in columns.items() if (s := _surrogate(own, keys[name]))}
    declared: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in columns}
    for row in tx.all(sql.parents):
        parent_column = row["parent_column"] or keys[row["parent"]][0]
        declared[row["table_name"]][row["column_name"]] = (row["parent"], parent_column)
    tables = []
    for name, own in columns.items():
        if name in DERIVED:
            continue
        shown = [c for c in own if c["column_name"] != "ws"]
        tables.append(
            Table(
                name=name,
                columns=tuple(c["column_name"] for c in shown),
                types=tuple(c["type"] for c in shown),
                key=keys[name],
                has_ws=len(shown) < len(own),
                surrogate=surrogates.get(name),
                parents=tuple(
                    (column, parent, to)
                    for column, (parent, to) in declared[name].items()
                    if surrogates.get(parent) == to or column == "ws"
                ),
            )
        )
    return _parents_first(tables, {n: {p for p, _ in d.values()} for n, d in declared.items()})


def workspace_tables(tx: Tx) -> list[Table]:
    """The tables that make up a workspace, parents before children."""
    return [table for table in all_tables(tx) if table.has_ws and table.name not in SHARED]


def _surrogate(own: list[Row], key: tuple[str, ...]) -> str | None:
    if len(key) != 1 or key == ("ws",) or not any(c["column_name"] == "ws" for c in own):
        return None
    kind = next(c["type"] for c in own if c["column_name"] == key[0])
    return key[0] if kind == "INTEGER" else None


def _parents_first(tables: list[Table], parents: dict[str, set[str]]) -> list[Table]:
    """The tables in an order in which rows can be inserted, otherwise alphabetical."""
    waiting = {table.name: table for table in sorted(tables, key=lambda t: t.name)}
    ordered: list[Table] = []
    while waiting:
        ready = [n for n in waiting if not (parents[n] - {n}) & waiting.keys()]
        ordered.extend(waiting.pop(name) for name in ready or list(waiting))
    return ordered
